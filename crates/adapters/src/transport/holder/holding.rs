//! What a holder holds, and how it reacts. In: frames of the hub, output of the agent, ended children, time. Out: answers
//! to the hub, bytes to the agent, lines on disk, and in the end the leave to go. It waits for nothing; `serve` does.

use std::{
    io::Read,
    os::unix::net::UnixStream,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    agent::{Agent, Scope},
    buffer::{Cursor, DiskBuffer},
    folder::{ExitRecord, ExitWhy, Folder},
    journal::{Completed, Journal, Journaled, MAX_DELIVERIES},
    link::{Link, LinkError},
    protocol::{
        End, Hello, PROTOCOL_VERSION, ProbeResult, Refusal, StatusReport, ToHolder, ToHub, Welcome,
        WriteResult, Written, agree,
    },
    spec::HolderSpec,
    stderr::StderrTail,
    stdin::{Finished, Pending, WriteQueue},
};
use crate::transport::lines::LineSplitter;

/// One read of the agent's output: a whole pipe of the usual size.
const READ_BYTES: usize = 64 * 1024;
/// What is read beyond the buffer's limit when the agent has ended: more than a pipe can hold for an ordinary user.
const LAST_WORDS_BYTES: usize = 16 * 1024 * 1024;
/// How long a leaving holder tries to tell its hub the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// Between two attempts to write the buffer to a full disk.
const DISK_AGAIN: Duration = Duration::from_secs(1);

/// The hub that is connected.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) link: Link,
    /// Its line is the first that this hub has not been sent; what it may acknowledge ends before.
    cursor: Cursor,
    exit_told: bool,
}

#[derive(Debug)]
pub(super) struct Holding {
    folder: Folder,
    spec: HolderSpec,
    pub(super) agent: Agent,
    lines: LineSplitter,
    buffer: DiskBuffer,
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
            buffer: DiskBuffer::new(folder.buffer(), spec.limits.buffer_bytes),
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

    // ---- the hub ----

    /// A connection has said `Hello`: it becomes the hub, whoever was it before. The refused one gets told why.
    pub(super) fn greet(&mut self, mut link: Link, hello: &Hello) {
        let next_line = self.buffer.next();
        let agreed = agree(hello).and_then(|version| {
            if hello.after >= next_line {
                return Err(Refusal::AfterTheEnd { after: hello.after, next_line });
            }
            Ok(version)
        });
        let version = match agreed {
            Ok(version) => version,
            Err(refusal) => {
                let _ = link.send(&ToHub::Refused(refusal)).and_then(|()| link.flush());
                return;
            }
        };
        if let Some(mut older) = self.hub.take() {
            let _ = older.link.send(&ToHub::Replaced).and_then(|()| older.link.flush());
        }
        link.greeted();
        self.connection += 1;
        self.alone_since = None;
        let first_line = self.buffer.first();
        let welcome = Welcome {
            version,
            holder_pid: own_pid(),
            agent_pid: self.agent.pid,
            first_line,
            next_line,
            exited: self.agent.exit().is_some(),
            open_questions: self.open_questions,
        };
        let cursor = Cursor::at(first_line.max(hello.after + 1));
        self.hub = Some(Hub { link, cursor, exit_told: false });
        self.tell(&ToHub::Welcome(welcome));
    }

    pub(super) fn lose_hub(&mut self, now: Instant) {
        if self.hub.take().is_some() {
            self.alone_since = Some(now);
        }
    }

    fn tell(&mut self, message: &ToHub) {
        let told = self.hub.as_mut().map_or(Ok(()), |hub| hub.link.send(message));
        if told.is_err() {
            self.lose_hub(Instant::now());
        }
    }

    /// One message of the hub.
    pub(super) fn hear(&mut self, message: ToHolder, now: Instant) {
        match message {
            // A second greeting on the same connection has no meaning that could be trusted.
            ToHolder::Hello(_) => self.lose_hub(now),
            ToHolder::Ack { through } => {
                let sent = self.hub.as_ref().map_or(0, |hub| hub.cursor.line - 1);
                // A segment that cannot be removed costs space, not lines.
                let _ = self.buffer.ack(through.min(sent));
            }
            ToHolder::Write { tag, delivery, bytes } => {
                let result = self.take_write(tag, delivery.clone(), bytes);
                if let Some(result) = result {
                    self.tell(&ToHub::Written(Written { tag, delivery, result }));
                }
                self.write_to_agent();
            }
            ToHolder::Probe { delivery } => {
                let journaled = self.journal.get(&delivery);
                let completed = Completed::of(journaled);
                let journaled = journaled.is_some();
                self.tell(&ToHub::ProbeResult(ProbeResult { delivery, journaled, completed }));
            }
            ToHolder::SetOpenQuestions { count } => self.open_questions = count,
            ToHolder::End(end) => {
                let grace = end.grace_ms.map_or(self.spec.limits.grace(), Duration::from_millis);
                if self.agent.exit().is_none() {
                    self.why = ExitWhy::Hub;
                }
                self.end_agent(grace, now);
                let discard = end.discard || self.end.as_ref().is_some_and(|end| end.discard);
                self.end = Some(End { discard, ..end });
            }
            ToHolder::Status => {
                let report = self.status();
                self.tell(&ToHub::Status(report));
            }
        }
    }

