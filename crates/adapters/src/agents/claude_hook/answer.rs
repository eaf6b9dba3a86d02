//! From an outcome to what a `PermissionRequest` hook decides.
//!
//! In: the tool's input and what the person said. Out: `{"behavior":"allow","updatedInput":...}` with the whole input echoed (the
//! only form that every version since 2.0.71 takes), or a deny whose message the model reads word for word.

use askd_core::{Answer, RejectMode, Settlement};
use serde_json::{Map, Value, json};

use super::question::Tool;

/// What the hook decides.
pub fn decision(tool: Tool, input: &Value, settlement: &Settlement) -> Value {
    match settlement {
        Settlement::Answered(answer) => {
            let input = match tool {
                Tool::AskUserQuestion => answered(input, answer),
                Tool::ExitPlanMode => approved(input, answer),
            };
            json!({ "behavior": "allow", "updatedInput": input })
        }
        Settlement::Rejected { mode, reason } => {
            let message = declined(tool, reason.as_deref());
            json!({ "behavior": "deny", "message": message, "interrupt": *mode == RejectMode::Interrupt })
        }
    }
}

fn object(input: &Value) -> Map<String, Value> {
    input.as_object().cloned().unwrap_or_default()
}

fn answered(input: &Value, answer: &Answer) -> Value {
    let mut updated = object(input);
    let (mut answers, mut annotations) = (Map::new(), Map::new());
    for (i, question) in questions(input).iter().enumerate() {
        let Some(text) = question.get("question").and_then(Value::as_str) else { continue };
        let picks = answer.answers.get(i).map(Vec::as_slice).unwrap_or_default();
        let mut annotation = Map::new();
        if let Some(spoken) = spoken(picks) {
            answers.insert(text.to_owned(), Value::String(spoken));
            if let ([pick], Some(preview)) = (picks, preview(question, picks)) {
                debug_assert!(!pick.is_empty());
                annotation.insert("preview".to_owned(), Value::String(preview));
            }
        }
        if let Some(Some(note)) = answer.notes.get(i) {
            annotation.insert("notes".to_owned(), Value::String(note.clone()));
        }
        if !annotation.is_empty() {
            annotations.insert(text.to_owned(), Value::Object(annotation));
        }
    }
    updated.insert("answers".to_owned(), Value::Object(answers));
    if !annotations.is_empty() {
        updated.insert("annotations".to_owned(), Value::Object(annotations));
    }
    Value::Object(updated)
}

fn approved(input: &Value, answer: &Answer) -> Value {
    let mut updated = object(input);
    if let Some(plan) = &answer.edited_plan {
        updated.insert("plan".to_owned(), Value::String(plan.clone()));
    }
    Value::Object(updated)
}

fn declined(tool: Tool, reason: Option<&str>) -> String {
    match (tool, reason) {
        (Tool::AskUserQuestion, Some(reason)) => format!("The user declined to answer, and says: {reason}"),
        (Tool::AskUserQuestion, None) => "The user declined to answer and gave no reason.".to_owned(),
        (Tool::ExitPlanMode, Some(reason)) => {
            format!("The user did not approve the plan. To tell you how to proceed, the user said:\n{reason}")
        }
        (Tool::ExitPlanMode, None) => "The user did not approve the plan and gave no reason.".to_owned(),
    }
}

pub(super) fn questions(input: &Value) -> &[Value] {
    input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The picks of one item as one text, joined as the program's own dialog joins them; `None` is "skipped".
pub fn spoken(picks: &[String]) -> Option<String> {
    match picks {
        [] => None,
        // One text stands for itself: it is compared with the labels before anything is split.
        [only] => Some(only.clone()),
        several => Some(several.iter().map(|pick| quoted(pick)).collect::<Vec<_>>().join(", ")),
    }
}

/// One pick among several.
pub fn quoted(pick: &str) -> String {
    if pick.contains(", ") || pick.contains('"') {
        Value::String(pick.to_owned()).to_string()
    } else {
        pick.to_owned()
    }
}

fn preview(question: &Value, picks: &[String]) -> Option<String> {
    let options = question.get("options")?.as_array()?;
    let picked = options
        .iter()
        .find(|option| option.get("label").and_then(Value::as_str) == picks.first().map(String::as_str))?;
    picked.get("preview").and_then(Value::as_str).map(str::to_owned)
}
