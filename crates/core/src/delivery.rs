//! The way of an outcome back to its agent, as a pure function: queued, sent, confirmed or failed.
//!
//! In: a [`Delivery`] and a [`DeliveryInput`]. Out: the next `Delivery`, or `None` if nothing changes. Only
//! evidence from the agent makes `confirmed`. After a crash the adapter's [`Redeliver`] decides, never a
//! guess.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Pause before the first retry of a write. Each retry doubles it, up to `RETRY_LONGEST_MS`.
const RETRY_FIRST_MS: i64 = 250;
const RETRY_LONGEST_MS: i64 = 30_000;

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// Stored, not yet written to the agent.
    Queued,
    /// Written to the agent.
    Sent,
    /// The agent visibly continued with it.
    Confirmed,
    Failed,
}

impl DeliveryState {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Confirmed => "confirmed",
            Self::Failed => "failed",
        }
    }
}

/// The reason of a failed delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailReason {
    /// The agent took another answer first, in its own user interface.
    Overtaken,
    /// askd cannot know whether the agent received it, and does not risk a second answer.
    Unknown,
    /// The agent ended after the write, or while a worker was writing, before it showed that it had read the
    /// answer.
    Unconfirmed,
    /// The agent ended before the write.
    AgentGone,
    /// The agent refused it.
    Refused,
    /// The call had ended; a person sent the answer as a message of the conversation instead.
    SentAsMessage,
}

/// A failed delivery's reason, with a detail for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryError {
    pub reason: FailReason,
    pub detail: Option<String>,
}

/// The way of one outcome back to its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    pub state: DeliveryState,
    pub attempts: u32,
    pub error: Option<DeliveryError>,
    pub at: Timestamp,
}

/// An adapter's declaration about writing an answer twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Redeliver {
    /// A second copy does no harm.
    Safe,
    /// The adapter can find out whether the first copy was written.
    Probe,
    /// The adapter can neither find out nor risk a second copy.
    Never,
}

/// An event in the life of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryInput {
    /// A worker claimed it and is about to write it.
    Claimed,
    /// The agent has the bytes.
    Written,
    /// The agent continued with it.
    Confirmed,
    /// The link certainly did not write it; try again later.
    NotWritten { detail: String },
    /// The agent did not receive it, has decided nothing and still waits: the question opens again.
    Undecided { detail: String },
    /// No retry can deliver it.
    Failed { reason: FailReason, detail: Option<String> },
    /// The worker that had claimed it has stopped. `written` is the result of a probe, if the adapter has
    /// one.
    ClaimLost { redeliver: Redeliver, written: Option<bool> },
    /// The agent, its session or its source has ended.
    AgentGone { detail: Option<String> },
    /// A person sent the answer as a message instead, which is possible once.
    SentAsMessage { detail: Option<String> },
}

impl Delivery {
    /// A new delivery.
    pub fn queued(at: Timestamp) -> Self {
        Self { state: DeliveryState::Queued, attempts: 0, error: None, at }
    }

    /// True while the delivery still has to be written or confirmed.
    pub fn is_pending(&self) -> bool {
        matches!(self.state, DeliveryState::Queued | DeliveryState::Sent)
    }

    /// True while evidence from the agent can still change the state.
    pub fn awaits_evidence(&self) -> bool {
        let doubtful = |error: &DeliveryError| {
            matches!(error.reason, FailReason::Unknown | FailReason::Unconfirmed | FailReason::Refused)
        };
        self.is_pending() || self.error.as_ref().is_some_and(doubtful)
    }

    /// True if it failed and, as far as askd can know, the agent has no answer at all.
    pub fn is_unsaid(&self) -> bool {
        let said =
            |error: &DeliveryError| matches!(error.reason, FailReason::Overtaken | FailReason::SentAsMessage);
        self.state == DeliveryState::Failed && !self.error.as_ref().is_some_and(said)
    }

    /// True if a worker has claimed it and has not reported that it wrote nothing.
    fn may_be_written(&self) -> bool {
        self.attempts > 0 && self.error.is_none()
    }

