//! The queue in front of the agent's `stdin`. In: writes, in order. Out: their bytes, as far as the agent
//! reads, and what became of each. It never waits: an agent that does not read fills the queue, and the next
//! write is told so.

use std::{
    collections::VecDeque,
    io::{self, IoSlice, Write},
};

use bytes::{Buf as _, Bytes};

use super::protocol::MAX_WRITE_BYTES;

/// Bytes that wait for an agent that does not read: two of the longest writes.
pub(super) const WRITE_QUEUE_BYTES: usize = 2 * MAX_WRITE_BYTES;
/// Small writes have a cost too.
pub(super) const WRITE_QUEUE_LENGTH: usize = 4096;

/// Writes in one system call.
const PARTS: usize = 64;

/// A write on its way.
#[derive(Debug)]
pub(super) struct Pending {
    /// The connection that sent it, which alone knows its tag.
    pub(super) connection: u64,
    pub(super) tag: u64,
    pub(super) delivery: Option<String>,
    pub(super) bytes: Bytes,
}

/// A finished write; `failure` is the reason if it failed.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) write: Pending,
    pub(super) failure: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    waiting: VecDeque<Pending>,
    bytes: usize,
}

impl WriteQueue {
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.waiting.len() < WRITE_QUEUE_LENGTH
            && (self.waiting.is_empty() || self.bytes + bytes <= WRITE_QUEUE_BYTES)
    }

    pub(super) fn push(&mut self, write: Pending) {
        self.bytes += write.bytes.len();
        self.waiting.push_back(write);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes as much as the agent takes, many at once. An error other than "not now" ends all that wait.
    pub(super) fn write_to(&mut self, agent: &mut impl Write) -> Vec<Finished> {
        let mut finished = Vec::new();
        while !self.waiting.is_empty() {
            let parts: Vec<_> =
                self.waiting.iter().take(PARTS).map(|write| IoSlice::new(&write.bytes)).collect();
            match agent.write_vectored(&parts) {
                Ok(written) => {
                    let before = finished.len();
                    self.take_written(written, &mut finished);
                    if written == 0 && finished.len() == before {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let reason = format!("the agent does not take input any more: {error}");
                    finished.extend(self.fail_all(&reason));
                }
            }
        }
        finished
    }

    /// So many bytes are with the agent, from the first write on.
    fn take_written(&mut self, mut written: usize, finished: &mut Vec<Finished>) {
        self.bytes -= written;
        while let Some(first) = self.waiting.front_mut() {
            let part = written.min(first.bytes.len());
            first.bytes.advance(part);
            written -= part;
            if !first.bytes.is_empty() {
                return;
            }
            finished.extend(self.waiting.pop_front().map(|write| Finished { write, failure: None }));
        }
    }

    pub(super) fn fail_all(&mut self, reason: &str) -> Vec<Finished> {
        self.bytes = 0;
        let failed = |write| Finished { write, failure: Some(reason.to_owned()) };
        self.waiting.drain(..).map(failed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent that takes some bytes at a time, and then none for now.
    struct Slow {
        at_once: usize,
        left: usize,
        heard: Vec<u8>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.at_once).min(self.left);
            if taken == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.left -= taken;
            self.heard.extend(&bytes[..taken]);
            Ok(taken)
        }

        fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
            self.write(&parts.iter().flat_map(|part| part.iter().copied()).collect::<Vec<u8>>())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_write_is_finished_when_its_last_byte_is_taken() {
        let texts: Vec<String> = (0..3 * PARTS).map(|n| "x".repeat(n % 4) + &n.to_string()).collect();
        let is_empty = |tag: u64| tag.is_multiple_of(5) || (64..150).contains(&tag);
        for at_once in [1, 7, usize::MAX] {
            let mut queue = WriteQueue::default();
            for (tag, text) in (0..).zip(&texts) {
                let bytes = if is_empty(tag) { Bytes::new() } else { Bytes::from(text.clone()) };
                queue.push(Pending { connection: 1, tag, delivery: None, bytes });
            }
            let wanted: String =
                (0..).zip(&texts).filter(|(tag, _)| !is_empty(*tag)).map(|(_, text)| text.as_str()).collect();
            let mut agent = Slow { at_once, left: 0, heard: Vec::new() };
            let mut finished = Vec::new();
            while !queue.is_empty() {
                agent.left += 10;
                finished.extend(queue.write_to(&mut agent).into_iter().map(|ended| ended.write.tag));
                assert_eq!(queue.bytes(), wanted.len() - agent.heard.len());
            }
            assert_eq!(String::from_utf8(agent.heard).unwrap(), wanted);
            assert_eq!(finished, (0..texts.len() as u64).collect::<Vec<_>>());
        }
    }
}
