//! The extension `_sandboxagent/session/request_question`.
//!
//! In: `{sessionId, questionId, prompt, options: [["id","Label"], ...]}`, where options may also be plain
//! labels or objects, and `questions` may carry several items with all that askd knows (header, multiple,
//! custom, secret, ...). Out: an [`Ask`], and `{"status":"answered","answers":[[...]]}` or
//! `{"status":"rejected"}` with notes and the reason where there are any.

use askd_core::question::{Bounds, Choice, Input, Item};
use askd_core::{Ask, Kind, RejectMode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::draft;
use crate::codec::Settlement;
use crate::outside::or_default;

pub(crate) const METHOD: &str = "_sandboxagent/session/request_question";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params {
    #[serde(default)]
    prompt: Option<String>,
    #[serde(flatten)]
    only: Fields,
    /// askd's own addition: several items in one call.
    #[serde(default, deserialize_with = "or_default")]
    questions: Vec<AskedItem>,
}

#[derive(Deserialize)]
struct AskedItem {
    question: String,
    #[serde(flatten)]
    fields: Fields,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Fields {
    #[serde(default)]
    header: Option<String>,
    #[serde(default)]
    options: Option<Vec<AskedOption>>,
    #[serde(default, alias = "multiSelect")]
    multiple: Option<bool>,
    #[serde(default)]
    custom: Option<bool>,
    #[serde(default)]
    secret: Option<bool>,
    #[serde(default)]
    required: Option<bool>,
    #[serde(default)]
    input: Option<Input>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AskedOption {
    Pair(String, String),
    Label(String),
    Whole {
        label: String,
        #[serde(default, alias = "id")]
        value: Option<String>,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        preview: Option<String>,
    },
}

impl From<AskedOption> for Choice {
    fn from(option: AskedOption) -> Self {
        match option {
            AskedOption::Pair(value, label) => Self { label, value, description: None, preview: None },
            AskedOption::Label(label) => {
                Self { value: label.clone(), label, description: None, preview: None }
            }
            AskedOption::Whole { label, value, description, preview } => {
                Self { value: value.unwrap_or_else(|| label.clone()), label, description, preview }
            }
        }
    }
}

fn item(question: String, fields: Fields) -> Result<Item, String> {
    let options: Vec<Choice> = fields.options.unwrap_or_default().into_iter().map(Choice::from).collect();
    Ok(Item {
        question,
        header: fields.header,
        // As everywhere in askd, own words are allowed unless the agent says otherwise and offers something
        // to pick.
        custom: fields.custom.unwrap_or(true) || options.is_empty(),
        options: draft::distinct(options)?,
        multiple: fields.multiple.unwrap_or(false),
        secret: fields.secret.unwrap_or(false),
        required: fields.required.unwrap_or(false),
        input: fields.input,
        default: None,
        bounds: Bounds::default(),
        url: None,
        key: None,
    })
}

pub(crate) fn ask(agent: &str, params: Params) -> Result<Ask, String> {
    let questions: Vec<Item> = if params.questions.is_empty() {
        let prompt = params.prompt.ok_or("a question without a prompt")?;
        vec![item(prompt, params.only)?]
    } else {
        let items = params.questions.into_iter().map(|asked| item(asked.question, asked.fields));
        items.collect::<Result<_, _>>()?
    };
    let modes = [RejectMode::Decline, RejectMode::Cancel, RejectMode::Interrupt];
    Ok(draft::ask(agent, Kind::Choice, questions, &modes))
}

/// A question of another channel in the form of the extension's request. Clients that know only one item
/// without descriptions find it there too; `meta` is passed on unchanged.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request<'a, M: Serialize> {
    session_id: &'a str,
    question_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    prompt: &'a str,
    options: Vec<[&'a str; 2]>,
    questions: &'a [Item],
    #[serde(rename = "_meta")]
    meta: M,
}

impl<'a, M: Serialize> Request<'a, M> {
    pub(crate) fn new(session_id: &'a str, question_id: &'a str, ask: &'a Ask, meta: M) -> Self {
        let first = ask.questions.first();
        let pair = |choice: &'a Choice| [choice.value.as_str(), choice.label.as_str()];
        Self {
            session_id,
            question_id,
            tool_call_id: ask.tool.as_ref().and_then(|tool| tool.call_id.as_deref()),
            prompt: first.map(|item| item.question.as_str()).unwrap_or_default(),
            options: first.map(|item| item.options.iter().map(pair).collect()).unwrap_or_default(),
            questions: &ask.questions,
            meta,
        }
    }

    /// The whole message, under the question's own id.
    pub(crate) fn message(&self) -> Option<Box<RawValue>> {
        #[derive(Serialize)]
        struct Message<'a, T> {
            jsonrpc: &'static str,
            id: &'a str,
            method: &'static str,
            params: T,
        }
        let message = Message { jsonrpc: "2.0", id: self.question_id, method: METHOD, params: self };
        serde_json::value::to_raw_value(&message).ok()
    }
}

#[derive(Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub(crate) enum Outcome<'a> {
    Answered {
        answers: Vec<Vec<&'a String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        notes: Option<&'a [Option<String>]>,
    },
    /// A plain `rejected` is a decline, as every client of the extension knows it.
    Rejected {
        #[serde(skip_serializing_if = "Option::is_none")]
        mode: Option<RejectMode>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
}

pub(crate) fn outcome(settled: &Settlement) -> Outcome<'_> {
    match settled {
        Settlement::Answered(answer) => Outcome::Answered {
            answers: answer.answers.iter().map(|answer| answer.texts().collect()).collect(),
            notes: answer.notes.iter().any(Option::is_some).then_some(answer.notes.as_slice()),
        },
        Settlement::Rejected { mode, reason } => Outcome::Rejected {
            mode: (*mode != RejectMode::Decline).then_some(*mode),
            reason: reason.as_deref(),
        },
    }
}
