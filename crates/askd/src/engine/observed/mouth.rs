//! The way of an outcome to Claude Code's own terminal: the hook that waits comes and takes it; where there is none it may be typed.

use std::sync::Arc;

use async_trait::async_trait;

use askd_adapters::agents::claude_keys::Goal;
use askd_core::delivery::{FailReason, Redeliver};
use askd_store::{ClaimedDelivery, Store, StoreError};

use super::keys::type_answer;
use super::road::{is_told, may_type};
use super::{HOOK, HookPresence, Observed};
use crate::engine::late::as_message;
use crate::engine::{Mouth, Said};

pub(super) struct HookMouth {
    observed: Arc<Observed>,
    store: Arc<dyn Store>,
}

impl HookMouth {
    pub(super) fn new(observed: Arc<Observed>, store: Arc<dyn Store>) -> Self {
        Self { observed, store }
    }

    /// Types the answer where that is allowed and can be done.
    async fn type_it(&self, delivery: &ClaimedDelivery) -> Result<Said, StoreError> {
        let question = &delivery.question;
        let session = match &question.ask.session_id {
            Some(id) => self.store.session(id).await?,
            None => None,
        };
        let is_hooked = self.store.is_sighted(&question.id, HOOK).await?;
        let Some(session) = session.filter(|session| may_type(session, is_hooked)) else {
            return Ok(refused("no hook waits in that terminal", delivery));
        };
        let is_told = question.outcome.as_ref().is_some_and(|outcome| is_told(outcome.by.surface));
        if !session.tmux && !is_told {
            let why = "no hook waits in that terminal; answers from the page are typed there only after";
            return Ok(refused(&format!("{why} `askd tmux {}`", session.id), delivery));
        }
        let goal = match Goal::of(&question.ask, &delivery.settlement) {
            Ok(goal) => goal,
            Err(error) => {
                return Ok(refused(&format!("no hook waits in that terminal, and {error}"), delivery));
            }
        };
        let Some(_keyboard) = self.observed.take_keyboard(&session.id) else {
            return Ok(Said::NotNow("another answer is being typed into that terminal".to_owned()));
        };
        Ok(match type_answer(&session, goal).await {
            Ok(()) => Said::Written,
            // A hook has come after all, and brings it.
            Err(_) if !is_hooked && self.store.is_sighted(&question.id, HOOK).await? => Said::Unknown,
            Err(error) => {
                let why =
                    format!("no hook waits in that terminal, and it was not typed there: {}", error.detail());
                Said::Failed { reason: error.reason, detail: with_message(&why, delivery) }
            }
        })
    }
}

#[async_trait]
impl Mouth for HookMouth {
    /// A hook prints once and ends, and the program takes one decision per call: a second copy cannot do harm. Keys are pressed only
    /// where the question is still on the screen.
    fn redeliver(&self) -> Redeliver {
        Redeliver::Safe
    }

    async fn speak(&self, delivery: &ClaimedDelivery) -> Said {
        match self.observed.presence(&delivery.question) {
            // The hook's own request sees the outcome, prints it and says so; the claim ends with that word.
            HookPresence::Waits => Said::Unknown,
            HookPresence::Expected => {
                Said::NotNow("the hook in that terminal is not connected at this moment".to_owned())
            }
            HookPresence::Gone => {
                self.type_it(delivery).await.unwrap_or_else(|error| Said::NotNow(error.to_string()))
            }
        }
    }

    async fn was_written(&self, _: &ClaimedDelivery) -> Option<bool> {
        None
    }
}

fn refused(why: &str, delivery: &ClaimedDelivery) -> Said {
    Said::Failed { reason: FailReason::Refused, detail: with_message(why, delivery) }
}

/// Says what a person can do with an answer that has no way to its agent.
fn with_message(why: &str, delivery: &ClaimedDelivery) -> String {
    match as_message(&delivery.question, &delivery.settlement) {
        Some(text) => {
            format!("{why}.\nAnswer its dialog there, or send the answer as the next message:\n{text}")
        }
        None => format!("{why}.\nAnswer its dialog there"),
    }
}
