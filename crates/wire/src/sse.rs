//! Server-sent events, without IO. In: bytes of a response body in pieces of any size. Out: events with id,
//! type and data as the WHATWG standard reads them, or the fact that one was too long. The last id is kept
//! for the reconnect.

use std::mem;

/// Longest event (all its data together). An OpenCode event carries a whole message part with its files.
pub const DEFAULT_MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Capacity kept once an event is out; a rare long one must not hold memory for ever.
const KEPT_CAPACITY_BYTES: usize = 256 * 1024;

/// One event, dispatched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The last id of the stream, from here or earlier; empty for none.
    pub id: String,
    /// `message` when the stream gives none.
    pub event: String,
    pub data: String,
}

/// An item of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseItem {
    Event(SseEvent),
    /// A comment: a heartbeat, usually.
    Comment,
    /// The server asks to wait so many milliseconds before the next connection.
    Retry(u64),
    /// An event beyond the limit was passed over; its id counts.
    Oversized {
        id: String,
        event: String,
        total_bytes: u64,
    },
}

/// Reads a stream of events.
#[derive(Debug)]
pub struct SseParser {
    max_event: usize,
    line: Vec<u8>,
    /// Bytes of the current line that were dropped because the event is too long already.
    skipped: u64,
    /// The last byte was `\r`: a `\n` now belongs to it.
    after_cr: bool,
    /// The first line is not over yet: a byte order mark before it is no part of it.
    at_start: bool,
    last_id: String,
    /// The id of the event that is being read; it becomes the last id when the event ends.
    id: Option<String>,
    event: String,
    data: Vec<u8>,
    has_data: bool,
    /// Bytes of data of an event beyond the limit.
    oversized: u64,
    items: std::collections::VecDeque<SseItem>,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_EVENT_BYTES)
    }
}

impl SseParser {
    pub fn new(max_event: usize) -> Self {
        Self {
            max_event,
            line: Vec::new(),
            skipped: 0,
            after_cr: false,
            at_start: true,
            last_id: String::new(),
            id: None,
            event: String::new(),
            data: Vec::new(),
            has_data: false,
            oversized: 0,
            items: std::collections::VecDeque::new(),
        }
    }

    /// Continues after an earlier stream with this last id.
    pub fn resume(&mut self, last_id: String) {
        *self = Self { last_id, ..Self::new(self.max_event) };
    }

