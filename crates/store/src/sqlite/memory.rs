//! What is kept in memory beside the file: never more than what is stored, and never older than what a caller was told.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askd_core::{QuestionId, Seq};

use super::growth::Growth;
use crate::Record;
use crate::log::Tail;

/// Bytes of questions in memory: hundreds of them, for those who answer at once.
const UNDER_WAY_BYTES: usize = 1 << 20;

pub(super) struct Memory {
    pub(super) tail: Tail,
    pub(super) growth: Growth,
    pub(super) under_way: UnderWay,
}

impl Memory {
    pub(super) fn starting_after(newest: Seq) -> Self {
        Self { tail: Tail::starting_after(newest), growth: Growth::default(), under_way: UnderWay::default() }
    }
}

/// Questions that agents asked lately and that are open, or whose answers have not arrived: whoever answers one, or hears of it,
/// need not wait for the disk to learn what was asked.
#[derive(Default)]
pub(super) struct UnderWay {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    questions: HashMap<QuestionId, Known>,
    /// Oldest first; names of those that were forgotten since may be among them.
    order: VecDeque<QuestionId>,
    bytes: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) record: Record,
    /// The agent's own words.
    pub(super) native: Arc<str>,
    /// What was asked, as it is stored.
    pub(super) json: Arc<str>,
}

impl Known {
    fn bytes(&self) -> usize {
        self.native.len() + self.json.len()
    }
}

impl Kept {
    fn remove(&mut self, id: &QuestionId) -> Option<Known> {
        let known = self.questions.remove(id);
        self.bytes -= known.as_ref().map_or(0, Known::bytes);
        if self.questions.is_empty() {
            self.order.clear();
        }
        known
    }
}

impl UnderWay {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, known: Known) {
        let id = known.record.question.id.clone();
        let mut kept = self.kept();
        kept.remove(&id);
        kept.order.push_back(id.clone());
        kept.bytes += known.bytes();
        kept.questions.insert(id, known);
        while kept.bytes > UNDER_WAY_BYTES
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.remove(&oldest);
        }
    }

    /// Until it is added again, the store alone knows the question.
    pub(super) fn take(&self, id: &QuestionId) -> Option<Known> {
        self.kept().remove(id)
    }

    pub(super) fn record(&self, id: &QuestionId) -> Option<Record> {
        self.kept().questions.get(id).map(|known| known.record.clone())
    }

    /// The agent's own words, if the question is known here.
    pub(super) fn native(&self, id: &QuestionId) -> Option<Arc<str>> {
        self.kept().questions.get(id).map(|known| Arc::clone(&known.native))
    }
}

#[cfg(test)]
mod tests {
    use askd_core::{AskInput, Question, Status, Timestamp};

    use super::*;

    fn known(n: u128, bytes: usize) -> Known {
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
        let record = Record { question, asker: None, source: None, native_id: None };
        Known { record, native: "{}".into(), json: "x".repeat(bytes).into() }
    }

    #[test]
    fn the_newest_are_kept_as_far_as_the_room_goes() {
        let memory = UnderWay::default();
        let is_known = |n| memory.record(&QuestionId::from_bits(n)).is_some();
        for n in 1..=3 {
            memory.add(known(n, UNDER_WAY_BYTES / 3));
        }
        assert!(!is_known(1) && is_known(2) && is_known(3));
        assert_eq!(memory.native(&QuestionId::from_bits(2)).as_deref(), Some("{}"));
        assert!(memory.take(&QuestionId::from_bits(2)).is_some());
        assert!(!is_known(2) && is_known(3));
        memory.add(known(4, UNDER_WAY_BYTES / 3));
        memory.add(known(4, UNDER_WAY_BYTES / 3));
        assert!(is_known(3) && is_known(4), "what was taken makes room, and so does what is told anew");
        memory.add(known(5, UNDER_WAY_BYTES + 1));
        assert!(!is_known(4) && !is_known(5), "too large for here");
    }
}
