//! Requests that wait for a human.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Hub, until, within};

fn ask() -> Value {
    json!({"questions": [{"question": "Which?"}]})
}

/// The id of the first question, once it is there.
async fn first(hub: &Hub) -> String {
    let (_, event) = hub.events("?after=0").await.next().await;
    event["question"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_asker_that_waits_gets_the_answer() {
    let hub = Hub::start().await;
    let asker = hub.asker.clone();
    let waiting = tokio::spawn(async move { asker.post("/v1/questions?wait=60", &ask()).await });
    let id = first(&hub).await;
    let readers: Vec<_> = (0..5)
        .map(|_| {
            let (client, path) = (hub.owner.clone(), format!("/v1/questions/{id}?wait=60"));
            tokio::spawn(async move { client.get(&path).await })
        })
        .collect();
    let answered = hub.owner.reply(&id, json!([["this"]])).await.ok(200);
    assert_eq!(waiting.await.unwrap().ok(201), answered);
    for reader in readers {
        assert_eq!(reader.await.unwrap().ok(200), answered);
    }
    assert_eq!(
        hub.owner.get(&format!("/v1/questions/{id}?wait=60")).await.ok(200),
        answered,
        "settled is told at once"
    );
}

#[tokio::test]
async fn every_end_wakes_who_waits() {
    let hub = Hub::start().await;
    for (end, status) in [("reject", "rejected"), ("withdraw", "cancelled")] {
        let id = hub.asker.ask_text("Which?").await;
        let (client, path) = (hub.asker.clone(), format!("/v1/questions/{id}?wait=60"));
        let waiting = tokio::spawn(async move { client.get(&path).await });
        let who = if end == "reject" { &hub.owner } else { &hub.asker };
        who.post_empty(&format!("/v1/questions/{id}/{end}")).await.ok(200);
        assert_eq!(waiting.await.unwrap().ok(200)["status"], status);
    }
}

#[tokio::test]
async fn patience_that_is_over_gets_the_open_question() {
    let hub = Hub::start().await;
    let asked = hub.asker.post("/v1/questions?wait=1", &ask()).await.ok(201);
    assert_eq!((&asked["status"], &asked["outcome"]), (&json!("requested"), &json!(null)));
    let path = format!("/v1/questions/{}?wait=1", asked["id"].as_str().unwrap());
    assert_eq!(hub.asker.get(&path).await.ok(200), asked, "nothing is decided by a clock");
}

#[tokio::test]
async fn an_asker_that_goes_away_leaves_its_question_open() {
    let hub = Hub::start().await;
    let mut stream = TcpStream::connect(hub.authority()).await.unwrap();
    let body = ask().to_string();
    let request = format!(
        "POST /v1/questions?wait=60 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        hub.asker.token(),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let id = first(&hub).await;
    drop(stream);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(hub.owner.question(&id).await["status"], "requested");
    hub.owner.reply(&id, json!([["this"]])).await.ok(200);
    assert_eq!(
        askd_testkit::given(&hub.asker.question(&id).await["outcome"]["answers"]),
        json!([["this"]]),
        "it can come back for it"
    );
}

/// Clients give up on a server that sends no header for minutes, so a waiting request sends its header after
/// ten seconds.
#[tokio::test]
async fn a_long_wait_has_its_header_early_and_its_answer_in_the_body() {
    let hub = Hub::start().await;
    let mut stream = TcpStream::connect(hub.authority()).await.unwrap();
    let body = ask().to_string();
    let request = format!(
        "POST /v1/questions?wait=60 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        hub.asker.token(),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    within("the header, before anybody answered", async {
        while !head.windows(4).any(|four| four == b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
    })
    .await;
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 201") && head.contains("content-type: application/json"), "{head}");
    let id = first(&hub).await;
    // White space keeps the connection alive; it comes in chunks of its own.
    let mut rest = Vec::new();
    within("the first white space", async {
        while !rest.contains(&b' ') {
            rest.push(stream.read_u8().await.unwrap());
        }
    })
    .await;
    let answered = hub.owner.reply(&id, json!([["this"]])).await.ok(200);
    within("the answer", stream.read_to_end(&mut rest)).await.unwrap();
    let body: Value = serde_json::from_slice(&unchunk(&rest)).unwrap();
    assert_eq!(body, answered);
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
}

#[tokio::test]
async fn hundreds_wait_at_once_and_each_gets_its_own_answer() {
    let hub = Hub::start().await;
    let askers: Vec<_> = (0..200)
        .map(|i| {
            let asker = hub.asker.clone();
            tokio::spawn(async move {
                let body = json!({"questions": [{"question": format!("{i}")}]});
                let answered = asker.post("/v1/questions?wait=600", &body).await.ok(201);
                assert_eq!(
                    askd_testkit::given(&answered["outcome"]["answers"]),
                    json!([[format!("answer {i}")]])
                );
            })
        })
        .collect();
    let mut stream = hub.events("?after=0&status=requested").await;
    for (_, event) in stream.take(200).await {
        let (id, text) =
            (event["question"]["id"].as_str().unwrap(), &event["question"]["questions"][0]["question"]);
        hub.owner.reply(id, json!([[format!("answer {}", text.as_str().unwrap())]])).await.ok(200);
    }
    for asker in askers {
        within("an asker", asker).await.unwrap();
    }
    let open = until("all to be settled", || async {
        Some(hub.owner.get("/v1/questions?status=requested").await.ok(200))
    });
    assert_eq!(open.await["questions"], json!([]));
}
