//! The meaning of a tool result for the question of its call.
//!
//! In: the open question and the result line. Out: one [`Heard`]: the agent continued with askd's answer,
//! with another one, or without an answer. The comparison uses the structure of the result, never its
//! sentences.

use askd_core::ask::APPROVE;
use askd_core::delivery::FailReason;
use askd_core::lifecycle::Elsewhere;
use askd_core::{Answer, Cause, ItemAnswer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::open::{Open, Way};
use super::question::Picked;
use super::wire::{self, ToolResult};
use super::{permission, plan, question};
use crate::codec::Settlement;
use crate::heard::Heard;

/// Characters of the agent's text that are kept as a reason.
const MAX_DETAIL_CHARS: usize = 500;
/// The channel of an answer that askd did not give: a headless agent has no screen, but it has hooks.
const VIA: &str = "hook";
/// The value of `non_execution_kind` in a stopped turn.
const STOPPED: &str = "user-rejected";

/// The reason why a call did not run, if the agent reports it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) result: &'a ToolResult<'a>,
    pub(super) structure: Option<&'a RawValue>,
    pub(super) not_executed: Option<&'a str>,
    /// True if a person is stopping the turn.
    pub(super) interrupting: bool,
}

pub(super) fn verdict(open: &Open, seen: Seen<'_>) -> Heard {
    let native_id = open.native_id.clone();
    match (&open.delivered, seen.result.is_error) {
        (None, true) => match seen.not_executed {
            Some(kind) if kind != STOPPED && !seen.interrupting => {
                let reason = Some(short(&seen.result.text));
                Heard::AnsweredElsewhere {
                    native_id,
                    how: Elsewhere::Rejected { reason, via: VIA.to_owned() },
                }
            }
            _ => withdrawn(open, seen.interrupting, Some(&seen.result.text)),
        },
        (None | Some(Settlement::Rejected { .. }), false) => went_on(open, seen),
        (Some(Settlement::Rejected { .. }), true) => Heard::Confirmed { native_id },
        (Some(Settlement::Answered(answer)), false) => match open.way {
            Way::Question if told(open, answer, seen) == Some(false) => went_on(open, seen),
            Way::Permission if permission::denies(answer) => went_on(open, seen),
            Way::Plan if ignored_edits(open, answer, seen) => {
                not_taken(open, "the agent went on with the plan as it was, without the changes")
            }
            _ => Heard::Confirmed { native_id },
        },
        (Some(Settlement::Answered(answer)), true) => {
            let taken = match open.way {
                Way::Question => answer.answers.iter().all(ItemAnswer::is_empty),
                // A tool that ran and failed was allowed.
                Way::Permission => {
                    permission::denies(answer) || (seen.not_executed.is_none() && !open.cancelled)
                }
                Way::Plan | Way::Elicitation => false,
            };
            if taken { Heard::Confirmed { native_id } } else { not_taken(open, &seen.result.text) }
        }
    }
}

/// True if the agent reports exactly askd's answer; `None` if it reports nothing.
fn told(open: &Open, answer: &Answer, seen: Seen<'_>) -> Option<bool> {
    let reported = reported(seen)?;
    let (_, request) = wire::stored(&open.native).ok()?;
    let given = question::given(&request.input().ok()?, request.takes(), answer).ok()?;
    Some(reported.answers? == given.answers)
}

fn ignored_edits(open: &Open, answer: &Answer, seen: Seen<'_>) -> bool {
    let structure: Option<Value> = seen.structure.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let input = wire::stored(&open.native).and_then(|(_, request)| request.input());
    input.is_ok_and(|input| plan::ignored_edits(&input, answer, structure.as_ref()))
}

fn reported(seen: Seen<'_>) -> Option<question::Reported> {
    serde_json::from_str(seen.structure?.get()).ok()
}

/// The agent continued with another answer than askd's.
fn went_on(open: &Open, seen: Seen<'_>) -> Heard {
    let native_id = open.native_id.clone();
    let one = |value: &str| Some(Picked { answers: vec![vec![value.to_owned()]], notes: vec![None] });
    let answered = match open.way {
        Way::Question => wire::stored(&open.native)
            .ok()
            .and_then(|(_, request)| question::picked(&request.input().ok()?, &reported(seen)?)),
        Way::Plan => one(APPROVE),
        Way::Permission => one(permission::ALLOW),
        Way::Elicitation => None,
    };
    match answered {
        Some(Picked { answers, notes }) => {
            let how = Elsewhere::Answered { answers, notes, via: VIA.to_owned() };
            Heard::AnsweredElsewhere { native_id, how }
        }
        None if open.delivered.is_some() => not_taken(open, &seen.result.text),
        None => withdrawn(open, seen.interrupting, Some(&seen.result.text)),
    }
}

/// The agent no longer waits and has not reported an answer.
pub(super) fn given_up(open: &Open, interrupting: bool) -> Heard {
    match &open.delivered {
        None => withdrawn(open, interrupting, None),
        Some(Settlement::Rejected { .. }) => Heard::Confirmed { native_id: open.native_id.clone() },
        Some(Settlement::Answered(_)) => not_taken(open, "it was taken back before the answer arrived"),
    }
}

fn withdrawn(open: &Open, interrupting: bool, text: Option<&str>) -> Heard {
    let detail = text.map(short);
    let cause = if interrupting { Cause::TurnAborted { detail } } else { Cause::AgentWithdrew { detail } };
    Heard::Withdrawn { native_id: open.native_id.clone(), cause }
}

fn not_taken(open: &Open, text: &str) -> Heard {
    Heard::NotTaken { native_id: open.native_id.clone(), reason: FailReason::Refused, detail: short(text) }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_DETAIL_CHARS).collect()
}
