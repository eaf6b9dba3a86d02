//! Answers whose deciding key was pressed and whose effect is unknown.
//!
//! In: a terminal that has not reacted to the key. Out: the question opens again if the terminal reacts later
//! and its dialog remains. The transcript's report comes first. A hub that was restarted follows them again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askd_agents::claude_keys::Goal;
use askd_core::delivery::{Delivery, DeliveryInput};
use askd_core::{Question, QuestionId, Session};
use askd_store::StoreError;

use super::keys::{Decided, Leaves, NotTyped, Standing, decided_before};
use super::mouth::{HookMouth, not_typed, open_again};
use super::{HOOK, LocalAgents};
use crate::{EngineError, now};

/// How long a terminal that has not reacted to the deciding key is followed, and how often it is looked at.
const FOLLOWED: Duration = Duration::from_secs(3600);
const FOLLOWED_EVERY: Duration = Duration::from_secs(2);

impl LocalAgents {
    /// Follows again the terminals that an earlier hub has followed.
    pub(super) async fn resume_following(&self, session: &Session) -> Result<(), EngineError> {
        let is_in_doubt = |question: &Question| question.delivery.as_ref().is_some_and(Delivery::is_unknown);
        for question in self.newest_of(session).await?.into_iter().filter(is_in_doubt) {
            // A hook has no terminal to follow.
            if self.store().is_sighted(&question.id, HOOK).await? {
                continue;
            }
            let mouth = HookMouth::new(Arc::clone(&self.inner.observed), Arc::clone(self.store()));
            self.hub().tasks.spawn(mouth.follow_again(question.id));
        }
        Ok(())
    }
}

impl HookMouth {
    /// Follows a terminal until something is known, in a task of its own.
    pub(super) fn follow_on(self, decided: Decided, session: Session, id: QuestionId) {
        tokio::spawn(async move { note_error(self.follow(decided, &session, &id).await, &id) });
    }

    async fn follow_again(self, id: QuestionId) {
        note_error(self.try_to_follow_again(&id).await, &id);
    }

    /// The terminal may have reacted while no hub looked, so it is probed first.
    async fn try_to_follow_again(&self, id: &QuestionId) -> Result<(), StoreError> {
        let Some(delivery) = self.store.delivery(id).await? else { return Ok(()) };
        let Some(session) = self.asked_from(&delivery.question).await? else { return Ok(()) };
        let Ok(goal) = Goal::of(&delivery.question.ask, &delivery.settlement) else { return Ok(()) };
        let Ok(decided) = decided_before(&session, goal).await else { return Ok(()) };
        if let Standing::Gone = decided.look().await {
            return Ok(());
        }
        let error = {
            let Some(_keyboard) = self.observed.take_keyboard(&session.id) else { return Ok(()) };
            decided.probe().await
        };
        match error.leaves {
            Leaves::Open => self.not_taken(id, &error).await,
            Leaves::Hidden | Leaves::Unknown => self.follow(decided, &session, id).await,
        }
    }

    async fn follow(&self, decided: Decided, session: &Session, id: &QuestionId) -> Result<(), StoreError> {
        let until = Instant::now() + FOLLOWED;
        let text = loop {
            tokio::time::sleep(FOLLOWED_EVERY).await;
            if Instant::now() >= until || !self.awaits_evidence(id).await? {
                return Ok(());
            }
            if let Standing::Changed(text) = decided.look().await {
                break text;
            }
        };
        let _keyboard = self.observed.take_keyboard(&session.id);
        let error = decided.not_taken(text).await;
        self.not_taken(id, &error).await
    }

    /// The dialog remains: the question opens again, unless the transcript knows better.
    async fn not_taken(&self, id: &QuestionId, error: &NotTyped) -> Result<(), StoreError> {
        if !self.hears_of(id).await? && !self.was_told(id) {
            let undecided = DeliveryInput::Undecided { detail: open_again(&not_typed(error)) };
            self.store.step(id, undecided, now()).await?;
        }
        Ok(())
    }
}

fn note_error(done: Result<(), StoreError>, id: &QuestionId) {
    if let Err(error) = done {
        tracing::error!(%error, question = %id, "cannot note what became of an answer that was typed");
    }
}
