//! Framing of text streams into lines, without IO.
//!
//! In: bytes in pieces of any size. Out: complete lines as borrowed bytes, or the fact that a line was longer
//! than the limit. A line ends with `\n`; one `\r` before it belongs to the ending. Bytes need not be UTF-8.
//! After each `push` pop until `None`: the memory held is then at most the limit and what was pushed since.

/// Longest line taken by default. Agents put images (base64) and whole files into one JSON line.
pub const DEFAULT_MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of an oversized line that are kept, so that a human can recognise it.
pub const OVERSIZED_PREFIX_BYTES: usize = 4 * 1024;
/// Capacity kept for the next lines once all is popped; a rare long line must not hold memory for ever.
const KEPT_CAPACITY_BYTES: usize = 256 * 1024;

/// One line, as found in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framed<'a> {
    /// A whole line without its ending.
    Line(&'a [u8]),
    /// A line beyond the limit: its beginning, and how many bytes it had before its `\n`.
    Oversized { prefix: &'a [u8], total_bytes: u64 },
}

/// An oversized line after its earlier bytes were dropped.
#[derive(Debug)]
struct Skipped {
    total_bytes: u64,
}

/// Splits a byte stream into lines.
#[derive(Debug)]
pub struct LineSplitter {
    max_line: usize,
    buf: Vec<u8>,
    /// The index in `buf` of the first byte that was not popped.
    start: usize,
    /// Up to here `buf` is known to have no `\n`.
    scanned: usize,
    /// The beginning of the oversized line that is being skipped or was popped last.
    prefix: Vec<u8>,
    skipped: Option<Skipped>,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_LINE_BYTES)
    }
}

impl LineSplitter {
    pub fn new(max_line: usize) -> Self {
        Self { max_line, buf: Vec::new(), start: 0, scanned: 0, prefix: Vec::new(), skipped: None }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.compact();
        self.buf.extend_from_slice(bytes);
    }

