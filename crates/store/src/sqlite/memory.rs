//! What is kept in memory beside the file: never more than what is stored, and never older than what a caller was told.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askd_core::{QuestionId, Seq, SessionId};

use super::growth::Growth;
use super::transcripts::AskedAt;
use crate::Record;
use crate::log::Tail;

/// Bytes of questions in memory: hundreds of them, for those who answer at once.
const UNDER_WAY_BYTES: usize = 1 << 20;

pub(super) struct Memory {
    /// Whether the database has all that anybody was told: then it can be read beside the writer.
    is_folded: AtomicBool,
    pub(super) tail: Tail,
    pub(super) growth: Growth,
    pub(super) under_way: UnderWay,
}

impl Memory {
    pub(super) fn starting_after(newest: Seq) -> Self {
        let is_folded = AtomicBool::new(true);
        Self {
            is_folded,
            tail: Tail::starting_after(newest),
            growth: Growth::default(),
            under_way: UnderWay::default(),
        }
    }

    pub(super) fn is_folded(&self) -> bool {
        self.is_folded.load(Ordering::Acquire)
    }

    pub(super) fn set_folded(&self, is_folded: bool) {
        self.is_folded.store(is_folded, Ordering::Release);
    }
}

/// Questions that agents asked lately and that are open, or whose answers have not arrived, or whose end is not folded yet: whoever
/// answers one, or hears of it, need not wait for the disk to learn what was asked.
#[derive(Default)]
pub(super) struct UnderWay {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// With their places in the order.
    questions: HashMap<QuestionId, (u64, Known)>,
    /// Oldest first.
    order: BTreeMap<u64, QuestionId>,
    next_place: u64,
    bytes: usize,
    /// Those that are over, with their places, which grow.
    over: VecDeque<(u64, QuestionId)>,
    /// What sessions call the questions that the database may not have yet, with the places of that.
    names: HashMap<Name, (u64, QuestionId)>,
}

/// A session, and what it calls a question.
pub(super) type Name = (SessionId, String);

/// What a commit does to a question.
pub(super) type Change = (QuestionId, News);

#[derive(Debug)]
pub(super) enum News {
    /// It was asked or changed, and stands like this.
    Stands(Box<Known>),
    /// Only the store is to know it.
    Stored,
    /// It was asked at another place, too.
    AskedAgain,
    /// A session calls it so, too.
    Named(Name),
}

#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) record: Record,
    /// The agent's own words.
    pub(super) native: Arc<str>,
    /// What was asked, as it is stored.
    pub(super) json: Arc<str>,
    /// Where it was asked in transcripts, if that is known.
    pub(super) asked_at: Option<Vec<AskedAt>>,
}

impl Known {
    fn name(&self) -> Option<Name> {
        let Record { question, native_id, .. } = &self.record;
        Some((question.ask.session_id.clone()?, native_id.clone()?))
    }

    fn bytes(&self) -> usize {
        self.native.len() + self.json.len()
    }
}

impl Kept {
    fn new_place(&mut self) -> u64 {
        self.next_place += 1;
        self.next_place
    }

    fn add(&mut self, id: QuestionId, known: Known) {
        self.remove(&id);
        self.bytes += known.bytes();
        let place = self.new_place();
        if !known.record.question.is_under_way() {
            self.over.push_back((place, id.clone()));
        }
        if let Some(name) = known.name() {
            self.names.insert(name, (place, id.clone()));
        }
        self.order.insert(place, id.clone());
        self.questions.insert(id, (place, known));
        while self.bytes > UNDER_WAY_BYTES
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.remove(&oldest);
        }
    }

    fn forget_places(&mut self, id: &QuestionId) {
        if let Some((_, known)) = self.questions.get_mut(id) {
            known.asked_at = None;
        }
    }

    fn remove(&mut self, id: &QuestionId) -> Option<Known> {
        let (place, known) = self.questions.remove(id)?;
        self.order.remove(&place);
        self.bytes -= known.bytes();
        Some(known)
    }
}

impl UnderWay {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that a commit has changed, in its order and at once: nobody sees what stood between two changes of it.
    pub(super) fn change(&self, changes: Vec<Change>) {
        let mut kept = self.kept();
        for (id, news) in changes {
            match news {
                News::Stands(known) => kept.add(id, *known),
                News::Stored => drop(kept.remove(&id)),
                News::AskedAgain => kept.forget_places(&id),
                News::Named(name) => {
                    kept.forget_places(&id);
                    let place = kept.new_place();
                    kept.names.insert(name, (place, id));
                }
            }
        }
    }

