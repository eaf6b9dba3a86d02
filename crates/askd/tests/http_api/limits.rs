//! Limits of size: past each there is a typed answer, and up to it everything is taken.

use serde_json::{Value, json};

use crate::common::{Hub, raw};

const MAX_BODY: usize = 4 << 20;

/// A question whose JSON has exactly `bytes` bytes.
fn sized(bytes: usize) -> String {
    let texts = |last: usize| {
        let text = |len: usize| json!({"question": "x".repeat(len)});
        json!({"questions": [text(1 << 20), text(1 << 20), text(1 << 20), text(last)]}).to_string()
    };
    let body = texts(bytes - texts(0).len());
    assert_eq!(body.len(), bytes);
    body
}

#[tokio::test]
async fn the_largest_body_is_taken_and_one_byte_more_is_not() {
    let hub = Hub::start().await;
    let largest = sized(MAX_BODY);
    let asked = hub.owner.post_bytes("/v1/questions", largest.clone()).await.ok(201);
    let sent: Value = serde_json::from_str(&largest).unwrap();
    let read = hub.owner.question(asked["id"].as_str().unwrap()).await;
    for i in 0..4 {
        assert_eq!(read["questions"][i]["question"], sent["questions"][i]["question"], "nothing is cut");
    }
    let before = hub.owner.everything().await;

    let token = hub.owner.token();
    let head = format!(
        "POST /v1/questions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Connection: close\r\n"
    );
    let body = sized(MAX_BODY + 1);
    let declared = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    raw(&hub, declared.as_bytes()).await.problem(413, "body_too_large");
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    raw(&hub, chunked.as_bytes()).await.problem(413, "body_too_large");
    // A size that is only claimed is refused without waiting for it.
    let claimed = format!("{head}Content-Length: 999999999999\r\n\r\n{{");
    raw(&hub, claimed.as_bytes()).await.problem(413, "body_too_large");
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_body_that_ends_early_changes_nothing() {
    let hub = Hub::start().await;
    let before = hub.owner.everything().await;
    let token = hub.owner.token();
    let mut stream = tokio::net::TcpStream::connect(hub.authority()).await.unwrap();
    let part = format!(
        "POST /v1/questions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"questions\":[{{\"question\":\"x\"}}]}}"
    );
    tokio::io::AsyncWriteExt::write_all(&mut stream, part.as_bytes()).await.unwrap();
    drop(stream);
    hub.owner.get("/v1/health").await.ok(200);
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_header_that_is_too_large_is_told_so() {
    let hub = Hub::start().await;
    let with = |header: &str| {
        format!("GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n\r\n")
    };
    let one = with(&format!("X-Large: {}", "x".repeat(17 << 10)));
    raw(&hub, one.as_bytes()).await.problem(431, "header_too_large");
    let lines: Vec<String> = (0..90).map(|i| format!("X-Line-{i}: {}", "x".repeat(200))).collect();
    raw(&hub, with(&lines.join("\r\n")).as_bytes()).await.problem(431, "header_too_large");
    let fits = with(&format!("X-Large: {}", "x".repeat(15 << 10)));
    assert_eq!(raw(&hub, fits.as_bytes()).await.status, 200);
}

#[tokio::test]
async fn an_address_that_is_too_long_is_told_so() {
    let hub = Hub::start().await;
    let with = |len: usize| {
        format!("GET /v1/health?{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "x".repeat(len))
    };
    raw(&hub, with(9 << 10).as_bytes()).await.problem(414, "uri_too_long");
    let id = format!(
        "GET /v1/questions/{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "a".repeat(60 << 10)
    );
    raw(&hub, id.as_bytes()).await.problem(414, "uri_too_long");
}

#[tokio::test]
async fn noise_instead_of_http_harms_nobody() {
    let hub = Hub::start().await;
    for noise in [
        "\0\0\0\0\r\n\r\n",
        "HELLO\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ] {
        assert_eq!(raw(&hub, noise.as_bytes()).await.status, 400);
        // Also after a request that was understood, on the same connection.
        let good = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let answer = raw(&hub, format!("{good}{noise}").as_bytes()).await;
        let text = String::from_utf8_lossy(&answer.body);
        assert!(answer.status == 200 && text.contains("HTTP/1.1 400"), "{text}");
    }
    hub.owner.get("/v1/health").await.ok(200);
}
