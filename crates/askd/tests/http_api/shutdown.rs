//! The hub ends when it is asked to: at once, with exit code 0, whoever is connected, and what was under way is finished.

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Hub, within};

#[tokio::test]
async fn a_polite_end_answers_streams_and_waits() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut hub = Hub::start().await;
        let id = hub.asker.ask_text("Which?").await;
        let mut streams = Vec::new();
        for _ in 0..5 {
            streams.push(hub.events("?after=0").await);
        }
        for stream in &mut streams {
            assert_eq!(stream.next().await.0, 1);
        }
        let waits: Vec<_> = (0..5)
            .map(|_| {
                let (client, path) = (hub.asker.clone(), format!("/v1/questions/{id}?wait=600"));
                tokio::spawn(async move { client.get(&path).await })
            })
            .collect();
        let asker = hub.asker.clone();
        let asking = tokio::spawn(async move {
            asker.post("/v1/questions?wait=600", &json!({"questions": [{"question": "x"}]})).await
        });
        assert_eq!(streams[0].next().await.0, 2);
        // The waits of the first question leave no trace in the log; give them a moment to be there.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;

        hub.signal(signal);
        assert_eq!(hub.ended().await.code(), Some(0));
        for wait in waits {
            assert_eq!(wait.await.unwrap().ok(200)["status"], "requested", "a wait ends with how it stands");
        }
        assert_eq!(asking.await.unwrap().ok(201)["status"], "requested");
        for stream in &mut streams {
            while within("the stream to end", stream.next_or_end()).await.is_some() {}
        }
        assert!(TcpStream::connect(hub.authority()).await.is_err(), "the port is closed");
        assert!(!hub.data.join("hub.json").exists(), "nobody is sent to a hub that has ended");
    }
}

#[tokio::test]
async fn a_request_under_way_is_finished() {
    let mut hub = Hub::start().await;
    let mut stream = TcpStream::connect(hub.authority()).await.unwrap();
    let body = json!({"questions": [{"question": "x".repeat(10_000)}]}).to_string();
    let head = format!(
        "POST /v1/questions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        hub.asker.token(),
        body.len()
    );
    let (first, second) = body.split_at(5000);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(first.as_bytes()).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    hub.signal(Signal::TERM);
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    stream.write_all(second.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    within("the answer", stream.read_to_end(&mut answer)).await.unwrap();
    assert_eq!(hub.ended().await.code(), Some(0));
    let text = String::from_utf8(answer).unwrap();
    assert!(text.starts_with("HTTP/1.1 201"), "{text}");
    let asked: Value = serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let next = crate::common::Starting::on(&hub.data).start().await;
    assert_eq!(next.owner.question(asked["id"].as_str().unwrap()).await, asked);
}

#[tokio::test]
async fn a_client_that_says_nothing_does_not_hold_up_the_end() {
    let mut hub = Hub::start().await;
    let idle = TcpStream::connect(hub.authority()).await.unwrap();
    let mut half = TcpStream::connect(hub.authority()).await.unwrap();
    half.write_all(b"GET /v1/health HTTP/1.1\r\nHost: local").await.unwrap();
    let mut full = hub.events("?after=0").await;
    hub.owner.ask_text("x").await;
    full.next().await;
    hub.signal(Signal::INT);
    assert_eq!(hub.ended().await.code(), Some(0));
    drop((idle, half));
}
