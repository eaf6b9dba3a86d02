//! The queue in front of the agent's stdin. In: writes, in order. Out: their bytes, as far as the agent reads, and
//! what became of each. It never waits: an agent that does not read fills the queue, and the next write is told so.

use std::{
    collections::VecDeque,
    io::{self, Write},
};

use bytes::{Buf as _, Bytes};

use super::protocol::MAX_WRITE_BYTES;

/// What may wait for an agent that does not read: two of the longest writes.
pub(super) const WRITE_QUEUE_BYTES: usize = 2 * MAX_WRITE_BYTES;
/// Small writes have a cost too.
pub(super) const WRITE_QUEUE_LENGTH: usize = 4096;

/// A write on its way.
#[derive(Debug)]
pub(super) struct Pending {
    /// Which connection sent it; its tag means something to that one only.
    pub(super) connection: u64,
    pub(super) tag: u64,
    pub(super) delivery: Option<String>,
    pub(super) bytes: Bytes,
}

/// A write that has ended; `failure` says why if not well.
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

    /// Writes as much as the agent takes. An error other than "not now" ends all that wait.
    pub(super) fn write_to(&mut self, agent: &mut impl Write) -> Vec<Finished> {
        let mut finished = Vec::new();
        while let Some(first) = self.waiting.front_mut() {
            if first.bytes.is_empty() {
                finished.extend(self.waiting.pop_front().map(|write| Finished { write, failure: None }));
                continue;
            }
            match agent.write(&first.bytes) {
                Ok(0) => break,
                Ok(written) => {
                    first.bytes.advance(written);
                    self.bytes -= written;
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

    pub(super) fn fail_all(&mut self, reason: &str) -> Vec<Finished> {
        self.bytes = 0;
        let failed = |write| Finished { write, failure: Some(reason.to_owned()) };
        self.waiting.drain(..).map(failed).collect()
    }
}
