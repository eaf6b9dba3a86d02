//! The hub's side of a holder: which connection is the hub, its commands, and its answers. In: greetings and
//! messages. Out: answers, and the agent's lines in order, as fast as the hub reads them.

use std::time::{Duration, Instant};

use super::{
    super::{
        backlog::Cursor,
        folder::ExitWhy,
        journal::Completed,
        link::{Link, LinkError},
        protocol::{
            End, Hello, PROTOCOL_VERSION, ProbeResult, Refusal, StatusReport, ToHolder, ToHub, Welcome,
            Written, agree,
        },
    },
    Holding, Hub, own_pid,
};

impl Holding {
    /// A connection has sent `Hello`: it becomes the hub in place of an earlier one. A refused one learns
    /// why.
    pub(in super::super) fn greet(&mut self, mut link: Link, hello: &Hello) {
        let next_line = self.backlog.next();
        let agreed = agree(hello).and_then(|version| {
            if hello.after >= next_line {
                return Err(Refusal::AfterTheEnd { after: hello.after, next_line });
            }
            Ok(version)
        });
        let version = match agreed {
            Ok(version) => version,
            Err(refusal) => {
                let _ = link.send(&ToHub::Refused(refusal));
                link.flush();
                return;
            }
        };
        if let Some(mut older) = self.hub.take() {
            let _ = older.link.send(&ToHub::Replaced);
            older.link.flush();
        }
        link.greeted();
        self.connection += 1;
        self.alone_since = None;
        let first_line = self.backlog.first();
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

    pub(in super::super) fn lose_hub(&mut self, now: Instant) {
        if self.hub.take().is_some() {
            self.alone_since = Some(now);
        }
    }

    pub(super) fn tell(&mut self, message: &ToHub) {
        let told = self.hub.as_mut().map_or(Ok(()), |hub| hub.link.send(message));
        if told.is_err() {
            self.lose_hub(Instant::now());
        }
    }

    /// Handles one message of the hub. Bytes for the agent wait for `write_to_agent`.
    pub(in super::super) fn hear(&mut self, message: ToHolder, now: Instant) {
        match message {
            // A second greeting on the same connection cannot be trusted.
            ToHolder::Hello(_) => self.lose_hub(now),
            ToHolder::Ack { through } => {
                let sent = self.hub.as_ref().map_or(0, |hub| hub.cursor.line - 1);
                // A remaining segment costs space, not lines.
                let _ = self.backlog.ack(through.min(sent));
            }
            ToHolder::Write { tag, delivery, bytes } => {
                let result = self.take_write(tag, delivery.clone(), bytes);
                if let Some(result) = result {
                    self.tell(&ToHub::Written(Written { tag, delivery, result }));
                }
            }
            ToHolder::Probe { delivery } => {
                self.write_to_agent();
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

    pub(super) fn send_lines(&mut self, now: Instant) {
        let sent = self.try_send_lines();
        if sent.is_err() {
            self.lose_hub(now);
        }
    }

    fn try_send_lines(&mut self) -> Result<(), LinkError> {
        let Some(hub) = &mut self.hub else { return Ok(()) };
        hub.link.flush();
        while let Some((budget, out)) = hub.link.room_for_lines() {
            if !self.backlog.read(&mut hub.cursor, budget, out)? {
                break;
            }
            hub.link.flush();
        }
        let all_sent = hub.cursor.line == self.backlog.next();
        if let Some(exit) = &self.exited
            && !hub.exit_told
            && all_sent
        {
            hub.exit_told = true;
            hub.link.send(&ToHub::Exited(exit.clone()))?;
            hub.link.flush();
        }
        Ok(())
    }

    pub(in super::super) fn status(&self) -> StatusReport {
        StatusReport {
            version: PROTOCOL_VERSION,
            holder_pid: own_pid(),
            agent_pid: self.agent.pid,
            exited: self.agent.exit().is_some(),
            hub_attached: self.hub.is_some(),
            first_line: self.backlog.first(),
            next_line: self.backlog.next(),
            acked_line: self.backlog.acked(),
            buffered_bytes: self.backlog.bytes(),
            buffer_limit: self.backlog.limit(),
            queued_write_bytes: self.writes.bytes() as u64,
            deliveries: self.journal.len() as u64,
            open_questions: self.open_questions,
            paused: self.agent.stdout.is_some() && !self.wants_lines(),
            buffer_error: self.disk_again.as_ref().map(|(_, error)| error.clone()),
        }
    }
}
