//! The `question` tool: from what OpenCode asks to what the inbox shows, and back.
//!
//! The server checks nothing, so the answers are what the core has checked: picks are labels, own words go as they are typed.
//! It has no place for notes: a note becomes one more entry of its item, which the model reads behind the picks. A rejection
//! ends the turn without a word to the model; there is no other.

use std::collections::HashSet;

use askd_core::question::{Bounds, Choice, Item};
use askd_core::{Answer, Ask, Kind, RejectMode, Settlement};
use serde_json::json;

use super::wire::{QuestionInfo, QuestionRequest};
use crate::codec::Unspeakable;

/// Shown where the model has called the tool without a text.
const NO_TEXT: &str = "The agent asks without saying what.";

pub(super) fn ask(agent: &str, request: QuestionRequest) -> Ask {
    let mut questions: Vec<Item> = request.questions.into_iter().map(item).collect();
    if questions.is_empty() {
        questions.push(text_item(NO_TEXT.to_owned()));
    }
    Ask {
        session_id: None,
        agent: agent.to_owned(),
        kind: Kind::Choice,
        questions,
        body: None,
        next_modes: Vec::new(),
        context: askd_core::Context::default(),
        tool: None,
        reject_modes: vec![RejectMode::Interrupt],
        deadline: None,
    }
}

pub(super) fn text_item(question: String) -> Item {
    Item {
        question,
        header: None,
        options: Vec::new(),
        multiple: false,
        custom: true,
        secret: false,
        required: false,
        input: None,
        default: None,
        bounds: Bounds::default(),
        url: None,
        key: None,
    }
}

fn item(info: QuestionInfo) -> Item {
    let header = info.header.filter(|header| !header.trim().is_empty());
    let text = Some(info.question).filter(|text| !text.trim().is_empty());
    let mut labels = HashSet::new();
    let choice = |label: String, description: Option<String>| Choice {
        value: label.clone(),
        label,
        description: description.filter(|text| !text.is_empty()),
        preview: None,
    };
    let options: Vec<Choice> = info
        .options
        .into_iter()
        .filter(|option| !option.label.trim().is_empty() && labels.insert(option.label.clone()))
        .map(|option| choice(option.label, option.description))
        .collect();
    let mut item = text_item(text.or_else(|| header.clone()).unwrap_or_else(|| NO_TEXT.to_owned()));
    item.header = header;
    item.multiple = info.multiple;
    item.custom = info.custom.unwrap_or(true) || options.is_empty();
    item.options = options;
    item
}

/// The answers as the server gets them, which is also how it repeats them.
pub(super) fn wire_answers(answer: &Answer) -> Vec<Vec<String>> {
    let mut answers = answer.answers.clone();
    for (picks, note) in answers.iter_mut().zip(&answer.notes) {
        picks.extend(note.clone());
    }
    answers
}

/// The last word of the path, and the body.
pub(super) fn speak(settled: &Settlement) -> Result<(&'static str, Option<Vec<u8>>), Unspeakable> {
    match settled {
        Settlement::Answered(answer) => {
            let body = json!({ "answers": wire_answers(answer) });
            Ok(("reply", Some(body.to_string().into_bytes())))
        }
        Settlement::Rejected { mode: RejectMode::Interrupt, .. } => Ok(("reject", None)),
        Settlement::Rejected { .. } => {
            Err(Unspeakable::CannotCarry("a rejection that lets the turn go on; answer in own words instead"))
        }
    }
}
