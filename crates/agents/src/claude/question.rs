//! `AskUserQuestion`: one to four items with options, previews, own words and notes.
//!
//! In: the input of the tool, by whichever road it was seen, and what this version can take. Out: an [`Ask`],
//! and the updated input that answers it: the whole input as it came (the only form that every version since
//! 2.0.71 takes), `answers` keyed by the exact text of each question with text values, and `annotations` for
//! notes and previews.

use askd_core::question::{Choice, Item};
use askd_core::{Answer, Ask, Kind, RejectMode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{answers, wire};
use crate::acp::draft;
use crate::codec::Unspeakable;
use crate::outside::or_default;

pub(crate) const TOOL: &str = "AskUserQuestion";

pub(super) const MODES: [RejectMode; 2] = [RejectMode::Decline, RejectMode::Interrupt];

/// The abilities of a version, by the signs of age that a channel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takes {
    /// A note beside an answer. Before 2.1.45 it is lost without a word.
    pub notes: bool,
    /// An empty answer. Before 2.1.157 the model would read it as an answer.
    pub nothing: bool,
}

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
    #[serde(default, deserialize_with = "or_default")]
    options: Vec<AskedOption>,
    #[serde(default, deserialize_with = "or_default")]
    multi_select: bool,
}

#[derive(Deserialize)]
struct AskedOption {
    label: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    preview: Option<String>,
    /// The name of previews from 2.1.45 to 2.1.68.
    #[serde(default)]
    markdown: Option<String>,
}

fn read(input: &Value) -> Result<Vec<Asked>, String> {
    let Input { questions } = Input::deserialize(input).map_err(|error| error.to_string())?;
    if questions.is_empty() {
        return Err("it asks nothing".to_owned());
    }
    // Answers are keyed by the text: of two with one text, one answer would be lost.
    let same = |(i, asked): (usize, &Asked)| questions[..i].iter().any(|one| one.question == asked.question);
    match questions.iter().enumerate().find(|at| same(*at)) {
        Some((_, asked)) => Err(format!("two of its questions have the same text: {:?}", asked.question)),
        None => Ok(questions),
    }
}

pub(super) fn items(input: &Value) -> Result<Vec<Item>, String> {
    Ok(read(input)?.into_iter().map(item).collect())
}

pub(crate) fn ask(agent: &str, input: &Value) -> Result<Ask, String> {
    Ok(draft::ask(agent, Kind::Choice, items(input)?, &MODES))
}

fn item(asked: Asked) -> Item {
    let option = |option: AskedOption| Choice {
        value: option.label.clone(),
        label: option.label,
        description: option.description.filter(|text| !text.is_empty()),
        preview: option.preview.or(option.markdown),
    };
    let mut item = draft::item(asked.question);
    item.header = asked.header.filter(|text| !text.is_empty());
    // A label that is listed twice is one option: nothing tells the two apart for the model either.
    let mut labels = std::collections::HashSet::new();
    let options = asked.options.into_iter().map(option);
    item.options = options.filter(|option| labels.insert(option.value.clone())).collect();
    for option in item.options.iter_mut().filter(|option| option.label.trim().is_empty()) {
        option.label = "(empty)".to_owned();
    }
    item.multiple = asked.multi_select;
    // Claude Code's own screen always has a row for own words.
    item.custom = true;
    item
}

/// The members `answers` and `annotations` of an answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Given {
    pub(crate) answers: Map<String, Value>,
    pub(crate) annotations: Map<String, Value>,
}

pub(crate) fn given(input: &Value, takes: Takes, answer: &Answer) -> Result<Given, String> {
    let questions = read(input)?;
    if answer.answers.len() != questions.len() {
        return Err(format!("{} answers for {} questions", answer.answers.len(), questions.len()));
    }
    let mut given = Given::default();
    for (i, (asked, said)) in questions.iter().zip(&answer.answers).enumerate() {
        let texts = said.to_texts();
        let note = answer.notes.get(i).and_then(Option::as_deref);
        let mut annotation = Map::new();
        let text = match (said.is_empty(), note) {
            (true, None) => continue,
            // Nothing picked: the note is the answer in own words.
            (true, Some(note)) => note.to_owned(),
            (false, Some(note)) if takes.notes => {
                annotation.insert("notes".to_owned(), Value::from(note));
                answers::join(&texts)
            }
            (false, Some(note)) => format!("{} (note: {note})", answers::join(&texts)),
            (false, None) => answers::join(&texts),
        };
        let chosen =
            said.only_pick().and_then(|pick| asked.options.iter().find(|option| option.label == pick));
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

/// The decision for an answer.
pub(crate) fn outcome(input: &Value, takes: Takes, answer: &Answer) -> Result<Value, Unspeakable> {
    let given = given(input, takes, answer).map_err(Unspeakable::Misfit)?;
    if given.answers.is_empty() && !takes.nothing {
        return Ok(wire::deny(NOTHING));
    }
    let mut input = input.as_object().cloned().unwrap_or_default();
    input.insert("answers".to_owned(), Value::Object(given.answers));
    if !given.annotations.is_empty() {
        input.insert("annotations".to_owned(), Value::Object(given.annotations));
    }
    Ok(json!({ "behavior": "allow", "updatedInput": input }))
}

/// The text for the model when nothing is picked.
pub(crate) const NOTHING: &str = "The user did not answer the questions.";

/// The answers with which the agent continued, by item.
#[derive(Debug)]
pub(crate) struct Picked {
    pub(crate) answers: Vec<Vec<String>>,
    pub(crate) notes: Vec<Option<String>>,
}

/// The answers in a tool result.
pub(crate) fn picked(input: &Value, result: &Reported) -> Option<Picked> {
    let items = items(input).ok()?;
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
pub(crate) struct Reported {
    #[serde(default)]
    pub(crate) answers: Option<Map<String, Value>>,
    #[serde(default)]
    pub(crate) annotations: Option<Map<String, Value>>,
}

pub(crate) fn declined(reason: Option<&str>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_questions_with_one_text_are_left_to_the_agent() {
        let asks = |texts: [&str; 2]| {
            let asked = texts.map(|text| json!({ "question": text, "options": [{ "label": "A" }] }));
            ask("claude", &json!({ "questions": asked })).map(drop)
        };
        assert!(asks(["Which?", "Why?"]).is_ok());
        assert!(asks(["Which?", "Which?"]).unwrap_err().contains("the same text"));
    }
}
