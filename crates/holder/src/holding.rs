//! The state of a holder and its reactions. In: frames of the hub, output of the agent, ended children, time.
//! Out: answers to the hub, bytes to the agent, lines on disk, and at the end the permission to exit. It
//! never waits; `serve` does.

mod input;
mod output;
mod talk;

use std::{
    os::unix::net::UnixStream,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    agent::{Agent, Scope},
    backlog::{Backlog, Cursor},
    folder::{ExitRecord, ExitWhy, Folder},
    journal::Journal,
    link::Link,
    protocol::End,
    spec::HolderSpec,
    stderr::StderrTail,
    stdin::WriteQueue,
};
use askd_wire::lines::LineSplitter;

/// How long a leaving holder tries to tell its hub the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// The connected hub.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) link: Link,
    /// The first line that was not sent to this hub; it may acknowledge only earlier ones.
    cursor: Cursor,
    exit_told: bool,
}

#[derive(Debug)]
pub(super) struct Holding {
    folder: Folder,
    spec: HolderSpec,
    pub(super) agent: Agent,
    lines: LineSplitter,
    /// The buffer of a read.
    chunk: Vec<u8>,
    backlog: Backlog,
    /// The disk did not take the lines; when to try again.
    disk_again: Option<(Instant, String)>,
    journal: Journal,
    pub(super) writes: WriteQueue,
    stderr: StderrTail,
    pub(super) hub: Option<Hub>,
    /// Counts the connections, so that an answer goes to the one that asked.
    connection: u64,
    open_questions: u32,
    alone_since: Option<Instant>,
    why: ExitWhy,
    exited: Option<ExitRecord>,
    /// The hub has said `End`.
    end: Option<End>,
    leave_by: Option<Instant>,
}

impl Holding {
    pub(super) fn new(
        folder: Folder,
        spec: HolderSpec,
        agent: Agent,
        journal: Journal,
        now: Instant,
    ) -> Self {
        Self {
            lines: LineSplitter::new(spec.limits.max_line_bytes),
            chunk: vec![0; output::READ_BYTES],
            backlog: Backlog::new(folder.buffer(), spec.limits.buffer_bytes),
            disk_again: None,
            journal,
            writes: WriteQueue::default(),
            stderr: StderrTail::new(folder.stderr(), spec.limits.stderr_tail_lines),
            hub: None,
            connection: 0,
            open_questions: 0,
            alone_since: Some(now),
            why: ExitWhy::Itself,
            exited: None,
            end: None,
            leave_by: None,
            folder,
            spec,
            agent,
        }
    }

    /// Some child has ended.
    pub(super) fn reap(&mut self, now: Instant) {
        self.agent.reap(self.spec.limits.grace(), now);
        if self.agent.exit().is_some() {
            self.close_stdin("the agent has ended");
        }
    }

    /// The holder itself is asked to end.
    pub(super) fn terminate(&mut self, now: Instant) {
        self.leave(ExitWhy::HolderSignal, now);
    }

    fn leave(&mut self, why: ExitWhy, now: Instant) {
        if self.agent.exit().is_none() {
            self.why = why;
        }
        let grace = self.spec.limits.grace();
        self.end_agent(grace, now);
        self.end.get_or_insert(End { grace_ms: None, discard: true }).discard = true;
    }

    fn end_agent(&mut self, grace: Duration, now: Instant) {
        self.write_to_agent();
        self.close_stdin("the agent is being ended");
        self.agent.end(Scope::Tree, grace, now);
    }

    /// Does everything that is due, and fills the connection to the hub. `true` if the holder may exit.
    pub(super) fn proceed(&mut self, now: Instant) -> bool {
        self.agent.tick(now);
        self.keep_lines(now);
        if self.exited.is_none() && self.agent.is_over() {
            self.last_words(now);
        }
        self.send_lines(now);
        if self.linger_ends().is_some_and(|end| now >= end) {
            self.leave(ExitWhy::Linger, now);
        }
        self.may_go(now)
    }

    fn may_go(&mut self, now: Instant) -> bool {
        let gone = self.exited.is_some() && self.agent.is_over();
        let (Some(end), true) = (&self.end, gone) else { return false };
        if self.backlog.all_acked() || end.discard {
            let Some(hub) = &self.hub else { return true };
            let by = *self.leave_by.get_or_insert(now + FAREWELL);
            return (hub.exit_told && hub.link.unsent() == 0) || now >= by;
        }
        false
    }

    /// When a holder without a hub and without an open question gives up, if it does not leave already. An
    /// agent that has ended asks nothing.
    fn linger_ends(&self) -> Option<Instant> {
        let held = self.open_questions > 0 && self.exited.is_none();
        let leaving = self.end.as_ref().is_some_and(|end| end.discard);
        self.alone_since.filter(|_| !held && !leaving).map(|since| since + self.spec.limits.linger())
    }

    /// When `proceed` is to be called at the latest.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let disk = self.disk_again.as_ref().map(|(again, _)| *again);
        let spill = self.backlog.spill_at().filter(|_| disk.is_none());
        [self.agent.wake_at(), self.linger_ends(), disk, spill, self.leave_by].into_iter().flatten().min()
    }
}

impl Hub {
    pub(super) fn stream(&self) -> &UnixStream {
        &self.link.stream
    }
}

pub(super) fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
