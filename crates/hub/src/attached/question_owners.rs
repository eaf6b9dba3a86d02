//! `QuestionOwners`: the source that reported a question, for servers with two channels: their port and their
//! plugin.
//!
//! In: a source and a native id. Out: true if the question belongs to that source. The first source keeps it
//! until it is released.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use askd_core::{Source, SourceId};

/// Remembered questions: more than can wait on the servers of one person.
const REMEMBERED: usize = 4096;

/// The agent and its own name of the question.
type Name = (String, String);

#[derive(Clone, Default)]
pub(crate) struct QuestionOwners(Arc<Mutex<Tellers>>);

#[derive(Default)]
struct Tellers {
    by: HashMap<Name, SourceId>,
    order: VecDeque<Name>,
}

impl QuestionOwners {
    /// True if no other source has reported the question.
    pub(crate) fn claim(&self, source: &Source, native_id: &str) -> bool {
        let mut tellers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (source.agent.clone(), native_id.to_owned());
        if let Some(teller) = tellers.by.get(&name) {
            return *teller == source.id;
        }
        if tellers.order.len() >= REMEMBERED
            && let Some(oldest) = tellers.order.pop_front()
        {
            tellers.by.remove(&oldest);
        }
        tellers.order.push_back(name.clone());
        tellers.by.insert(name, source.id.clone());
        true
    }

    /// Releases the questions of an ended source.
    pub(crate) fn release(&self, source: &SourceId) {
        let mut tellers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Tellers { by, order } = &mut *tellers;
        by.retain(|_, teller| teller != source);
        order.retain(|name| by.contains_key(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askd_core::{SourceState, Timestamp};

    fn source(bits: u128) -> Source {
        Source {
            id: SourceId::from_bits(bits),
            kind: "x".to_owned(),
            agent: "opencode".to_owned(),
            label: String::new(),
            state: SourceState::Connected,
            since: Timestamp::from_millis(0),
            last_error: None,
        }
    }

    #[test]
    fn the_first_road_tells_a_question_until_it_is_gone() {
        let (told, port, plugin) = (QuestionOwners::default(), source(1), source(2));
        assert!(told.claim(&port, "que_1"));
        assert!(told.claim(&port, "que_1"), "the same again is the same");
        assert!(!told.claim(&plugin, "que_1"));
        assert!(told.claim(&plugin, "que_2"));
        told.release(&port.id);
        assert!(told.claim(&plugin, "que_1"));
        assert!(!told.claim(&port, "que_2"));
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let (told, port) = (QuestionOwners::default(), source(1));
        (0..=REMEMBERED).for_each(|n| assert!(told.claim(&port, &n.to_string())));
        assert!(told.claim(&source(2), "0"), "the oldest is forgotten");
        assert!(!told.claim(&source(2), "9"));
    }
}
