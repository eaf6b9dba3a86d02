//! The life of a question as a pure function: which resolution settles it, and what every later one gets.
//!
//! In: how the question stands and a resolution. Out: a [`Decision`] that the store carries out in the same transaction.
//! One question has one outcome: the first valid resolution wins, the same one again is the same success, any other is a conflict.

use crate::delivery::Delivery;
use crate::outcome::AgentReceived;
use crate::{Answer, By, Cause, Outcome, RejectMode, Status, Timestamp};

/// A way in which a question can end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    Answer(Answer),
    Reject {
        mode: RejectMode,
        reason: Option<String>,
    },
    /// It ends without a human's word.
    Cancel(Cause),
    /// The asker's deadline passed.
    Expire,
    /// The agent's own user interface took the answer.
    Elsewhere(Elsewhere),
}

/// What the agent's own user interface did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elsewhere {
    Answered { answers: Vec<Vec<String>>, notes: Vec<Option<String>>, via: String },
    Rejected { reason: Option<String>, via: String },
}

/// How a question stands when a resolution arrives.
#[derive(Debug, Clone, Copy)]
pub enum Current<'a> {
    Open {
        /// Whether the outcome has to be brought to an agent (a question of the API is read by its asker).
        delivers: bool,
        secret: &'a [usize],
    },
    Settled {
        outcome: &'a Outcome,
        delivery: Option<&'a Delivery>,
        /// Whether the resolution carries the answer that was stored, compared where secrets can be.
        same_answer: bool,
    },
}

/// What the store has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Store this outcome and, if `deliver`, a delivery in the same transaction.
    Settle { outcome: Box<Outcome>, deliver: bool },
    /// It was settled in just this way before: the same success again.
    Same,
    /// It was settled in another way: tell which.
    Conflict,
    /// The agent shows that it went on with our outcome.
    Confirm,
    /// The agent took another answer before ours.
    Overtaken(AgentReceived),
    /// Nothing to do and nobody to tell.
    Nothing,
}

pub fn decide(current: Current<'_>, resolution: &Resolution, by: By, at: Timestamp) -> Decision {
    match current {
        Current::Open { delivers, secret } => settle(resolution, secret, delivers, by, at),
        Current::Settled { outcome, delivery, same_answer } => match resolution {
            Resolution::Answer(_) if outcome.status == Status::Answered && same_answer => Decision::Same,
            Resolution::Reject { mode, reason } if is_rejection(outcome, *mode, reason.as_deref()) => {
                Decision::Same
            }
            Resolution::Cancel(Cause::AskerWithdrew { .. })
                if matches!(outcome.cause, Some(Cause::AskerWithdrew { .. })) =>
            {
                Decision::Same
            }
            Resolution::Answer(_)
            | Resolution::Reject { .. }
            | Resolution::Cancel(Cause::AskerWithdrew { .. }) => Decision::Conflict,
            Resolution::Cancel(_) | Resolution::Expire => Decision::Nothing,
            Resolution::Elsewhere(elsewhere) => evidence(outcome, delivery, same_answer, elsewhere),
        },
    }
}

fn settle(resolution: &Resolution, secret: &[usize], delivers: bool, by: By, at: Timestamp) -> Decision {
    match resolution {
        Resolution::Answer(answer) => Decision::Settle {
            outcome: Box::new(Outcome::answered(answer, secret, by, at)),
            deliver: delivers,
        },
        Resolution::Reject { mode, reason } => Decision::Settle {
            outcome: Box::new(Outcome::rejected(*mode, reason.clone(), by, at)),
            deliver: delivers,
        },
        Resolution::Cancel(cause) => {
            Decision::Settle { outcome: Box::new(Outcome::cancelled(cause.clone(), by, at)), deliver: false }
        }
        Resolution::Expire => Decision::Settle { outcome: Box::new(Outcome::expired(at)), deliver: false },
        Resolution::Elsewhere(Elsewhere::Answered { answers, notes, via }) => {
            let answer =
                Answer { answers: answers.clone(), notes: notes.clone(), edited_plan: None, next_mode: None };
            let by = By { actor: by.actor.or_else(|| Some(via.clone())), ..By::agent() };
            Decision::Settle { outcome: Box::new(Outcome::answered(&answer, secret, by, at)), deliver: false }
        }
        Resolution::Elsewhere(Elsewhere::Rejected { reason, via }) => {
            let by = By { actor: by.actor.or_else(|| Some(via.clone())), ..By::agent() };
            let outcome = Outcome::rejected(RejectMode::Decline, reason.clone(), by, at);
            Decision::Settle { outcome: Box::new(outcome), deliver: false }
        }
    }
}

fn is_rejection(outcome: &Outcome, mode: RejectMode, reason: Option<&str>) -> bool {
    outcome.status == Status::Rejected && outcome.mode == Some(mode) && outcome.reason.as_deref() == reason
}

/// The agent went on while our outcome was on its way: with ours, or with another one?
fn evidence(
    outcome: &Outcome,
    delivery: Option<&Delivery>,
    same_answer: bool,
    elsewhere: &Elsewhere,
) -> Decision {
    if !delivery.is_some_and(Delivery::awaits_evidence) {
        return Decision::Nothing;
    }
    match elsewhere {
        Elsewhere::Answered { .. } if outcome.status == Status::Answered && same_answer => Decision::Confirm,
        Elsewhere::Rejected { .. } if outcome.status == Status::Rejected => Decision::Confirm,
        Elsewhere::Answered { answers, via, .. } => {
            Decision::Overtaken(AgentReceived { answers: answers.clone(), via: via.clone() })
        }
        Elsewhere::Rejected { via, .. } => {
            Decision::Overtaken(AgentReceived { answers: Vec::new(), via: via.clone() })
        }
    }
}
