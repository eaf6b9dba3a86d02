//! Server-sent events without IO: bytes in, messages out.
//!
//! In: the body of a stream in pieces of any size. Out: messages with their id; comments (heartbeats) vanish. Only what the
//! hub sends is understood: `id`, `event`, `data`, comments, and the three line endings of the standard.

use std::collections::VecDeque;

/// Bytes of one message: the hub's largest question and what JSON escapes make of it.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// The last id that the stream named, with this message or before it.
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of the stream is larger than {MAX_MESSAGE_BYTES} bytes")]
pub struct TooLarge;

#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    after_cr: bool,
    id: Option<String>,
    event: Option<String>,
    data: Option<String>,
    ready: VecDeque<Message>,
}

impl Parser {
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match piece.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                _ => (piece, None),
            };
            // The second half of CR LF ends nothing.
            let half = self.after_cr && text.is_empty() && end == Some(b'\n');
            self.after_cr = end == Some(b'\r');
            if half {
                continue;
            }
            self.line.extend_from_slice(text);
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > MAX_MESSAGE_BYTES {
                return Err(TooLarge);
            }
            if end.is_some() {
                self.end_of_line();
            }
        }
        Ok(())
    }

    pub fn next_message(&mut self) -> Option<Message> {
        self.ready.pop_front()
    }

    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let event = self.event.take();
            if let Some(data) = self.data.take() {
                self.ready.push_back(Message { id: self.id.clone(), event, data });
            }
            return;
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.id = Some(value.to_owned()),
            "event" => self.event = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<Message> {
        let mut parser = Parser::default();
        for piece in pieces {
            parser.push(piece).unwrap();
        }
        std::iter::from_fn(|| parser.next_message()).collect()
    }

    fn message(id: &str, event: &str, data: &str) -> Message {
        Message { id: Some(id.to_owned()), event: Some(event.to_owned()), data: data.to_owned() }
    }

    const STREAM: &[u8] = b": hello\n\nid: 7\nevent: a\ndata: {\"x\":\ndata: \"\xc3\xa4\"}\n\n:\n\nid:8\r\nevent:b\r\ndata:1\r\n\r\nid: 9\nevent: c\ndata: not ended";

    #[test]
    fn messages_are_the_same_however_the_bytes_are_cut() {
        let wanted = vec![message("7", "a", "{\"x\":\n\"ä\"}"), message("8", "b", "1")];
        assert_eq!(read(&[STREAM]), wanted);
        for cut in 0..STREAM.len() {
            assert_eq!(read(&[&STREAM[..cut], &STREAM[cut..]]), wanted, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = STREAM.chunks(1).collect();
        assert_eq!(read(&bytes), wanted);
    }

    #[test]
    fn a_heartbeat_is_no_message_and_an_id_is_kept() {
        assert_eq!(read(&[b":\n\n:\n\nevent: x\n\n"]), []);
        assert_eq!(read(&[b"id: 3\n\ndata: d\n\n"])[0].id.as_deref(), Some("3"));
    }

    #[test]
    fn a_message_without_end_is_refused() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1 << 20];
        let refused = (0..65).map(|_| parser.push(&piece)).find(Result::is_err);
        assert_eq!(refused, Some(Err(TooLarge)));
    }
}