    /// Queues a write; the answer, if it can be given at once.
    fn take_write(&mut self, tag: u64, delivery: Option<String>, bytes: bytes::Bytes) -> Option<WriteResult> {
        if !ToHolder::write_fits(delivery.as_deref(), &bytes) {
            return Some(WriteResult::Refused {
                reason: "the write or its delivery id is too long".to_owned(),
            });
        }
        if let Some(id) = &delivery {
            match self.journal.get(id) {
                Some(Journaled::Done) => return Some(WriteResult::Done { repeated: true }),
                Some(Journaled::Begun) => return Some(WriteResult::UnderWay),
                Some(Journaled::Failed(reason)) => {
                    return Some(WriteResult::Failed { reason: reason.clone(), repeated: true });
                }
                None => {}
            }
            if self.journal.is_full() {
                let reason = format!("the journal has its {MAX_DELIVERIES} deliveries");
                return Some(WriteResult::Refused { reason });
            }
        }
        if self.agent.stdin.is_none() {
            let reason = "the agent does not take input any more".to_owned();
            return Some(WriteResult::Failed { reason, repeated: false });
        }
        if !self.writes.has_room(bytes.len()) {
            return Some(WriteResult::Busy);
        }
        if let Some(id) = &delivery
            && let Err(error) = self.journal.begin(id)
        {
            return Some(WriteResult::Refused { reason: format!("the journal cannot be written: {error}") });
        }
        self.writes.push(Pending { connection: self.connection, tag, delivery, bytes });
        None
    }

    // ---- the agent ----

    pub(super) fn write_to_agent(&mut self) {
        let Some(stdin) = &mut self.agent.stdin else { return };
        let finished = self.writes.write_to(stdin);
        if finished.iter().any(|write| write.failure.is_some()) {
            self.agent.stdin = None;
        }
        self.finish_writes(finished);
    }

    fn finish_writes(&mut self, finished: Vec<Finished>) {
        for Finished { write, failure } in finished {
            let Pending { connection, tag, delivery, .. } = write;
            if let Some(id) = &delivery {
                // If the disk does not take it the memory knows it, and a successor finds "unknown".
                let _ = self.journal.end(id, failure.as_deref());
            }
            let ours = connection == self.connection;
            if !ours && delivery.is_none() {
                continue;
            }
            let result = match failure {
                None => WriteResult::Done { repeated: false },
                Some(reason) => WriteResult::Failed { reason, repeated: false },
            };
            self.tell(&ToHub::Written(Written { tag: if ours { tag } else { 0 }, delivery, result }));
        }
    }

    /// Whether the agent's stdout may be read.
    pub(super) fn wants_lines(&self) -> bool {
        self.agent.stdout.is_some() && self.disk_again.is_none() && self.buffer.has_room()
    }

    /// Reads what the agent has said, one pipe full at most.
    pub(super) fn read_stdout(&mut self, now: Instant) {
        let mut chunk = [0; READ_BYTES];
        match read_some(self.agent.stdout.as_mut(), &mut chunk) {
            Some(0) => self.agent.stdout = None,
            Some(read) => self.lines.push(&chunk[..read]),
            None => {}
        }
        self.keep_lines(now);
    }

    /// Moves whole lines to the disk, as far as there is room.
    fn keep_lines(&mut self, now: Instant) {
        if self.disk_again.as_ref().is_some_and(|(again, _)| now < *again) {
            return;
        }
        while self.buffer.has_room() {
            let Some(line) = self.lines.pop() else { break };
            self.buffer.stage(line);
        }
        self.flush_buffer(now);
    }

    fn flush_buffer(&mut self, now: Instant) {
        self.disk_again = self.buffer.flush().err().map(|error| (now + DISK_AGAIN, error.to_string()));
    }

