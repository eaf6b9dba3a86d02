//! The way of an outcome to Claude Code's own terminal: the hook that waits comes and takes it; where there is none it may be typed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use askd_adapters::agents::claude::Takes;
use askd_adapters::agents::claude_hook::decision;
use askd_adapters::agents::claude_keys::Goal;
use askd_core::delivery::{FailReason, Redeliver};
use askd_core::{Question, Settlement};
use askd_store::{ClaimedDelivery, Store, StoreError};

use super::identity::of_native;
use super::keys::type_answer;
use super::road::{is_told, may_type};
use super::{COMES_WITHIN, HOOK, HookPresence, Observed};
use crate::engine::late::as_message;
use crate::engine::{Carried, Mouth, Said};

/// Between two looks whether a hook has come.
const LOOK: Duration = Duration::from_millis(100);

pub(super) struct HookMouth {
    observed: Arc<Observed>,
    store: Arc<dyn Store>,
}

impl HookMouth {
    pub(super) fn new(observed: Arc<Observed>, store: Arc<dyn Store>) -> Self {
        Self { observed, store }
    }

    /// Whether the decision of a hook can be this outcome.
    async fn by_hook(&self, question: &Question, settlement: &Settlement) -> Result<Carried, StoreError> {
        let native = self.store.native(&question.id).await?.unwrap_or_default();
        let Some((tool, input)) = of_native(&native) else { return Ok(Carried::Yes) };
        // What else a version takes changes the form of a decision, and not whether there is one.
        let takes = Takes { notes: false, nothing: false };
        Ok(match decision(tool, &input, takes, settlement) {
            Ok(_) => Carried::Yes,
            Err(error) => Carried::No(error.to_string()),
        })
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

    async fn carries(&self, question: &Question, settlement: &Settlement) -> Result<Carried, StoreError> {
        let by_hook = self.by_hook(question, settlement).await?;
        let Err(why) = Goal::of(&question.ask, settlement) else { return Ok(by_hook) };
        let until = Instant::now() + COMES_WITHIN;
        let is_hooked = loop {
            let is_hooked = self.store.is_sighted(&question.id, HOOK).await?;
            match self.observed.presence(question) {
                HookPresence::Waits => return Ok(by_hook),
                HookPresence::Expected if is_hooked => return Ok(by_hook),
                // A hook may come in a moment: then there is a road.
                HookPresence::Expected if Instant::now() < until => tokio::time::sleep(LOOK).await,
                HookPresence::Expected | HookPresence::Gone => break is_hooked,
            }
        };
        let session = match &question.ask.session_id {
            Some(id) => self.store.session(id).await?.filter(|session| may_type(session, is_hooked)),
            None => None,
        };
        let Some(session) = session else { return Ok(Carried::Yes) };
        // Where nothing can be typed at all, the answer is kept for the person to send.
        Ok(match self.observed.can_type(&session).await {
            true => Carried::No(format!(
                "no hook waits in that terminal, so an answer is typed into its dialog, and {why}. Answer differently, or in the terminal"
            )),
            false => Carried::Yes,
        })
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
