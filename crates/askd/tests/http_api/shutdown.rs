//! The hub ends when it is asked to: at once, with exit code 0, whoever is connected, and what was under way
//! is finished.

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Hub, within};

#[tokio::test]
async fn a_polite_end_answers_streams_and_waits() {
    tokio::join!(ends_politely(Signal::INT), ends_politely(Signal::TERM));
}

async fn ends_politely(signal: Signal) {
    let mut hub = Hub::start().await;
    let id = hub.asker.ask_text("Which?").await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.push(hub.events("?after=0").await);
    }
    for stream in &mut streams {
        assert_eq!(stream.next().await.0, 1);
    }
    // The head of a wait comes when it has lasted a while: these are there.
    let mut waits = Vec::new();
    for _ in 0..5 {
        let wait = hub.asker.request(Method::GET, &format!("/v1/questions/{id}?wait=600")).send();
        waits.push(tokio::spawn(wait));
    }
    let mut begun = Vec::new();
    for wait in waits {
        begun.push(within("the head of a wait", wait).await.unwrap().unwrap());
    }
    // And this one has begun when its question is told.
    let asker = hub.asker.clone();
    let asking = tokio::spawn(async move {
        asker.post("/v1/questions?wait=600", &json!({"questions": [{"question": "x"}]})).await
    });
    assert_eq!(streams[0].next().await.0, 2);

    hub.signal(signal);
    assert_eq!(hub.ended().await.code(), Some(0));
    for wait in begun {
        assert_eq!(wait.status(), 200);
        let question: Value = within("the end of a wait", wait.json()).await.unwrap();
        assert_eq!(question["status"], "requested", "a wait ends with how it stands");
    }
    assert_eq!(asking.await.unwrap().ok(201)["status"], "requested");
    for stream in &mut streams {
        while within("the stream to end", stream.next_or_end()).await.is_some() {}
    }
    assert!(TcpStream::connect(hub.authority()).await.is_err(), "the port is closed");
    assert!(!hub.data.join("hub.json").exists(), "nobody is sent to a hub that has ended");
}

#[tokio::test]
async fn a_request_under_way_is_finished() {
    let mut hub = Hub::start().await;
    let mut stream = TcpStream::connect(hub.authority()).await.unwrap();
    let body = json!({"questions": [{"question": "x".repeat(10_000)}]}).to_string();
    let head = format!(
        "POST /v1/questions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        hub.asker.token(),
        body.len()
    );
    let (first, second) = body.split_at(5000);
    stream.write_all(head.as_bytes()).await.unwrap();
    // The hub wants the body: the request is under way.
    let mut interim = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    within("the word to go on", stream.read_exact(&mut interim)).await.unwrap();
    assert!(interim.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&interim));
    stream.write_all(first.as_bytes()).await.unwrap();
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