    /// True if it failed with an unknown result: the agent may have the answer, or may still wait.
    pub fn is_unknown(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.reason == FailReason::Unknown)
    }

    /// The pause before the next attempt, in milliseconds.
    pub fn retry_pause(&self) -> i64 {
        let doublings = self.attempts.saturating_sub(1).min(16);
        (RETRY_FIRST_MS << doublings).min(RETRY_LONGEST_MS)
    }

    /// The delivery after `input`, or `None` if `input` changes nothing.
    pub fn after(&self, input: &DeliveryInput, at: Timestamp) -> Option<Self> {
        use DeliveryState::{Confirmed, Queued, Sent};
        let moved = |state, error| Some(Self { state, attempts: self.attempts, error, at });
        let failed = |reason, detail: &Option<String>| {
            moved(DeliveryState::Failed, Some(DeliveryError { reason, detail: detail.clone() }))
        };
        match (self.state, input) {
            // The error of an earlier attempt says nothing about this one.
            (Queued, DeliveryInput::Claimed) => {
                Some(Self { attempts: self.attempts + 1, error: None, ..self.clone() })
            }
            (Queued, DeliveryInput::Written) => moved(Sent, None),
            (_, DeliveryInput::Confirmed) if self.awaits_evidence() => moved(Confirmed, None),
            (Queued, DeliveryInput::NotWritten { detail }) => {
                // The delivery stays queued; surfaces show the text as the reason why it waits.
                let error = DeliveryError { reason: FailReason::Refused, detail: Some(detail.clone()) };
                moved(Queued, Some(error))
            }
            (Queued, DeliveryInput::Undecided { detail }) => {
                failed(FailReason::Refused, &Some(detail.clone()))
            }
            // The doubt about it ends too when the agent is seen to wait on, with nothing decided.
            (DeliveryState::Failed, DeliveryInput::Undecided { detail }) if self.is_unknown() => {
                failed(FailReason::Refused, &Some(detail.clone()))
            }
            (Queued | Sent, DeliveryInput::Failed { reason, detail }) => failed(*reason, detail),
            // Evidence of another answer ends the doubt about a failed delivery.
            (_, DeliveryInput::Failed { reason: FailReason::Overtaken, detail })
                if self.awaits_evidence() =>
            {
                failed(FailReason::Overtaken, detail)
            }
            (Queued, DeliveryInput::ClaimLost { redeliver, written }) => match (written, redeliver) {
                (Some(true), _) => moved(Sent, None),
                (Some(false), _) | (None, Redeliver::Safe) => moved(Queued, None),
                (None, Redeliver::Probe | Redeliver::Never) => failed(
                    FailReason::Unknown,
                    &Some("the hub stopped while it was writing the answer".to_owned()),
                ),
            },
            // The worker may have written it and may not have noted that yet. The session is over, so the
            // doubt is not `Unknown`, which a dialog that is seen to wait on would open again.
            (Queued, DeliveryInput::AgentGone { detail }) if self.may_be_written() => {
                failed(FailReason::Unconfirmed, detail)
            }
            (Queued, DeliveryInput::AgentGone { detail }) => failed(FailReason::AgentGone, detail),
            (Sent, DeliveryInput::AgentGone { detail }) => failed(FailReason::Unconfirmed, detail),
            (DeliveryState::Failed, DeliveryInput::SentAsMessage { detail }) if self.is_unsaid() => {
                failed(FailReason::SentAsMessage, detail)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn after(inputs: &[DeliveryInput]) -> Delivery {
        let step =
            |delivery: Delivery, input: &DeliveryInput| delivery.after(input, at(2)).unwrap_or(delivery);
        inputs.iter().fold(Delivery::queued(at(1)), step)
    }

    #[test]
    fn evidence_confirms_even_before_the_write_was_noted() {
        assert_eq!(
            after(&[DeliveryInput::Claimed, DeliveryInput::Confirmed]).state,
            DeliveryState::Confirmed
        );
    }

    #[test]
    fn a_lost_claim_is_repeated_only_where_that_is_known_to_be_right() {
        let lost = |redeliver, written| {
            after(&[DeliveryInput::Claimed, DeliveryInput::ClaimLost { redeliver, written }]).state
        };
        assert_eq!(lost(Redeliver::Safe, None), DeliveryState::Queued);
        assert_eq!(lost(Redeliver::Probe, Some(false)), DeliveryState::Queued);
        assert_eq!(lost(Redeliver::Probe, Some(true)), DeliveryState::Sent);
        assert_eq!(lost(Redeliver::Probe, None), DeliveryState::Failed);
        assert_eq!(lost(Redeliver::Never, None), DeliveryState::Failed);
    }

    #[test]
    fn what_failed_is_said_as_a_message_once_and_never_after_another_answer() {
        let say = DeliveryInput::SentAsMessage { detail: None };
        let gone = DeliveryInput::AgentGone { detail: None };
        let late = after(std::slice::from_ref(&gone));
        let said = late.after(&say, at(3)).unwrap();
        assert_eq!(said.error.as_ref().unwrap().reason, FailReason::SentAsMessage);
        assert_eq!(said.after(&say, at(4)), None);
        let overtaken = DeliveryInput::Failed { reason: FailReason::Overtaken, detail: None };
        assert_eq!(after(&[overtaken]).after(&say, at(3)), None);
        assert_eq!(after(&[DeliveryInput::Written]).after(&say, at(3)), None);
    }

    #[test]
    fn an_agent_that_dies_leaves_the_truth_about_its_answer() {
        let gone = DeliveryInput::AgentGone { detail: None };
        let reason = |delivery: Delivery| delivery.error.map(|error| error.reason);
        assert_eq!(reason(after(std::slice::from_ref(&gone))), Some(FailReason::AgentGone));
        assert_eq!(reason(after(&[DeliveryInput::Written, gone.clone()])), Some(FailReason::Unconfirmed));
        let not_written = DeliveryInput::NotWritten { detail: "busy".to_owned() };
        let mut inputs = vec![DeliveryInput::Claimed, not_written];
        assert_eq!(
            reason(after(&[&inputs[..], std::slice::from_ref(&gone)].concat())),
            Some(FailReason::AgentGone)
        );
        // A worker that has claimed it may have written it and may not have noted that yet.
        inputs.push(DeliveryInput::Claimed);
        for claimed in [&inputs[..1], &inputs[..]] {
            let doubtful = after(&[claimed, std::slice::from_ref(&gone)].concat());
            assert_eq!(reason(doubtful.clone()), Some(FailReason::Unconfirmed));
            let confirmed = doubtful.after(&DeliveryInput::Confirmed, at(3)).unwrap();
            assert_eq!(confirmed.state, DeliveryState::Confirmed);
            let undecided = DeliveryInput::Undecided { detail: "its dialog stands".to_owned() };
            assert_eq!(doubtful.after(&undecided, at(3)), None, "its session is over");
        }
    }

    #[test]
    fn an_agent_that_went_on_with_another_answer_ends_the_doubt() {
        let lost = DeliveryInput::ClaimLost { redeliver: Redeliver::Never, written: None };
        let overtaken = DeliveryInput::Failed { reason: FailReason::Overtaken, detail: None };
        let reason = |delivery: Delivery| delivery.error.map(|error| error.reason);
        assert_eq!(reason(after(&[lost.clone(), overtaken.clone()])), Some(FailReason::Overtaken));
        let refused = DeliveryInput::Failed { reason: FailReason::Refused, detail: None };
        assert_eq!(reason(after(&[lost, refused.clone()])), Some(FailReason::Unknown));
        // What was refused may have been answered at the agent itself.
        assert_eq!(reason(after(&[refused, overtaken])), Some(FailReason::Overtaken));
    }

    #[test]
    fn an_agent_that_is_seen_to_wait_on_ends_the_doubt_and_nothing_else() {
        let undecided = DeliveryInput::Undecided { detail: "its dialog stands".to_owned() };
        let failed = |reason| after(&[DeliveryInput::Failed { reason, detail: None }]);
        let error = failed(FailReason::Unknown).after(&undecided, at(3)).unwrap().error;
        assert_eq!(error.map(|error| error.reason), Some(FailReason::Refused));
        for reason in [FailReason::Overtaken, FailReason::SentAsMessage, FailReason::AgentGone] {
            assert_eq!(failed(reason).after(&undecided, at(3)), None);
        }
        assert_eq!(after(&[DeliveryInput::Written]).after(&undecided, at(3)), None);
    }

    #[test]
    fn the_pause_doubles_up_to_the_longest() {
        let pause = |attempts| Delivery { attempts, ..Delivery::queued(at(1)) }.retry_pause();
        assert_eq!([0, 1, 2, 7, 8, 9, u32::MAX].map(pause), [250, 250, 500, 16_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn an_end_is_an_end() {
        let confirmed = after(&[DeliveryInput::Confirmed]);
        let gone = DeliveryInput::AgentGone { detail: None };
        for input in [DeliveryInput::Claimed, DeliveryInput::Written, DeliveryInput::Confirmed, gone] {
            assert_eq!(confirmed.after(&input, at(9)), None);
        }
    }
}
