//! The way of an outcome to Claude Code's own terminal: the hook that waits comes and takes it.

use std::sync::Arc;

use async_trait::async_trait;

use askd_core::Settlement;
use askd_core::delivery::{FailReason, Redeliver};
use askd_store::ClaimedDelivery;

use super::{HookPresence, Observed};
use crate::engine::{Mouth, Said};

pub(super) struct HookMouth {
    observed: Arc<Observed>,
}

impl HookMouth {
    pub(super) fn new(observed: Arc<Observed>) -> Self {
        Self { observed }
    }
}

#[async_trait]
impl Mouth for HookMouth {
    /// A hook prints once and ends, and the program takes one decision per call: a second copy cannot do harm.
    fn redeliver(&self) -> Redeliver {
        Redeliver::Safe
    }

    async fn speak(&self, delivery: &ClaimedDelivery) -> Said {
        match self.observed.presence(&delivery.question.id) {
            // The hook's own request sees the outcome, prints it and says so; the claim ends with that word.
            HookPresence::Waits => Said::Unknown,
            HookPresence::Expected => {
                Said::NotNow("the hook in that terminal is not connected at this moment".to_owned())
            }
            HookPresence::Gone => Said::Failed { reason: FailReason::Refused, detail: unreachable(delivery) },
        }
    }

    async fn was_written(&self, _: &ClaimedDelivery) -> Option<bool> {
        None
    }
}

/// Says what a person can do with an answer that has no way to its agent.
fn unreachable(delivery: &ClaimedDelivery) -> String {
    let why =
        "no hook waits in that terminal: answer its dialog there, or send the answer as the next message";
    format!("{why}:\n{}", as_message(delivery))
}

/// The outcome as a person would type it.
fn as_message(delivery: &ClaimedDelivery) -> String {
    match &delivery.settlement {
        Settlement::Rejected { reason, .. } => {
            reason.clone().unwrap_or_else(|| "I do not want to answer that; go on without it.".to_owned())
        }
        Settlement::Answered(answer) => {
            let items = delivery.question.ask.questions.iter().zip(&answer.answers).enumerate();
            let lines = items.filter(|(_, (_, picks))| !picks.is_empty()).map(|(i, (item, picks))| {
                let note =
                    answer.notes.get(i).cloned().flatten().map_or(String::new(), |note| format!(" ({note})"));
                format!("{} {}{note}", item.question, picks.join("; "))
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}
