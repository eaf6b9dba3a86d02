//! Names of questions. An agent may use an id again after its request is answered; in the store, a name is
//! one question.
//!
//! In: a question with its native id, and the line that asks it. Out: the name to store: the native id, or,
//! if an earlier question has it, the native id with the number of the line. A line that is read twice gives
//! the same name twice.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use askd_agents::Asked;
use askd_core::SessionId;

use super::attendant::Attendant;
use crate::EngineError;

/// Names of one generation. Two generations are remembered, so that an ordinary question needs no look into
/// the store.
const MAX_NAMES: usize = 1 << 15;

#[derive(Debug, Default)]
pub(crate) struct Names {
    /// By their hashes, those before the newest generation too: two that share one only cost a look into the
    /// store.
    used: HashSet<u64>,
    used_before: HashSet<u64>,
    hasher: RandomState,
    /// True if the store may know other names.
    is_incomplete: bool,
    /// Lines up to this number may have been read before.
    heard_through: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Used {
    Never,
    /// By an earlier hub, or by this one long ago: the store would know.
    Perhaps,
    /// Used, perhaps by a question that is not stored yet.
    Lately,
}

impl Names {
    /// An earlier hub may have read more.
    pub(super) fn set_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    pub(crate) fn may_repeat(&self, line: u64) -> bool {
        line <= self.heard_through
    }

    /// Marks this name as used, and returns whether it was used before.
    fn use_name(&mut self, session: &SessionId, name: &str) -> Used {
        let hash = self.hasher.hash_one((session, name));
        if self.used_before.contains(&hash) || !self.used.insert(hash) {
            return Used::Lately;
        }
        let used = if self.is_incomplete { Used::Perhaps } else { Used::Never };
        if self.used.len() == MAX_NAMES {
            self.is_incomplete |= !self.used_before.is_empty();
            self.used_before = std::mem::take(&mut self.used);
        }
        used
    }
}

impl Attendant {
    /// Finds the lines up to `newest` that may have been read before. The transcript of a session, or the
    /// stream of a server, has every such line: it is stored with its question, or before it. A later line is
    /// new, even if its bytes repeat an earlier one.
    pub(super) async fn recall_lines(&mut self, newest: u64) -> Result<(), EngineError> {
        let store = &self.hub.store;
        let stored = match &self.relay {
            _ if newest == 0 => 0,
            Some(relay) => relay.own_line(store.last_line(&relay.server.stream).await?),
            None => {
                let mut last = store.last_line(&self.main.id).await?;
                for session in self.sessions.values().filter(|session| **session != self.main.id) {
                    last = last.max(store.last_line(session).await?);
                }
                last
            }
        };
        self.names.heard_through = newest.min(stored);
        Ok(())
    }

    /// Renames the question if a settled question already uses this native id. Returns true if the native id
    /// is certainly new.
    pub(crate) async fn name_question(
        &mut self,
        asked: &mut Asked,
        line: Option<u64>,
    ) -> Result<bool, EngineError> {
        let Some(line) = line.filter(|_| !self.questions.contains_key(&asked.native_id)) else {
            return Ok(false);
        };
        let session = self.session_of(asked.native_session.as_deref());
        let used = self.names.use_name(&session, &asked.native_id);
        if used == Used::Never
            || used == Used::Perhaps
                && self.hub.store.question_by_native(&session, &asked.native_id).await?.is_none()
        {
            return Ok(used == Used::Never);
        }
        self.save().await?;
        let store = &self.hub.store;
        let known = store.question_by_native(&session, &asked.native_id).await?;
        let Some(earlier) = known.filter(|known| !known.question.is_open()) else { return Ok(false) };
        if self.names.may_repeat(line)
            && store.native(&earlier.question.id).await?.as_deref() == Some(asked.native.get())
        {
            return Ok(false);
        }
        let name = format!("{}~{line}", asked.native_id);
        if self.codec.rename(&asked.native_id, &name) {
            self.names.use_name(&session, &name);
            asked.native_id = name;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_asked_only_for_names_that_it_may_know() {
        let (mut names, session) = (Names::default(), SessionId::from_bits(1));
        let mut used = |n: usize| names.use_name(&session, &n.to_string());
        assert_eq!((used(0), used(0)), (Used::Never, Used::Lately));
        for n in 1..2 * MAX_NAMES {
            assert_eq!(used(n), Used::Never);
        }
        assert_eq!(used(0), Used::Perhaps, "forgotten by now");
        assert_eq!(used(MAX_NAMES + 1), Used::Lately);
        assert_eq!(used(2 * MAX_NAMES), Used::Perhaps, "what is forgotten makes the rest unsure");
    }
}
