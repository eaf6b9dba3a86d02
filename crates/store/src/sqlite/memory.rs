//! What is kept in memory beside the file: never more than what is stored, and never older than what a caller was told.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use askd_core::{QuestionId, Seq};

use super::growth::Growth;
use crate::Record;
use crate::log::Tail;

/// Bytes of open questions in memory: hundreds of them, for those who answer at once.
const FRESH_BYTES: usize = 1 << 20;

pub(super) struct Memory {
    pub(super) tail: Tail,
    pub(super) growth: Growth,
    pub(super) fresh: Fresh,
}

impl Memory {
    pub(super) fn starting_after(newest: Seq) -> Self {
        Self { tail: Tail::starting_after(newest), growth: Growth::default(), fresh: Fresh::default() }
    }
}

/// Open questions that agents asked lately: whoever answers one need not wait for the disk to learn what was asked.
#[derive(Default)]
pub(super) struct Fresh {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    questions: HashMap<QuestionId, Known>,
    /// Oldest first; names of those that were forgotten since may be among them.
    order: VecDeque<QuestionId>,
    bytes: usize,
}

struct Known {
    record: Record,
    native: String,
    bytes: usize,
}

impl Kept {
    fn remove(&mut self, id: &QuestionId) {
        if let Some(known) = self.questions.remove(id) {
            self.bytes -= known.bytes;
        }
        if self.questions.is_empty() {
            self.order.clear();
        }
    }
}

impl Fresh {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A question was asked; `bytes` is the size of what was asked.
    pub(super) fn add(&self, record: Record, native: String, bytes: usize) {
        let bytes = bytes + native.len();
        let id = record.question.id.clone();
        let mut kept = self.kept();
        kept.order.push_back(id.clone());
        kept.bytes += bytes;
        kept.questions.insert(id, Known { record, native, bytes });
        while kept.bytes > FRESH_BYTES
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.remove(&oldest);
        }
    }

    /// A question changes: the store alone knows it from now on.
    pub(super) fn forget(&self, id: &QuestionId) {
        self.kept().remove(id);
    }

    pub(super) fn record(&self, id: &QuestionId) -> Option<Record> {
        self.kept().questions.get(id).map(|known| known.record.clone())
    }

    /// The agent's own words, if the question is known here.
    pub(super) fn native(&self, id: &QuestionId) -> Option<String> {
        self.kept().questions.get(id).map(|known| known.native.clone())
    }
}

#[cfg(test)]
mod tests {
    use askd_core::{AskInput, Question, Status, Timestamp};

    use super::*;

    fn record(n: u128) -> Record {
        let input: AskInput = serde_json::from_str(r#"{"questions":[{"question":"Which?"}]}"#).unwrap();
        let question = Question {
            id: QuestionId::from_bits(n),
            ask: input.complete().unwrap(),
            status: Status::Requested,
            outcome: None,
            delivery: None,
            created_at: Timestamp::from_millis(0),
            seq: 1,
            road: None,
        };
        Record { question, asker: None, source: None, native_id: None }
    }

    #[test]
    fn the_newest_are_kept_as_far_as_the_room_goes() {
        let fresh = Fresh::default();
        let known = |n| fresh.record(&QuestionId::from_bits(n)).is_some();
        for n in 1..=3 {
            fresh.add(record(n), "{}".to_owned(), FRESH_BYTES / 3);
        }
        assert!(!known(1) && known(2) && known(3));
        assert_eq!(fresh.native(&QuestionId::from_bits(2)), Some("{}".to_owned()));
        fresh.forget(&QuestionId::from_bits(2));
        assert!(!known(2) && known(3));
        fresh.add(record(4), String::new(), FRESH_BYTES / 3);
        assert!(known(3) && known(4), "what was forgotten makes room");
        fresh.add(record(5), String::new(), FRESH_BYTES + 1);
        assert!(!known(4) && !known(5), "too large for here");
    }
}
