//! The `question` tool: from what OpenCode asks to what the inbox shows, and back.
//!
//! The server checks nothing, so the answers are what the core has checked: picks are labels, own words go as
//! they are typed. It has no place for notes: a note becomes one more entry of its item, which the model
//! reads behind the picks. A rejection ends the turn without a word to the model; there is no other.

use std::collections::HashSet;

use askd_core::question::{Body, BodyFormat, Bounds, Choice, Item};
use askd_core::{Answer, Ask, ItemAnswer, Kind, RejectMode, Settlement};
use serde_json::{Value, json};

use super::wire::{QuestionInfo, QuestionRequest};
use crate::acp::draft;
use crate::codec::Unspeakable;

/// The text of a tool call without one.
const NO_TEXT: &str = "The agent asks without saying what.";
const AS_IT_CAME: &str =
    " (askd cannot show this question's options; it is beside it as it came: answer in your own words)";
/// Characters of a question, and bytes of a request, that are shown as they came: as much as a person reads.
const MAX_TEXT_CHARS: usize = 2000;
const BODY_BYTES: usize = 64 << 10;

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

/// A request that no form can show, as it came: an item in own words for each of its questions, and the
/// request beside them.
pub(super) fn as_it_came(agent: &str, properties: &str) -> Ask {
    let value: Value = serde_json::from_str(properties).unwrap_or_default();
    let asked = value.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let shown = |asked: &Value| {
        let text = asked.get("question").and_then(Value::as_str).unwrap_or(NO_TEXT);
        text_item(text.chars().take(MAX_TEXT_CHARS).collect::<String>() + AS_IT_CAME)
    };
    let mut questions: Vec<Item> = asked.iter().map(shown).collect();
    if questions.is_empty() {
        questions.push(text_item(format!("{NO_TEXT}{AS_IT_CAME}")));
    }
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    let text = draft::beginning(&text, BODY_BYTES).to_owned();
    let mut ask = ask(agent, QuestionRequest { questions: Vec::new() });
    ask.questions = questions;
    ask.body = Some(Body { format: BodyFormat::Text, text });
    ask
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
    let takes_only_options = info.takes_only_options();
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
    // Only OpenCode's own questions take no own words; "leave plan mode?" reads all but "No" as consent, a
    // skip, too.
    item.required = takes_only_options;
    item.custom = !item.required;
    item.options = options;
    item
}

/// The answers in the server's form, in which it also repeats them.
pub(super) fn wire_answers(answer: &Answer) -> Vec<Vec<String>> {
    let mut answers: Vec<Vec<String>> = answer.answers.iter().map(ItemAnswer::to_texts).collect();
    for (texts, note) in answers.iter_mut().zip(&answer.notes) {
        texts.extend(note.clone());
    }
    answers
}

/// The last word of the path, and the body.
pub(super) fn speak(
    asked: &[QuestionInfo],
    settled: &Settlement,
) -> Result<(&'static str, Option<Vec<u8>>), Unspeakable> {
    match settled {
        Settlement::Answered(answer) => {
            for (i, info) in asked.iter().enumerate().filter(|(_, info)| info.takes_only_options()) {
                let given = answer.answers.get(i).cloned().unwrap_or_default();
                let offered = |pick: &String| info.options.iter().any(|option| option.label == *pick);
                if given.is_empty() || !given.texts().all(offered) {
                    return Err(Unspeakable::Misfit(format!("{:?} takes only its options", info.question)));
                }
            }
            let body = json!({ "answers": wire_answers(answer) });
            Ok(("reply", Some(body.to_string().into_bytes())))
        }
        Settlement::Rejected { mode: RejectMode::Interrupt, .. } => Ok(("reject", None)),
        Settlement::Rejected { .. } => {
            Err(Unspeakable::CannotCarry("a rejection that lets the turn go on; answer in own words instead"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opencode_would_read_a_skip_of_as_consent_is_not_skipped() {
        let request = |custom: serde_json::Value| -> QuestionRequest {
            let asked = json!({ "question": "Build?", "options": [{ "label": "Yes" }, { "label": "No" }], "custom": custom });
            serde_json::from_value(json!({ "questions": [asked] })).unwrap()
        };
        let said = |custom: serde_json::Value, picks: &[&str]| {
            let texts = picks.iter().map(|pick| (*pick).to_owned());
            let item = &ask("opencode", request(custom.clone())).questions[0];
            let answers = vec![ItemAnswer::of_values(texts, item)];
            let answer = Answer { answers, notes: vec![None], edited_plan: None, next_mode: None };
            speak(&request(custom).questions, &Settlement::Answered(answer)).is_ok()
        };
        let item = &ask("opencode", request(false.into())).questions[0];
        assert!(item.required && !item.custom);
        assert!(said(false.into(), &["Yes"]) && !said(false.into(), &[]) && !said(false.into(), &["later"]));
        assert!(said(json!(null), &[]) && said(json!(null), &["later"]));
    }
}