    /// The place of the newest change.
    pub(super) fn newest(&self) -> u64 {
        self.kept().next_place
    }

    /// The database has all changes up to this place: questions that were over then need not be kept.
    pub(super) fn folded(&self, through: u64) {
        let mut kept = self.kept();
        kept.names.retain(|_, (place, _)| *place > through);
        let folded = kept.over.partition_point(|(place, _)| *place <= through);
        for (place, id) in kept.over.drain(..folded).collect::<Vec<_>>() {
            // It may have changed since.
            if kept.questions.get(&id).is_some_and(|(newest, _)| *newest == place) {
                kept.remove(&id);
            }
        }
    }

    /// Until it is told anew, the store alone knows the question.
    pub(super) fn take(&self, id: &QuestionId) -> Option<Known> {
        self.kept().remove(id)
    }

    /// Where the question was asked is not known here any more.
    pub(super) fn forget_places(&self, id: &QuestionId) {
        self.kept().forget_places(id);
    }

    /// The question that its session calls so, if the database may not have it yet.
    pub(super) fn named(&self, session: &SessionId, native_id: &str) -> Option<QuestionId> {
        self.kept().names.get(&(session.clone(), native_id.to_owned())).map(|(_, id)| id.clone())
    }

    /// Where the question was asked, if that is known here.
    pub(super) fn asked_at(&self, id: &QuestionId) -> Option<Vec<AskedAt>> {
        self.kept().questions.get(id).and_then(|(_, known)| known.asked_at.clone())
    }

    pub(super) fn record(&self, id: &QuestionId) -> Option<Record> {
        self.kept().questions.get(id).map(|(_, known)| known.record.clone())
    }

    /// The agent's own words, if the question is known here.
    pub(super) fn native(&self, id: &QuestionId) -> Option<Arc<str>> {
        self.kept().questions.get(id).map(|(_, known)| Arc::clone(&known.native))
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
            ask: input.complete().unwrap().into(),
            status: Status::Requested,
            outcome: None,
            delivery: None,
            created_at: Timestamp::from_millis(0),
            seq: 1,
            failed_tries: Vec::new(),
            road: None,
            agent_times_out_at: None,
        };
        let record = Record { question, asker: None, source: None, native_id: None };
        Known { record, native: "{}".into(), json: "x".repeat(bytes).into(), asked_at: None }
    }

    fn stands(known: Known) -> News {
        News::Stands(Box::new(known))
    }

    #[test]
    fn the_newest_are_kept_as_far_as_the_room_goes() {
        let memory = UnderWay::default();
        let add = |known: Known| memory.change(vec![(known.record.question.id.clone(), stands(known))]);
        let is_known = |n| memory.record(&QuestionId::from_bits(n)).is_some();
        for n in 1..=3 {
            add(known(n, UNDER_WAY_BYTES / 3));
        }
        assert!(!is_known(1) && is_known(2) && is_known(3));
        assert_eq!(memory.native(&QuestionId::from_bits(2)).as_deref(), Some("{}"));
        assert!(memory.take(&QuestionId::from_bits(2)).is_some());
        assert!(!is_known(2) && is_known(3));
        add(known(4, UNDER_WAY_BYTES / 3));
        add(known(4, UNDER_WAY_BYTES / 3));
        assert!(is_known(3) && is_known(4), "what was taken makes room, and so does what is told anew");
        add(known(5, UNDER_WAY_BYTES + 1));
        assert!(!is_known(4) && !is_known(5), "too large for here");
    }

    #[test]
    fn what_was_forgotten_leaves_nothing_behind() {
        let memory = UnderWay::default();
        memory.change(vec![(QuestionId::from_bits(1), stands(known(1, 10)))]);
        for n in 2..100 {
            let id = QuestionId::from_bits(n);
            memory.change(vec![(id.clone(), stands(known(n, 10))), (id.clone(), stands(known(n, 20)))]);
            memory.change(vec![(id, News::Stored)]);
        }
        let kept = memory.kept();
        let first = known(1, 10).bytes();
        assert_eq!((kept.questions.len(), kept.order.len(), kept.bytes), (1, 1, first));
    }
}
