//! The agent's input: writes and deliveries. In: the hub's bytes for the agent. Out: bytes in its `stdin`,
//! each delivery at most once, and the result of each.

use super::{
    super::{
        journal::{Journaled, MAX_DELIVERIES},
        protocol::{ToHolder, ToHub, WriteResult, Written},
        stdin::{Finished, Pending},
    },
    Holding,
};

impl Holding {
    /// Queues a write for `write_to_agent`; the answer, if it can be given at once.
    pub(super) fn take_write(
        &mut self,
        tag: u64,
        delivery: Option<String>,
        bytes: bytes::Bytes,
    ) -> Option<WriteResult> {
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

    pub(in super::super) fn write_to_agent(&mut self) {
        let Some(stdin) = &mut self.agent.stdin else { return };
        let finished = self.writes.write_to(stdin);
        if finished.iter().any(|write| write.failure.is_some()) {
            self.agent.stdin = None;
        }
        self.finish_writes(finished);
    }

    fn finish_writes(&mut self, finished: Vec<Finished>) {
        let ended = finished
            .iter()
            .filter_map(|ended| Some((ended.write.delivery.as_deref()?, ended.failure.as_deref())));
        // If the disk does not take it the memory knows it, and a successor finds "unknown".
        let _ = self.journal.end(ended);
        for Finished { write, failure } in finished {
            let Pending { connection, tag, delivery, .. } = write;
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

    pub(super) fn close_stdin(&mut self, reason: &str) {
        if self.agent.stdin.take().is_some() {
            let finished = self.writes.fail_all(reason);
            self.finish_writes(finished);
        }
    }
}
