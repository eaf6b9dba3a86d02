//! The names of an agent's questions. An agent may use an id again once its request is answered; in the store a name is one question.
//!
//! In: a question under the agent's own name, and the line that asks it. Out: the name under which it is stored: the agent's own,
//! or that with the number of the line where an earlier question has it. A line that is heard twice gives the same name twice.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use askd_adapters::Asked;
use askd_core::SessionId;

use super::attendant::Attendant;
use crate::engine::EngineError;

/// Names that are remembered, so that an ordinary question needs no look into the store; beyond that it is asked.
const MAX_NAMES: usize = 1 << 16;

#[derive(Debug, Default)]
pub(super) struct Names {
    /// By their hashes: two that share one only cost a look into the store.
    used: HashSet<u64>,
    hasher: RandomState,
    /// Whether the store may know names that are not among them.
    is_incomplete: bool,
    /// Lines up to this one may have been heard before.
    heard_through: u64,
}

impl Names {
    /// An earlier hub, or this one long ago, may have heard more.
    pub(super) fn set_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    pub(super) fn may_repeat_through(&mut self, line: u64) {
        self.heard_through = line;
    }

    pub(super) fn may_repeat(&self, line: u64) -> bool {
        line <= self.heard_through
    }

    /// Whether this name was surely never used before; from now on it is.
    fn is_new(&mut self, session: &SessionId, name: &str) -> bool {
        if self.used.len() == MAX_NAMES {
            self.used.clear();
            self.is_incomplete = true;
        }
        self.used.insert(self.hasher.hash_one((session, name))) && !self.is_incomplete
    }
}

impl Attendant {
    /// Gives a question another name where an earlier one that is over has the agent's own.
    pub(in crate::engine) async fn name_question(
        &mut self,
        asked: &mut Asked,
        line: Option<u64>,
    ) -> Result<(), EngineError> {
        let Some(line) = line.filter(|_| !self.questions.contains_key(&asked.native_id)) else {
            return Ok(());
        };
        let session = self.session_of(asked.native_session.as_deref());
        if self.names.is_new(&session, &asked.native_id) {
            return Ok(());
        }
        self.save().await?;
        let store = self.engine.store();
        let known = store.question_by_native(&session, &asked.native_id).await?;
        let Some(earlier) = known.filter(|known| !known.question.is_open()) else { return Ok(()) };
        if self.names.may_repeat(line)
            && store.native(&earlier.question.id).await?.as_deref() == Some(asked.native.get())
        {
            return Ok(());
        }
        let name = format!("{}~{line}", asked.native_id);
        if self.codec.rename(&asked.native_id, &name) {
            asked.native_id = name;
        }
        Ok(())
    }
}