    pub(super) fn read_stderr(&mut self) {
        let mut chunk = [0; READ_BYTES];
        match read_some(self.agent.stderr.as_mut(), &mut chunk) {
            Some(0) => self.agent.stderr = None,
            Some(read) => self.stderr.push(&chunk[..read]),
            None => {}
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

    fn close_stdin(&mut self, reason: &str) {
        if self.agent.stdin.take().is_some() {
            let finished = self.writes.fail_all(reason);
            self.finish_writes(finished);
        }
    }

    // ---- time ----

    /// Does what is due, and fills the connection to the hub. `true`: the holder may go.
    pub(super) fn proceed(&mut self, now: Instant) -> bool {
        self.agent.tick(now);
        self.keep_lines(now);
        if self.exited.is_none() && self.agent.is_over() {
            self.last_words(now);
        }
        self.send_lines(now);
        if self.linger_ends().is_some_and(|end| now >= end) && self.end.is_none() {
            self.leave(ExitWhy::Linger, now);
        }
        self.may_go(now)
    }

    /// The agent is gone: what is still in its pipes, the half line at the end, and then how it ended.
    fn last_words(&mut self, now: Instant) {
        let mut chunk = [0; READ_BYTES];
        let mut read_in_all = 0;
        while read_in_all < LAST_WORDS_BYTES {
            let Some(read) = read_some(self.agent.stdout.as_mut(), &mut chunk).filter(|read| *read > 0)
            else {
                break;
            };
            read_in_all += read;
            self.lines.push(&chunk[..read]);
            while let Some(line) = self.lines.pop() {
                self.buffer.stage(line);
            }
        }
        while let Some(line) = self.lines.pop() {
            self.buffer.stage(line);
        }
        if let Some(line) = self.lines.finish() {
            self.buffer.stage(line);
        }
        self.flush_buffer(now);
        let mut read_in_all = 0;
        while read_in_all < LAST_WORDS_BYTES {
            let Some(read) = read_some(self.agent.stderr.as_mut(), &mut chunk).filter(|read| *read > 0)
            else {
                break;
            };
            read_in_all += read;
            self.stderr.push(&chunk[..read]);
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

    fn send_lines(&mut self, now: Instant) {
        let sent = self.try_send_lines();
        if sent.is_err() {
            self.lose_hub(now);
        }
    }

    fn try_send_lines(&mut self) -> Result<(), LinkError> {
        let Some(hub) = &mut self.hub else { return Ok(()) };
        hub.link.flush()?;
        while let Some((budget, out)) = hub.link.room_for_lines() {
            if !self.buffer.read(&mut hub.cursor, budget, out)? {
                break;
            }
            hub.link.flush()?;
        }
        let all_sent = hub.cursor.line == self.buffer.next();
        if let Some(exit) = &self.exited
            && !hub.exit_told
            && all_sent
        {
            hub.exit_told = true;
            hub.link.send(&ToHub::Exited(exit.clone()))?;
            hub.link.flush()?;
        }
        Ok(())
    }

    fn may_go(&mut self, now: Instant) -> bool {
        let gone = self.exited.is_some() && self.agent.is_over();
        let (Some(end), true) = (&self.end, gone) else { return false };
        if self.buffer.all_acked() || end.discard {
            let Some(hub) = &self.hub else { return true };
            let by = *self.leave_by.get_or_insert(now + FAREWELL);
            return (hub.exit_told && hub.link.unsent() == 0) || now >= by;
        }
        false
    }

    /// When a holder without a hub and without an open question gives up. An agent that has ended asks nothing.
    fn linger_ends(&self) -> Option<Instant> {
        let held = self.open_questions > 0 && self.exited.is_none();
        self.alone_since.filter(|_| !held).map(|since| since + self.spec.limits.linger())
    }

    /// When `proceed` is to be called at the latest.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let linger = self.linger_ends().filter(|_| self.end.is_none());
        let disk = self.disk_again.as_ref().map(|(again, _)| *again);
        [self.agent.wake_at(), linger, disk, self.leave_by].into_iter().flatten().min()
    }

    pub(super) fn status(&self) -> StatusReport {
        StatusReport {
            version: PROTOCOL_VERSION,
            holder_pid: own_pid(),
            agent_pid: self.agent.pid,
            exited: self.agent.exit().is_some(),
            hub_attached: self.hub.is_some(),
            first_line: self.buffer.first(),
            next_line: self.buffer.next(),
            acked_line: self.buffer.acked(),
            buffered_bytes: self.buffer.bytes(),
            buffer_limit: self.buffer.limit(),
            queued_write_bytes: self.writes.bytes() as u64,
            deliveries: self.journal.len() as u64,
            open_questions: self.open_questions,
            paused: self.agent.stdout.is_some() && !self.wants_lines(),
            buffer_error: self.disk_again.as_ref().map(|(_, error)| error.clone()),
        }
    }
}

impl Hub {
    pub(super) fn stream(&self) -> &UnixStream {
        &self.link.stream
    }
}

/// One read; `None`: nothing now, or no such pipe. An error is the end of the pipe.
fn read_some(pipe: Option<&mut impl Read>, chunk: &mut [u8]) -> Option<usize> {
    match pipe?.read(chunk) {
        Ok(read) => Some(read),
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) =>
        {
            None
        }
        Err(_) => Some(0),
    }
}

pub(super) fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
