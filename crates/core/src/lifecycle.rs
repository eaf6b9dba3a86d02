//! The life of a question as a pure function: the resolution that settles it, and the result for each later
//! one.
//!
//! In: the [`Current`] state of a question and a [`Resolution`]. Out: a [`Decision`], which the store carries
//! out in the same transaction. One question has one outcome: the first valid resolution wins, the same one
//! again is the same success, any other is a conflict.

use crate::delivery::{Delivery, DeliveryInput};
use crate::outcome::{self, AgentReceived, FailedTry};
use crate::{Answer, By, Cause, Item, ItemAnswer, Outcome, Question, RejectMode, Status, Timestamp};

/// The most failed tries that a question keeps: each was a person's answer, and each view of the question
/// contains all of them.
const MAX_FAILED_TRIES: usize = 8;

/// An attempt to end a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    Answer(Answer),
    Reject {
        mode: RejectMode,
        reason: Option<String>,
    },
    /// An end without a person's decision.
    Cancel(Cause),
    /// The asker's deadline has passed.
    Expire,
    /// An end in the agent's own user interface.
    Elsewhere(Elsewhere),
}

/// An end in the agent's own user interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elsewhere {
    /// `answers` as the agent reports them: values of options, and own words.
    Answered {
        answers: Vec<Vec<String>>,
        notes: Vec<Option<String>>,
        via: String,
    },
    Rejected {
        reason: Option<String>,
        via: String,
    },
    /// The agent's own time-out ended, and the agent continued without an answer.
    TimedOut {
        detail: Option<String>,
        via: String,
    },
}

impl Resolution {
    /// The answer of this resolution, in canonical form.
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

/// The state of a question when a resolution arrives.
#[derive(Debug, Clone, Copy)]
pub enum Current<'a> {
    Open {
        /// An agent waits for the outcome. (An asker of the API reads it instead.)
        delivers: bool,
        items: &'a [Item],
    },
    Settled {
        outcome: &'a Outcome,
        delivery: Option<&'a Delivery>,
        items: &'a [Item],
        /// The resolution has the stored answer. The store compares, because it alone can read secrets.
        same_answer: bool,
    },
}

/// The store's task after a resolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Store this outcome and, if `deliver`, a delivery in the same transaction.
    Settle { outcome: Box<Outcome>, deliver: bool },
    /// The question was settled with the same resolution: answer with the same success.
    Same,
    /// The question was settled in another way: answer with the outcome that won.
    Conflict,
    /// The agent continued with the stored outcome.
    Confirm,
    /// The agent took another answer before the stored one arrived.
    Overtaken(AgentReceived),
    /// Store nothing and wake no reader.
    Nothing,
}

/// Decides about a resolution; the store carries the decision out in the same transaction.
///
/// The first valid resolution settles the question, and each later one is compared with it:
///
/// ```
/// use askd_core::lifecycle::{Current, decide};
/// use askd_core::{By, Decision, RejectMode, Resolution, Surface, Timestamp};
///
/// let by = By { surface: Surface::Cli, actor: None };
/// let declined = Resolution::Reject { mode: RejectMode::Decline, reason: None };
/// let open = Current::Open { delivers: true, items: &[] };
/// let now = Timestamp::from_millis(0);
/// let Decision::Settle { outcome, deliver: true } = decide(open, &declined, by.clone(), now) else {
///     panic!("the first resolution settles");
/// };
///
/// let settled = Current::Settled { outcome: &outcome, delivery: None, items: &[], same_answer: false };
/// assert_eq!(decide(settled, &declined, by.clone(), now), Decision::Same);
/// let interrupt = Resolution::Reject { mode: RejectMode::Interrupt, reason: None };
/// assert_eq!(decide(settled, &interrupt, by, now), Decision::Conflict);
/// ```
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

/// The failed try, if `input` says that an answer did not reach an agent that still waits: the question then
/// opens again. `None` if the outcome was written, confirmed or overtaken, or came from no person.
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

/// The agent's report as an answer, with one note for each item.
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

/// Compares the agent's report with the outcome on its way: the same answer confirms it, another one
/// overtakes it.
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
