//! Requests that no well-behaved client would send, written byte by byte.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Hub, within};

#[derive(Debug)]
pub struct RawAnswer {
    pub status: u16,
    /// Everything before the body.
    pub head: String,
    pub body: Vec<u8>,
}

/// Sends `bytes` on a connection of its own and reads until the hub closes it. The request must ask for that.
pub async fn raw(hub: &Hub, bytes: &[u8]) -> RawAnswer {
    let mut stream = TcpStream::connect(hub.authority()).await.unwrap();
    within("a raw answer", async {
        let (mut read, mut write) = stream.split();
        let mut answer = Vec::new();
        // A hub that refuses early does not read to the end; that must not hide its answer.
        let send = async {
            drop(write.write_all(bytes).await);
            drop(write.flush().await);
        };
        let receive = async { drop(read.read_to_end(&mut answer).await) };
        tokio::join!(send, receive);
        RawAnswer::parse(&answer)
    })
    .await
}

impl RawAnswer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body: bytes[end + 4..].to_vec() }
    }

    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        let json: Value = serde_json::from_slice(&self.body).unwrap_or(Value::Null);
        assert_eq!((self.status, json["code"].as_str()), (status, Some(code)), "{}", self.head);
        assert!(
            self.head.to_ascii_lowercase().contains("content-type: application/problem+json"),
            "{}",
            self.head
        );
        json
    }
}
