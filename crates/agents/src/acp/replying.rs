//! The meaning of a client's own JSON-RPC response to a question: the reverse of `question`, `elicitation`
//! and `permission`.
//!
//! In: the stored request and the client's result. Out: a [`ClientSays`], which passes the same validation as
//! every other answer. A result of another form is an error that names the fault; nothing is guessed.

use askd_core::answer::Rejection;
use askd_core::{Ask, ItemAnswer, RejectMode, Reply};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::open::Way;
use super::wire::{self, Message, Object};
use super::{elicitation, permission, raw};
use crate::codec::{ClientSays, Unspeakable};

/// Understands a client's response to the request `native`.
pub(super) fn understand(native: &RawValue, ask: &Ask, response: &str) -> Result<ClientSays, Unspeakable> {
    let unreadable = |why: String| Unspeakable::Unreadable(why);
    let misfit = |why: String| Unspeakable::Misfit(why);
    let Message::Request { method, params, .. } = Message::read(native.get()).map_err(unreadable)? else {
        return Err(Unspeakable::Unreadable("it is not a request".to_owned()));
    };
    let result = match Message::read(response).map_err(misfit)? {
        Message::Response { result: Ok(result), .. } => result,
        Message::Response { result: Err(error), .. } => return Ok(ClientSays::Failed(error.to_string())),
        _ => return Err(Unspeakable::Misfit("it is not a response".to_owned())),
    };
    match Way::of(&method) {
        Some(way) if raw::is_raw(ask) => raw::understand(way, params, result.get()).map_err(misfit),
        Some(Way::Question) => question(ask, result).map_err(misfit),
        Some(Way::Elicitation) => {
            let params: elicitation::Params = wire::params(params).map_err(unreadable)?;
            form(&params, ask, result).map_err(misfit)
        }
        Some(Way::Permission) => {
            let params: permission::Params = wire::params(params).map_err(unreadable)?;
            pick(&params, ask, result).map_err(misfit)
        }
        None => Err(Unspeakable::Unreadable(format!("{method} is not a question"))),
    }
}

/// The agent gets the client's own bytes, so a label that a person would mean by an option is not the option
/// here.
fn only_values(ask: &Ask, answers: &[ItemAnswer]) -> Result<(), String> {
    for (item, answer) in ask.questions.iter().zip(answers) {
        let is_label = |words: &String| item.options.iter().any(|option| option.label == *words);
        if answer.words.iter().any(is_label) {
            let values: Vec<&str> = item.options.iter().map(|option| option.value.as_str()).collect();
            return Err(format!(
                "a title was given where a value belongs; give one of: {}",
                values.join(", ")
            ));
        }
    }
    Ok(())
}

/// One for each item.
type Notes = Option<Vec<Option<String>>>;

/// A result of `request_question`, by its form alone.
#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub(super) enum QuestionResult {
    Answered {
        answers: Vec<Vec<String>>,
        #[serde(default)]
        notes: Notes,
    },
    /// Without a mode it is `decline`, or the only mode of the agent.
    Rejected(Rejected),
}

#[derive(Deserialize)]
pub(super) struct Rejected {
    #[serde(default)]
    mode: Option<RejectMode>,
    #[serde(default)]
    reason: Option<String>,
}

impl From<Rejected> for ClientSays {
    fn from(Rejected { mode, reason }: Rejected) -> Self {
        Self::Reject(Rejection { mode, reason })
    }
}

pub(super) fn read_question(result: &str) -> Result<QuestionResult, String> {
    wire::object(result).map_err(|error| {
        format!(
            "{error}; give {{\"status\":\"answered\",\"answers\":[[...]]}} or {{\"status\":\"rejected\"}}"
        )
    })
}

fn question(ask: &Ask, result: &RawValue) -> Result<ClientSays, String> {
    match read_question(result.get())? {
        QuestionResult::Answered { answers, notes } => {
            let read = |(i, texts): (usize, Vec<String>)| match ask.questions.get(i) {
                Some(item) => ItemAnswer::of_values(texts, item),
                None => ItemAnswer::words(texts),
            };
            let answers: Vec<ItemAnswer> = answers.into_iter().enumerate().map(read).collect();
            only_values(ask, &answers)?;
            Ok(ClientSays::Reply(Reply { notes, ..Reply::of(answers) }))
        }
        QuestionResult::Rejected(rejected) => Ok(rejected.into()),
    }
}

