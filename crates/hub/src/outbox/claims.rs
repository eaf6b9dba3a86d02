//! The claims of deliveries that this hub's tasks hold, by this process's own clock.
//!
//! In: a task that holds the claim of a question, or is about to make it. Out: the questions with held
//! claims. A claim without a task, or one that is held too long, is lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use askd_core::QuestionId;

/// The most time to write one answer; after it, the claim counts as lost.
pub(super) const CLAIM_LIFE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Claims(Mutex<Held>);

#[derive(Default)]
struct Held {
    by_question: HashMap<QuestionId, Holding>,
    /// Batches that are being claimed; their questions are known only afterwards.
    batches: usize,
}

struct Holding {
    tasks: usize,
    until: Instant,
    /// The result of the write is unknown: the claim stays until its time ends.
    outlives_tasks: bool,
}

/// Holds the claim of one question until it is dropped.
pub(crate) struct Hold {
    claims: Arc<Claims>,
    question: QuestionId,
}

/// Holds a batch that is being claimed until it is dropped.
pub(super) struct Batch(Arc<Claims>);

impl Claims {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hold(self: &Arc<Self>, question: &QuestionId) -> Hold {
        let now = Instant::now();
        let fresh = || Holding { tasks: 0, until: now + CLAIM_LIFE, outlives_tasks: false };
        let mut held = self.held();
        let holding = held.by_question.entry(question.clone()).or_insert_with(fresh);
        if !holding.outlives_tasks || holding.until <= now {
            *holding = Holding { tasks: holding.tasks, ..fresh() };
        }
        holding.tasks += 1;
        Hold { claims: Arc::clone(self), question: question.clone() }
    }

    pub(super) fn batch(self: &Arc<Self>) -> Batch {
        self.held().batches += 1;
        Batch(Arc::clone(self))
    }

    /// The questions with held claims.
    pub(super) fn questions(&self) -> Vec<QuestionId> {
        let now = Instant::now();
        let mut held = self.held();
        held.by_question.retain(|_, holding| holding.tasks > 0 || now < holding.until);
        let in_time = held.by_question.iter().filter(|(_, holding)| now < holding.until);
        in_time.map(|(question, _)| question.clone()).collect()
    }

    pub(super) fn is_held(&self, question: &QuestionId) -> bool {
        let held = self.held();
        let holding = held.by_question.get(question);
        held.batches > 0 || holding.is_some_and(|holding| Instant::now() < holding.until)
    }
}

impl Hold {
    /// The claim stays, also without a task, until its time is over.
    pub(super) fn leave(self) {
        if let Some(holding) = self.claims.held().by_question.get_mut(&self.question) {
            holding.outlives_tasks = true;
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.claims.held();
        if let Some(holding) = held.by_question.get_mut(&self.question) {
            holding.tasks -= 1;
            if holding.tasks == 0 && !holding.outlives_tasks {
                held.by_question.remove(&self.question);
            }
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.0.held().batches -= 1;
    }
}
