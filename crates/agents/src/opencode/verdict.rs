//! How a request ended, read from the tool part that asked: the only thing in OpenCode that tells the truth
//! about it.
//!
//! A reply is taken with 200 also when the turn that asked is long gone, and an aborted turn leaves its
//! request in the list without a word. The part knows: it waits, is completed, was dismissed, or failed.

use askd_core::delivery::FailReason;
use askd_core::lifecycle::Elsewhere;
use askd_core::{Cause, Settlement};

use super::open::{Open, Way};
use super::wire::ToolState;
use super::{permission, question};
use crate::heard::Heard;

/// The channel of another client's answer.
pub(super) const VIA: &str = "opencode";
const DISMISSED: &str = "The user dismissed this question";
const NOT_PERMITTED: &str = "The user rejected permission";
/// The tool whose "No" looks like a dismissal.
const PLAN_EXIT: &str = "plan_exit";

/// How the tool part stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    Waiting,
    Completed(Option<Vec<Vec<String>>>),
    /// The question was rejected.
    Dismissed,
    NotPermitted(String),
    /// The turn was aborted, or the tool failed.
    Failed(String),
}

pub(super) fn standing(state: Option<ToolState>) -> Standing {
    let Some(state) = state else { return Standing::Waiting };
    let error = state.error.unwrap_or_default();
    match state.status.as_str() {
        "completed" => Standing::Completed(state.metadata.and_then(|metadata| metadata.answers)),
        "error" if error == DISMISSED => Standing::Dismissed,
        "error" if error.starts_with(NOT_PERMITTED) => Standing::NotPermitted(error),
        "error" => Standing::Failed(error),
        _ => Standing::Waiting,
    }
}

/// The meaning of the part's state for the request; `None` while it runs.
pub(super) fn verdict(open: &Open, tool: &str, standing: Standing) -> Option<Heard> {
    let heard = match open.way {
        Way::Question => of_question(open, tool, standing)?,
        Way::Permission => of_permission(open, standing)?,
    };
    Some(heard)
}

fn of_question(open: &Open, tool: &str, standing: Standing) -> Option<Heard> {
    let native_id = open.native_id.clone();
    let confirmed = Heard::Confirmed { native_id: native_id.clone() };
    match (standing, &open.sent) {
        (Standing::Waiting, _) => None,
        (Standing::Completed(Some(answers)), sent) => {
            let ours = matches!(sent, Some(Settlement::Answered(answer)) if question::wire_answers(answer) == answers);
            Some(if ours { confirmed } else { answered(native_id, answers) })
        }
        // Some tools complete without repeating the answer.
        (Standing::Completed(None), Some(Settlement::Answered(_))) if open.acknowledged => Some(confirmed),
        (Standing::Completed(None), sent) => Some(went_on(native_id, sent.is_some())),
        (Standing::Dismissed, Some(Settlement::Rejected { .. })) => Some(confirmed),
        (Standing::Dismissed, Some(Settlement::Answered(_))) if tool == PLAN_EXIT && open.acknowledged => {
            Some(confirmed)
        }
        (Standing::Dismissed, _) => Some(dismissed(native_id)),
        (Standing::NotPermitted(why) | Standing::Failed(why), sent) => {
            Some(aborted(native_id, why, sent.is_some()))
        }
    }
}

fn of_permission(open: &Open, standing: Standing) -> Option<Heard> {
    let native_id = open.native_id.clone();
    let wanted = open.sent.as_ref().and_then(|sent| permission::reply_of(sent).ok()).map(|(reply, _)| reply);
    let rejects = wanted == Some(permission::REJECT);
    match standing {
        // The call was waiting for us and moves: it was let go.
        Standing::Waiting if open.acknowledged && wanted.is_some() && !rejects => {
            Some(Heard::Confirmed { native_id })
        }
        Standing::Waiting => None,
        Standing::Completed(_) if wanted.is_some() && !rejects => Some(Heard::Confirmed { native_id }),
        Standing::Completed(_) => Some(went_on(native_id, wanted.is_some())),
        Standing::NotPermitted(_) if rejects => Some(Heard::Confirmed { native_id }),
        Standing::NotPermitted(why) => Some(Heard::AnsweredElsewhere {
            native_id,
            how: Elsewhere::Rejected { reason: Some(why), via: VIA.to_owned() },
        }),
        // The command failed by itself, after it was allowed.
        Standing::Failed(_) if open.acknowledged && wanted.is_some() && !rejects => {
            Some(Heard::Confirmed { native_id })
        }
        Standing::Dismissed => Some(aborted(native_id, DISMISSED.to_owned(), wanted.is_some())),
        Standing::Failed(why) => Some(aborted(native_id, why, wanted.is_some())),
    }
}

pub(super) fn answered(native_id: String, answers: Vec<Vec<String>>) -> Heard {
    let how = Elsewhere::Answered { answers, notes: Vec::new(), via: VIA.to_owned() };
    Heard::AnsweredElsewhere { native_id, how }
}

pub(super) fn dismissed(native_id: String) -> Heard {
    let reason = Some("dismissed in OpenCode, which ended the turn".to_owned());
    Heard::AnsweredElsewhere { native_id, how: Elsewhere::Rejected { reason, via: VIA.to_owned() } }
}

fn went_on(native_id: String, sent: bool) -> Heard {
    let why = "OpenCode went on without saying with which answer".to_owned();
    if sent {
        return Heard::NotTaken { native_id, reason: FailReason::Overtaken, detail: why };
    }
    Heard::Withdrawn { native_id, cause: Cause::AgentWithdrew { detail: Some(why) } }
}

fn aborted(native_id: String, why: String, sent: bool) -> Heard {
    ended(native_id, Cause::TurnAborted { detail: Some(why.clone()) }, &why, sent)
}

/// It ended without an answer: taken back if nothing was sent, else the answer did not reach the agent.
pub(super) fn ended(native_id: String, cause: Cause, why: &str, sent: bool) -> Heard {
    if sent {
        return Heard::NotTaken { native_id, reason: FailReason::Unconfirmed, detail: why.to_owned() };
    }
    Heard::Withdrawn { native_id, cause }
}