/// A client's additions to the outcome, under `_meta.askd`.
#[derive(Deserialize, Default)]
struct Meta {
    #[serde(default)]
    askd: Object<Beside>,
}

#[derive(Deserialize, Default)]
struct Beside {
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    notes: Notes,
}

/// A result of `elicitation/create`, by its form alone.
pub(super) enum FormResult {
    Accepted { content: serde_json::Map<String, Value>, notes: Notes },
    Rejected(Rejected),
}

pub(super) fn read_form(result: &str) -> Result<FormResult, String> {
    #[derive(Deserialize)]
    struct Given {
        action: String,
        #[serde(default)]
        content: Option<serde_json::Map<String, Value>>,
        #[serde(default, rename = "_meta")]
        meta: Option<Object<Meta>>,
    }
    let given: Given = wire::object(result)
        .map_err(|error| format!("{error}; give an action (accept, decline or cancel), and content"))?;
    let Object(Beside { reason, notes }) = given.meta.unwrap_or_default().0.askd;
    let rejected = |mode| Ok(FormResult::Rejected(Rejected { mode: Some(mode), reason }));
    match given.action.as_str() {
        "accept" => Ok(FormResult::Accepted { content: given.content.unwrap_or_default(), notes }),
        "decline" => rejected(RejectMode::Decline),
        "cancel" => rejected(RejectMode::Cancel),
        other => Err(format!("the action {other:?} is none of accept, decline, cancel")),
    }
}

fn form(params: &elicitation::Params, ask: &Ask, result: &RawValue) -> Result<ClientSays, String> {
    match read_form(result.get())? {
        FormResult::Accepted { content, notes: beside } => {
            let (answers, notes) = elicitation::answers(params, content)?;
            only_values(ask, &answers)?;
            let notes = notes.or(beside);
            Ok(ClientSays::Reply(Reply { notes, ..Reply::of(answers) }))
        }
        FormResult::Rejected(rejected) => Ok(rejected.into()),
    }
}

/// A result of `session/request_permission`, by its form alone.
pub(super) enum PickResult {
    /// `declined` is the meaning of an option that declines.
    Selected {
        option_id: String,
        declined: Rejected,
        notes: Notes,
    },
    Cancelled(Rejected),
}

pub(super) fn read_pick(result: &str) -> Result<PickResult, String> {
    #[derive(Deserialize)]
    struct Given {
        outcome: Object<Picked>,
        #[serde(default, rename = "_meta")]
        meta: Option<Object<Meta>>,
    }
    #[derive(Deserialize)]
    #[serde(tag = "outcome", rename_all = "lowercase")]
    enum Picked {
        Selected {
            #[serde(rename = "optionId")]
            option_id: String,
        },
        Cancelled,
    }
    let given: Given = wire::object(result).map_err(|error| {
        format!(
            "{error}; give {{\"outcome\":{{\"outcome\":\"selected\",\"optionId\":...}}}} or \"cancelled\""
        )
    })?;
    let Object(Beside { reason, notes }) = given.meta.unwrap_or_default().0.askd;
    Ok(match given.outcome.0 {
        Picked::Selected { option_id } => PickResult::Selected {
            option_id,
            declined: Rejected { mode: Some(RejectMode::Decline), reason },
            notes,
        },
        Picked::Cancelled => PickResult::Cancelled(Rejected { mode: Some(RejectMode::Cancel), reason }),
    })
}

fn pick(params: &permission::Params, ask: &Ask, result: &RawValue) -> Result<ClientSays, String> {
    let (option_id, declined, notes) = match read_pick(result.get())? {
        PickResult::Cancelled(rejected) => return Ok(rejected.into()),
        PickResult::Selected { option_id, declined, notes } => (option_id, declined, notes),
    };
    Ok(match permission::picked(params, ask, &option_id)? {
        Some(value) => ClientSays::Reply(Reply { notes, ..Reply::of([ItemAnswer::picks([value])]) }),
        None => declined.into(),
    })
}

#[cfg(test)]
#[path = "replying_tests.rs"]
mod tests;
