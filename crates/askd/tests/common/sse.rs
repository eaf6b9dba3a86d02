//! A reader of a stream of events.

use serde_json::Value;

use super::within;

/// One frame of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    Comment(String),
    Event { id: Option<u64>, kind: String, data: Value },
}

pub struct Events {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl Events {
    pub fn of(response: reqwest::Response) -> Self {
        Self { response, buffer: Vec::new() }
    }

    /// The next frame, or `None` when the stream has ended, politely or not.
    pub async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Some(parse(std::str::from_utf8(&frame).unwrap()));
            }
            self.buffer.extend_from_slice(&self.response.chunk().await.ok()??);
        }
    }

    /// The next event, past comments.
    pub async fn next_or_end(&mut self) -> Option<(u64, Value)> {
        loop {
            if let Frame::Event { id: Some(id), kind, data } = self.frame().await? {
                assert_eq!(data["seq"], id, "the id of a frame is the event's number");
                assert_eq!(data["type"], kind, "the name of a frame is the event's type");
                return Some((id, data));
            }
        }
    }

    pub async fn next(&mut self) -> (u64, Value) {
        within("the next event", self.next_or_end()).await.unwrap()
    }

    /// The next `count` events.
    pub async fn take(&mut self, count: usize) -> Vec<(u64, Value)> {
        let mut events = Vec::with_capacity(count);
        while events.len() < count {
            events.push(self.next().await);
        }
        events
    }
}

fn parse(frame: &str) -> Frame {
    let (mut id, mut kind, mut data, mut comment) = (None, String::new(), String::new(), None);
    for line in frame.lines().filter(|line| !line.is_empty()) {
        match line.split_once(": ").unwrap_or((line, "")) {
            ("", text) => comment = Some(text.to_owned()),
            ("id", text) => id = Some(text.parse().unwrap()),
            ("event", text) => kind = text.to_owned(),
            ("data", text) => data.push_str(text),
            _ => {}
        }
    }
    match comment {
        Some(comment) => Frame::Comment(comment),
        None => Frame::Event { id, kind, data: serde_json::from_str(&data).unwrap() },
    }
}
