//! `AskUserQuestion`: one to four items with options, previews, own words and notes.
//!
//! In: the input of the tool. Out: an [`Ask`], and the updated input that answers it: the whole input as it came, `answers`
//! keyed by the exact text of each question with text values, and `annotations` for notes and previews.

use askd_core::question::{Choice, Item};
use askd_core::{Answer, Ask, Kind, RejectMode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::answers;
use super::wire::{self, Request};
use crate::agents::acp::draft;
use crate::codec::Unspeakable;

pub(super) const TOOL: &str = "AskUserQuestion";

pub(super) const MODES: [RejectMode; 2] = [RejectMode::Decline, RejectMode::Interrupt];

#[derive(Deserialize)]
struct Input {
    questions: Vec<Asked>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    question: String,
    #[serde(default)]
    header: Option<String>,
    #[serde(default)]
    options: Vec<AskedOption>,
    #[serde(default)]
    multi_select: bool,
}

#[derive(Deserialize)]
struct AskedOption {
    label: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    preview: Option<String>,
    /// What previews were called from 2.1.45 to 2.1.68.
    #[serde(default)]
    markdown: Option<String>,
}

fn read(input: Option<&RawValue>) -> Result<Input, String> {
    let input = input.ok_or("it has no input")?;
    serde_json::from_str(input.get()).map_err(|error| error.to_string())
}

pub(super) fn ask(agent: &str, input: Option<&RawValue>) -> Result<Ask, String> {
    let questions = read(input)?.questions.into_iter().map(item).collect();
    Ok(draft::ask(agent, Kind::Choice, questions, &MODES))
}

fn item(asked: Asked) -> Item {
    let option = |option: AskedOption| Choice {
        value: option.label.clone(),
        label: option.label,
        description: option.description.filter(|text| !text.is_empty()),
        preview: option.preview.or(option.markdown),
    };
    let mut item = draft::item(asked.question);
    item.header = asked.header;
    item.options = draft::distinct(asked.options.into_iter().map(option).collect());
    item.multiple = asked.multi_select;
    // Claude Code's own screen always has a row for own words.
    item.custom = true;
    item
}

/// What `answers` and `annotations` have to be for an answer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Given {
    pub(super) answers: Map<String, Value>,
    pub(super) annotations: Map<String, Value>,
}

pub(super) fn given(request: &Request<'_>, answer: &Answer) -> Result<Given, String> {
    let input = read(request.input)?;
    if answer.answers.len() != input.questions.len() {
        return Err(format!("{} answers for {} questions", answer.answers.len(), input.questions.len()));
    }
    let takes_notes = request.display_name.is_some();
    let mut given = Given::default();
    for (i, (asked, picks)) in input.questions.iter().zip(&answer.answers).enumerate() {
        let note = answer.notes.get(i).and_then(Option::as_deref);
        let mut annotation = Map::new();
        let text = match (picks.is_empty(), note) {
            (true, None) => continue,
            // Nothing picked: the note is the answer in own words.
            (true, Some(note)) => note.to_owned(),
            (false, Some(note)) if takes_notes => {
                annotation.insert("notes".to_owned(), Value::from(note));
                answers::join(picks)
            }
            // Before 2.1.45 a note beside an answer is lost without a word, so it goes into the answer.
            (false, Some(note)) => format!("{} (note: {note})", answers::join(picks)),
            (false, None) => answers::join(picks),
        };
        let chosen = asked.options.iter().find(|option| picks.as_slice() == [option.label.as_str()]);
        if let Some(chosen) = chosen {
            let shown = [("preview", &chosen.preview), ("markdown", &chosen.markdown)];
            for (name, preview) in shown {
                if let Some(preview) = preview {
                    annotation.insert(name.to_owned(), Value::from(preview.as_str()));
                }
            }
        }
        given.answers.insert(asked.question.clone(), Value::from(text));
        if !annotation.is_empty() {
            given.annotations.insert(asked.question.clone(), Value::Object(annotation));
        }
    }
    Ok(given)
}

/// The decision that carries an answer.
pub(super) fn outcome(request: &Request<'_>, answer: &Answer) -> Result<Value, Unspeakable> {
    let given = given(request, answer).map_err(Unspeakable::Misfit)?;
    if given.answers.is_empty() && request.requires_user_interaction.is_none() {
        // Versions before 2.1.157 tell the model that it was answered, with nothing.
        return Ok(wire::deny(NOTHING));
    }
    let input = request.input.map_or("{}", RawValue::get);
    let mut input: Map<String, Value> =
        serde_json::from_str(input).map_err(|error| Unspeakable::Unreadable(error.to_string()))?;
    input.insert("answers".to_owned(), Value::Object(given.answers));
    if !given.annotations.is_empty() {
        input.insert("annotations".to_owned(), Value::Object(given.annotations));
    }
    Ok(json!({ "behavior": "allow", "updatedInput": input }))
}

const NOTHING: &str = "The user did not answer the questions.";

/// What the agent went on with, by item.
#[derive(Debug)]
pub(super) struct Picked {
    pub(super) answers: Vec<Vec<String>>,
    pub(super) notes: Vec<Option<String>>,
}

/// The answers that a tool result reports.
pub(super) fn picked(request: &Request<'_>, result: &Reported) -> Option<Picked> {
    let items: Vec<Item> = read(request.input).ok()?.questions.into_iter().map(item).collect();
    let answers = result.answers.as_ref()?;
    let picks = |item: &Item| {
        answers.get(&item.question).map(|value| answers::split(value, item)).unwrap_or_default()
    };
    let note = |item: &Item| {
        let annotation = result.annotations.as_ref()?.get(&item.question)?;
        annotation.get("notes")?.as_str().map(str::to_owned)
    };
    Some(Picked { answers: items.iter().map(picks).collect(), notes: items.iter().map(note).collect() })
}

/// `tool_use_result` of an answered question.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Reported {
    #[serde(default)]
    pub(super) answers: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) annotations: Option<Map<String, Value>>,
}

pub(super) fn declined(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!(
            "The user declined to answer (in the askd inbox) and gave this reason: {reason}\n\
             Nothing was chosen. Go on with this in mind."
        ),
        None => "The user declined to answer (in the askd inbox) and gave no reason. Nothing was chosen: do not take any \
                 option as their answer. Go on without it, or say what you cannot do."
            .to_owned(),
    }
}
