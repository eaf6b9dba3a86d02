//! The life of a question as a pure function: which resolution settles it, and what every later one gets.
//!
//! In: how the question stands and a resolution. Out: a [`Decision`] that the store carries out in the same transaction.
//! One question has one outcome: the first valid resolution wins, the same one again is the same success, any other is a conflict.

use crate::delivery::{Delivery, DeliveryInput};
use crate::outcome::{self, AgentReceived, FailedTry};
use crate::{Answer, By, Cause, Item, ItemAnswer, Outcome, Question, RejectMode, Status, Timestamp};

/// Failed tries that a question keeps: each one was a person's answer, and each view of the question has them all.
const MAX_FAILED_TRIES: usize = 8;

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
    /// `answers` as the agent says them: values of options, and own words.
    Answered {
        answers: Vec<Vec<String>>,
        notes: Vec<Option<String>>,
        via: String,
    },
    Rejected {
        reason: Option<String>,
        via: String,
    },
    /// It waited for its own time only, and went on without a person's word.
    TimedOut {
        detail: Option<String>,
        via: String,
    },
}

impl Resolution {
    /// The answer that it carries, in the form in which answers are compared.
    pub fn answer(&self, items: &[Item]) -> Option<Answer> {
        match self {
            Self::Answer(answer) => Some(answer.clone()),
            Self::Elsewhere(Elsewhere::Answered { answers, notes, .. }) => {
                Some(answer_of(answers, notes, items))
            }
            _ => None,
        }
    }
}

/// How a question stands when a resolution arrives.
#[derive(Debug, Clone, Copy)]
pub enum Current<'a> {
    Open {
        /// Whether the outcome has to be brought to an agent (a question of the API is read by its asker).
        delivers: bool,
        items: &'a [Item],
    },
    Settled {
        outcome: &'a Outcome,
        delivery: Option<&'a Delivery>,
        items: &'a [Item],
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
        Current::Open { delivers, items } => settle(resolution, items, delivers, by, at),
        Current::Settled { outcome, delivery, items, same_answer } => match resolution {
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
            Resolution::Elsewhere(elsewhere) => evidence(outcome, delivery, items, same_answer, elsewhere),
        },
    }
}

/// What becomes of an outcome that did not get to its agent while that one has decided nothing: the try that failed, where the question
/// is to be opened again. What was written, confirmed or overtaken stays as it is, and so does an end that no person gave.
pub fn failed_try(question: &Question, input: &DeliveryInput, at: Timestamp) -> Option<FailedTry> {
    let DeliveryInput::Undecided { .. } = input else { return None };
    let outcome = question.outcome.as_ref()?;
    if !matches!(outcome.status, Status::Answered | Status::Rejected) {
        return None;
    }
    let delivery = question.delivery.as_ref()?.after(input, at)?;
    let number = question.failed_tries.last().map_or(0, |last| last.number).saturating_add(1);
    Some(FailedTry { number, outcome: outcome.clone(), delivery })
}

/// The question as it stands after a failed try: open, with the try in its history.
pub fn opened_again(question: Question, failed: FailedTry) -> Question {
    let mut failed_tries = question.failed_tries;
    let too_many = (failed_tries.len() + 1).saturating_sub(MAX_FAILED_TRIES);
    failed_tries.drain(..too_many);
    failed_tries.push(failed);
    Question { status: Status::Requested, outcome: None, delivery: None, failed_tries, ..question }
}

fn settle(resolution: &Resolution, items: &[Item], delivers: bool, by: By, at: Timestamp) -> Decision {
    let (outcome, deliver) = match resolution {
        Resolution::Answer(answer) => (Outcome::answered(answer, items, by, at), delivers),
        Resolution::Reject { mode, reason } => (Outcome::rejected(*mode, reason.clone(), by, at), delivers),
        Resolution::Cancel(cause) => (Outcome::cancelled(cause.clone(), by, at), false),
        Resolution::Expire => (Outcome::expired(at), false),
        Resolution::Elsewhere(elsewhere) => (settle_elsewhere(elsewhere, items, by, at), false),
    };
    Decision::Settle { outcome: Box::new(outcome), deliver }
}

fn settle_elsewhere(elsewhere: &Elsewhere, items: &[Item], by: By, at: Timestamp) -> Outcome {
    let at_the_agent = |via: &str| By { actor: by.actor.or_else(|| Some(via.to_owned())), ..By::agent() };
    match elsewhere {
        Elsewhere::Answered { answers, notes, via } => {
            Outcome::answered(&answer_of(answers, notes, items), items, at_the_agent(via), at)
        }
        Elsewhere::Rejected { reason, via } => {
            Outcome::rejected(RejectMode::Decline, reason.clone(), at_the_agent(via), at)
        }
        Elsewhere::TimedOut { detail, via } => {
            Outcome::cancelled(Cause::AgentTimedOut { detail: detail.clone() }, at_the_agent(via), at)
        }
    }
}

/// What the agent reported, in the form of an answer: one note per item.
fn answer_of(answers: &[Vec<String>], notes: &[Option<String>], items: &[Item]) -> Answer {
    let mut notes = notes.to_vec();
    notes.resize(notes.len().max(answers.len()), None);
    Answer { answers: read_report(answers, items), notes, edited_plan: None, next_mode: None }
}

fn read_report(answers: &[Vec<String>], items: &[Item]) -> Vec<ItemAnswer> {
    let read = |(i, texts): (usize, &Vec<String>)| match items.get(i) {
        Some(item) => ItemAnswer::of_values(texts.iter().cloned(), item),
        None => ItemAnswer::words(texts.iter().cloned()),
    };
    answers.iter().enumerate().map(read).collect()
}

fn is_rejection(outcome: &Outcome, mode: RejectMode, reason: Option<&str>) -> bool {
    outcome.status == Status::Rejected && outcome.mode == Some(mode) && outcome.reason.as_deref() == reason
}

/// The agent went on while our outcome was on its way: with ours, or with another one?
fn evidence(
    outcome: &Outcome,
    delivery: Option<&Delivery>,
    items: &[Item],
    same_answer: bool,
    elsewhere: &Elsewhere,
) -> Decision {
    if !delivery.is_some_and(Delivery::awaits_evidence) {
        return Decision::Nothing;
    }
    match elsewhere {
        Elsewhere::Answered { .. } if outcome.status == Status::Answered && same_answer => Decision::Confirm,
        Elsewhere::Rejected { .. } if outcome.status == Status::Rejected => Decision::Confirm,
        Elsewhere::Answered { answers, via, .. } => Decision::Overtaken(AgentReceived {
            answers: outcome::shown(&read_report(answers, items), items),
            via: via.clone(),
        }),
        Elsewhere::Rejected { via, .. } | Elsewhere::TimedOut { via, .. } => {
            Decision::Overtaken(AgentReceived { answers: Vec::new(), via: via.clone() })
        }
    }
}