    /// The next whole line, if there is one.
    pub fn pop(&mut self) -> Option<Framed<'_>> {
        let Some(found) = memchr::memchr(b'\n', &self.buf[self.scanned..]) else {
            self.scanned = self.buf.len();
            self.let_go_of_too_much();
            return None;
        };
        let end = self.scanned + found;
        let from = self.start;
        self.start = end + 1;
        self.scanned = self.start;
        Some(self.frame(from, end, true))
    }

    /// Ends the stream: returns the rest without a `\n`, if there is one. Pop until `None` before.
    pub fn finish(&mut self) -> Option<Framed<'_>> {
        let (from, end) = (self.start, self.buf.len());
        if from == end && self.skipped.is_none() {
            return None;
        }
        self.start = end;
        self.scanned = end;
        Some(self.frame(from, end, false))
    }

    /// Bytes taken in and not popped yet, the ones of a skipped line included.
    pub fn pending_bytes(&self) -> u64 {
        let skipped = self.skipped.as_ref().map_or(0, |skipped| skipped.total_bytes);
        skipped + (self.buf.len() - self.start) as u64
    }

    fn frame(&mut self, from: usize, end: usize, ended: bool) -> Framed<'_> {
        let length = end - from;
        if let Some(skipped) = self.skipped.take() {
            return Framed::Oversized {
                prefix: &self.prefix,
                total_bytes: skipped.total_bytes + length as u64,
            };
        }
        if length > self.max_line {
            let prefix = &self.buf[from..from + length.min(OVERSIZED_PREFIX_BYTES)];
            return Framed::Oversized { prefix, total_bytes: length as u64 };
        }
        let line = &self.buf[from..end];
        Framed::Line(if ended { line.strip_suffix(b"\r").unwrap_or(line) } else { line })
    }

    /// A half line beyond the limit is reduced to its beginning and its length.
    fn let_go_of_too_much(&mut self) {
        let half = self.buf.len() - self.start;
        if let Some(skipped) = &mut self.skipped {
            skipped.total_bytes += half as u64;
        } else if half > self.max_line {
            let kept = half.min(OVERSIZED_PREFIX_BYTES);
            self.prefix.clear();
            self.prefix.extend_from_slice(&self.buf[self.start..self.start + kept]);
            self.skipped = Some(Skipped { total_bytes: half as u64 });
        } else {
            return;
        }
        self.start = self.buf.len();
        self.scanned = self.start;
    }

    fn compact(&mut self) {
        if self.start == 0 {
            return;
        }
        self.buf.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buf.len() < KEPT_CAPACITY_BYTES && self.buf.capacity() > 2 * KEPT_CAPACITY_BYTES {
            self.buf.shrink_to(KEPT_CAPACITY_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Owned {
        Line(Vec<u8>),
        Oversized(Vec<u8>, u64),
    }

    fn owned(framed: Framed<'_>) -> Owned {
        match framed {
            Framed::Line(line) => Owned::Line(line.to_vec()),
            Framed::Oversized { prefix, total_bytes } => Owned::Oversized(prefix.to_vec(), total_bytes),
        }
    }

    fn split(max: usize, pieces: &[&[u8]]) -> Vec<Owned> {
        let mut splitter = LineSplitter::new(max);
        let mut lines = Vec::new();
        for piece in pieces {
            splitter.push(piece);
            while let Some(line) = splitter.pop() {
                lines.push(owned(line));
            }
            let held = splitter.buf.len() - splitter.start;
            assert!(held <= max, "holds {held} bytes of a half line");
        }
        lines.extend(splitter.finish().map(owned));
        lines
    }

    /// The definition of the framing, with the whole stream in hand.
    fn by_definition(max: usize, stream: &[u8]) -> Vec<Owned> {
        let mut parts: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
        let half = parts.pop().unwrap();
        let frame = |part: &[u8], ended: bool| {
            if part.len() > max {
                let prefix = part[..part.len().min(OVERSIZED_PREFIX_BYTES)].to_vec();
                return Owned::Oversized(prefix, part.len() as u64);
            }
            Owned::Line(if ended { part.strip_suffix(b"\r").unwrap_or(part) } else { part }.to_vec())
        };
        let mut lines: Vec<Owned> = parts.iter().map(|part| frame(part, true)).collect();
        if !half.is_empty() {
            lines.push(frame(half, false));
        }
        lines
    }

    #[test]
    fn half_lines_wait_for_their_end_and_crlf_is_one_ending() {
        let lines = split(100, &[b"{\"a\"", b":1}\r", b"\nnext\n\nlast"]);
        let expected: Vec<Owned> = [&b"{\"a\":1}"[..], b"next", b"", b"last"]
            .iter()
            .map(|line| Owned::Line(line.to_vec()))
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn an_oversized_line_is_told_and_the_next_one_is_whole() {
        let lines = split(4, &[b"123", b"456", b"789\nok\n"]);
        assert_eq!(lines, vec![Owned::Oversized(b"123456".to_vec(), 9), Owned::Line(b"ok".to_vec())]);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_lines_of_the_whole(
            stream in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..8),
            max in 0usize..40,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.push(stream.len());
            cuts.sort_unstable();
            let mut from = 0;
            let mut pieces = Vec::new();
            for cut in cuts {
                pieces.push(&stream[from..cut]);
                from = cut;
            }
            // The beginning that is kept depends on where the stream was cut; its length and content do not
            // lie.
            let got = split(max, &pieces);
            let expected = by_definition(max, &stream);
            prop_assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(&expected) {
                match (got, expected) {
                    (Owned::Oversized(prefix, total), Owned::Oversized(whole, length)) => {
                        prop_assert_eq!(total, length);
                        prop_assert!(whole.starts_with(prefix) && prefix.len() > max.min(OVERSIZED_PREFIX_BYTES - 1));
                    }
                    _ => prop_assert_eq!(got, expected),
                }
            }
        }
    }
}