    /// The value of `Last-Event-ID`; empty for none.
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    /// Takes the next bytes of the body. Pop until `None` afterwards: what is not popped is kept.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            match memchr::memchr2(b'\n', b'\r', bytes) {
                None => {
                    self.add(bytes);
                    return;
                }
                Some(end) => {
                    self.add(&bytes[..end]);
                    self.after_cr = bytes[end] == b'\r';
                    bytes = &bytes[end + 1..];
                    self.end_line();
                }
            }
        }
    }

    pub fn pop(&mut self) -> Option<SseItem> {
        self.items.pop_front()
    }

    /// A line may be as long as an event, and its field name.
    fn add(&mut self, bytes: &[u8]) {
        let room = (self.max_event + 64).saturating_sub(self.line.len());
        let taken = bytes.len().min(room);
        self.line.extend_from_slice(&bytes[..taken]);
        self.skipped += (bytes.len() - taken) as u64;
    }

    fn end_line(&mut self) {
        let mut line = mem::take(&mut self.line);
        let skipped = mem::take(&mut self.skipped);
        let mut text = line.as_slice();
        if mem::take(&mut self.at_start) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.is_empty() {
            self.dispatch();
        } else {
            let (name, value) = match memchr::memchr(b':', text) {
                Some(0) => (&b""[..], text),
                Some(colon) => {
                    let value = &text[colon + 1..];
                    (&text[..colon], value.strip_prefix(b" ").unwrap_or(value))
                }
                None => (text, &b""[..]),
            };
            self.field(name, value, skipped);
        }
        line.clear();
        line.shrink_to(KEPT_CAPACITY_BYTES);
        self.line = line;
    }

    fn field(&mut self, name: &[u8], value: &[u8], skipped: u64) {
        match name {
            b"" => self.items.push_back(SseItem::Comment),
            b"data" => self.add_data(value, skipped),
            // A name or an id of megabytes is no name and no id.
            _ if skipped > 0 => {}
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => {
                let digits =
                    std::str::from_utf8(value).ok().filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
                self.items.extend(digits.and_then(|v| v.parse().ok()).map(SseItem::Retry));
            }
            _ => {}
        }
    }

    fn add_data(&mut self, value: &[u8], skipped: u64) {
        let between = usize::from(self.has_data);
        let total = self.oversized + (self.data.len() + between + value.len()) as u64 + skipped;
        self.has_data = true;
        if self.oversized > 0 || total > self.max_event as u64 {
            self.oversized = total;
            self.data = Vec::new();
            return;
        }
        if between == 1 {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self) {
        let event = mem::take(&mut self.event);
        let data = mem::take(&mut self.data);
        let has_data = mem::take(&mut self.has_data);
        let total_bytes = mem::take(&mut self.oversized);
        if let Some(id) = self.id.take() {
            self.last_id = id;
        }
        if !has_data {
            return;
        }
        let id = self.last_id.clone();
        let event = if event.is_empty() { "message".to_owned() } else { event };
        self.items.push_back(if total_bytes > 0 {
            SseItem::Oversized { id, event, total_bytes }
        } else {
            SseItem::Event(SseEvent { id, event, data: String::from_utf8_lossy(&data).into_owned() })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(max: usize, pieces: &[&[u8]]) -> Vec<SseItem> {
        let mut parser = SseParser::new(max);
        let mut items = Vec::new();
        for piece in pieces {
            parser.push(piece);
            while let Some(item) = parser.pop() {
                items.push(item);
            }
            assert!(parser.data.len() <= max && parser.line.len() <= max + 64);
        }
        items
    }

    fn event(id: &str, event: &str, data: &str) -> SseItem {
        SseItem::Event(SseEvent { id: id.into(), event: event.into(), data: data.into() })
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let stream = "\u{feff}: hello\n\ndata: one\ndata:two\ndata\n\nid: 7\nevent: question.asked\ndata:  x\r\n\r\n\
            retry: 1500\nretry: soon\nunknown: y\nevent: lost\n\ndata\rid\r\rdata: not ended";
        let expected = [
            SseItem::Comment,
            event("", "message", "one\ntwo\n"),
            event("7", "question.asked", " x"),
            SseItem::Retry(1500),
            event("", "message", ""),
        ];
        assert_eq!(read(1000, &[stream.as_bytes()]), expected);
    }

    #[test]
    fn an_event_beyond_the_limit_is_told_and_its_id_counts() {
        let stream = format!("id: 1\ndata: {}\ndata: more\n\ndata: ok\n\n", "x".repeat(500));
        let expected = [
            SseItem::Oversized { id: "1".into(), event: "message".into(), total_bytes: 505 },
            event("1", "message", "ok"),
        ];
        assert_eq!(read(100, &[stream.as_bytes()]), expected);
    }

    #[test]
    fn an_id_counts_only_with_its_event() {
        let mut parser = SseParser::default();
        parser.push(b"id: 1\ndata: a\n\nid: 2\ndata: b\n");
        assert_eq!(parser.last_id(), "1");
        parser.resume(parser.last_id().to_owned());
        parser.push(b"data: c\n\n");
        parser.pop();
        assert_eq!((parser.last_id(), parser.line.len()), ("1", 0));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            words in proptest::collection::vec(prop_oneof![
                Just(&b"data: "[..]), Just(&b"id: "[..]), Just(&b"event:"[..]), Just(&b"retry: 5"[..]), Just(&b":"[..]),
                Just(&b"\n"[..]), Just(&b"\r"[..]), Just(&b"\r\n"[..]), Just(&b"\xef\xbb\xbf"[..]), Just(&b"\xff\0x"[..]),
                Just(&b"a long word that fills an event"[..]),
            ], 0..60),
            size in 1usize..40,
            max in 1usize..80,
        ) {
            let stream = words.concat();
            let pieces: Vec<&[u8]> = stream.chunks(size).collect();
            prop_assert_eq!(read(max, &pieces), read(max, &[&stream]));
        }
    }
}
