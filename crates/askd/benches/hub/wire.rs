//! A small HTTP/1.1 client, so that the load program costs as little as can be on two cores.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::Result;

/// How long a body is.
enum Length {
    Known(usize),
    Chunked,
}

/// One connection that is kept alive.
pub struct Wire {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Wire {
    pub async fn connect(url: &str, token: &str) -> Result<Self> {
        let address = url.trim_start_matches("http://");
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let head =
            format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n");
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Status and body of one request.
    pub async fn call(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, Vec<u8>)> {
        self.send(method, path, body).await?;
        self.response().await
    }

    /// Sends a request whose response is read later.
    pub async fn send(&mut self, method: &str, path: &str, body: &str) -> Result {
        let request =
            format!("{method} {path} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        Ok(())
    }

    /// Status and body of the request that was sent.
    pub async fn response(&mut self) -> Result<(u16, Vec<u8>)> {
        let (status, length) = self.head().await?;
        let mut bytes = Vec::new();
        match length {
            Length::Known(length) => {
                bytes.resize(length, 0);
                self.stream.read_exact(&mut bytes).await?;
            }
            Length::Chunked => while self.chunk(&mut bytes).await? {},
        }
        Ok((status, bytes))
    }

    /// One chunk of a body; false after the last.
    async fn chunk(&mut self, body: &mut Vec<u8>) -> Result<bool> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        let length = usize::from_str_radix(line.trim(), 16)?;
        let before = body.len();
        body.resize(before + length, 0);
        self.stream.read_exact(&mut body[before..]).await?;
        line.clear();
        self.stream.read_line(&mut line).await?;
        Ok(length > 0)
    }

    async fn head(&mut self) -> Result<(u16, Length)> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        let status = line.split(' ').nth(1).and_then(|text| text.parse().ok()).ok_or("no status")?;
        let mut length = Length::Known(0);
        loop {
            line.clear();
            self.stream.read_line(&mut line).await?;
            let text = line.trim();
            if text.is_empty() {
                return Ok((status, length));
            }
            match text.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = Length::Known(value.trim().parse()?);
                }
                Some((name, _)) if name.eq_ignore_ascii_case("transfer-encoding") => length = Length::Chunked,
                _ => {}
            }
        }
    }

    /// Turns the connection into a stream of events.
    pub async fn events(self, after: u64) -> Result<EventStream> {
        self.stream(&format!("/v1/events?after={after}")).await
    }

    /// The same for any stream.
    pub async fn stream(mut self, path: &str) -> Result<EventStream> {
        self.send("GET", path, "").await?;
        let (status, _) = self.head().await?;
        if status != 200 {
            return Err(format!("the stream answered {status}").into());
        }
        Ok(EventStream { stream: self.stream, line: String::new() })
    }
}

pub struct EventStream {
    stream: BufReader<TcpStream>,
    line: String,
}

impl EventStream {
    /// The number of the next event; what it says is skipped.
    pub async fn next(&mut self) -> Result<u64> {
        loop {
            self.line.clear();
            if self.stream.read_line(&mut self.line).await? == 0 {
                return Err("the stream ended".into());
            }
            if let Some(id) = self.line.strip_prefix("id: ") {
                return Ok(id.trim().parse()?);
            }
        }
    }

    /// Reads on to the next event of a type.
    pub async fn next_of(&mut self, kind: &str, patience: Duration) -> Result {
        let read = async {
            loop {
                self.line.clear();
                if self.stream.read_line(&mut self.line).await? == 0 {
                    return Err("the stream ended".into());
                }
                if self.line.strip_prefix("event: ").is_some_and(|found| found.trim() == kind) {
                    return Ok(());
                }
            }
        };
        tokio::time::timeout(patience, read).await.map_err(|_| "no such event in time")?
    }

    /// The data of the next event.
    pub async fn data(&mut self) -> Result<&str> {
        loop {
            self.line.clear();
            if self.stream.read_line(&mut self.line).await? == 0 {
                return Err("the stream ended".into());
            }
            if self.line.starts_with("data: ") {
                return Ok(&self.line["data: ".len()..]);
            }
        }
    }

    pub async fn next_within(&mut self, patience: Duration) -> Result<u64> {
        tokio::time::timeout(patience, self.next()).await.map_err(|_| "no event in time")?
    }
}

/// The value of a string field near the beginning of a JSON text, without parsing the rest.
pub fn field(body: &[u8], name: &str) -> Result<String> {
    let text = String::from_utf8_lossy(body);
    let key = format!("\"{name}\":\"");
    let start = text.find(&key).ok_or("no such field")? + key.len();
    let end = text[start..].find('"').ok_or("no end of the field")?;
    Ok(text[start..start + end].to_owned())
}
