//! The output of the agent: lines to the backlog, `stderr` to the tail, and the rest of both when the agent
//! has ended. In: readable pipes. Out: numbered lines in the backlog, and in the end the record of how the
//! agent ended.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use super::{super::folder::ExitRecord, Holding, now_ms};

/// One read of the agent's output: a whole pipe of the usual size.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// Bytes beyond the backlog's limit that are read after the agent's end: more than a pipe can hold for an
/// ordinary user.
const LAST_WORDS_BYTES: usize = 16 * 1024 * 1024;
/// Between two attempts to write the backlog to a full disk.
const DISK_AGAIN: Duration = Duration::from_secs(1);

impl Holding {
    /// True if the agent's `stdout` may be read.
    pub(in super::super) fn wants_lines(&self) -> bool {
        self.agent.stdout.is_some() && self.disk_again.is_none() && self.backlog.has_room()
    }

    /// Reads the agent's output, one pipe full at most.
    pub(in super::super) fn read_stdout(&mut self, now: Instant) {
        match read_some(self.agent.stdout.as_mut(), &mut self.chunk) {
            Some(0) => self.agent.stdout = None,
            Some(read) => self.lines.push(&self.chunk[..read]),
            None => {}
        }
        self.keep_lines(now);
    }

    /// Moves whole lines to the backlog, as far as there is room, and those to the disk that memory may not
    /// keep.
    pub(super) fn keep_lines(&mut self, now: Instant) {
        if self.backlog.memory_is_empty() {
            // The hub has acknowledged the lines that the disk refused.
            self.disk_again = None;
        }
        if self.disk_again.as_ref().is_some_and(|(again, _)| now < *again) {
            return;
        }
        while self.backlog.has_room() {
            let Some(line) = self.lines.pop() else { break };
            self.backlog.push(line, now);
        }
        if self.hub.is_none() || self.disk_again.is_some() || self.backlog.must_spill(now) {
            self.spill(now);
        }
    }

    fn spill(&mut self, now: Instant) {
        self.disk_again = self.backlog.spill().err().map(|error| (now + DISK_AGAIN, error.to_string()));
    }

    pub(in super::super) fn read_stderr(&mut self) {
        match read_some(self.agent.stderr.as_mut(), &mut self.chunk) {
            Some(0) => self.agent.stderr = None,
            Some(read) => self.stderr.push(&self.chunk[..read]),
            None => {}
        }
    }

    /// The agent is gone: what is still in its pipes, the half line at the end, and then how it ended.
    pub(super) fn last_words(&mut self, now: Instant) {
        let mut read_in_all = 0;
        while read_in_all < LAST_WORDS_BYTES {
            let Some(read) = read_some(self.agent.stdout.as_mut(), &mut self.chunk).filter(|read| *read > 0)
            else {
                break;
            };
            read_in_all += read;
            self.lines.push(&self.chunk[..read]);
            while let Some(line) = self.lines.pop() {
                self.backlog.push(line, now);
            }
        }
        while let Some(line) = self.lines.pop() {
            self.backlog.push(line, now);
        }
        if let Some(line) = self.lines.finish() {
            self.backlog.push(line, now);
        }
        // An orderly exit: whatever becomes of the hub, the next one finds the lines.
        self.spill(now);
        let mut read_in_all = 0;
        while read_in_all < LAST_WORDS_BYTES {
            let Some(read) = read_some(self.agent.stderr.as_mut(), &mut self.chunk).filter(|read| *read > 0)
            else {
                break;
            };
            read_in_all += read;
            self.stderr.push(&self.chunk[..read]);
        }
        self.agent.stdout = None;
        self.agent.stderr = None;
        self.close_stdin("the agent has ended");
        let record = ExitRecord {
            exit: self.agent.exit().unwrap_or_default(),
            why: self.why,
            error: None,
            stderr_tail: self.stderr.finish(),
            at_ms: now_ms(),
        };
        // The hub is told in any case; the file is for the case that there is none.
        let _ = self.folder.write_exit(&record);
        self.exited = Some(record);
    }
}

/// One read; `None`: nothing now, or no such pipe. An error is the end of the pipe.
fn read_some(pipe: Option<&mut impl Read>, chunk: &mut [u8]) -> Option<usize> {
    match pipe?.read(chunk) {
        Ok(read) => Some(read),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => None,
        Err(_) => Some(0),
    }
}
