//! Permission for any other tool. The options are once, the agent's own suggestions for longer, and no.
//!
//! In: the tool's name, input and suggestions. Out: an [`Ask`] with the command or the diff as its body, and
//! a decision with the unchanged input and the chosen suggestion in the agent's own bytes.

use askd_core::question::{Body, BodyFormat, Choice};
use askd_core::{Answer, Ask, ItemAnswer, Kind};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::question::MODES;
use super::wire::{self, Request};
use crate::acp::{draft, tool_content};
use crate::codec::Unspeakable;

pub(super) const ALLOW: &str = "allow";
const DENY: &str = "deny";
/// Followed by the place of the suggestion in the agent's list.
const SUGGESTION: &str = "allow-";

pub(super) fn ask(agent: &str, request: &Request<'_>) -> Ask {
    let tool = request.tool_name.as_deref().unwrap_or("a tool");
    let name = request.display_name.as_deref().unwrap_or(tool);
    let about = request.title.as_deref().or(request.description.as_deref());
    let about = about.filter(|text| !text.trim().is_empty());
    let mut item = draft::item(match about {
        Some(about) => format!("May Claude use {name}? {about}"),
        None => format!("May Claude use {name}?"),
    });
    item.header = Some(tool.to_owned());
    item.options = vec![draft::choice(ALLOW, "Allow once")];
    let suggestions = request.permission_suggestions.iter().flatten().enumerate();
    item.options.extend(suggestions.map(|(i, suggestion)| suggested(i, suggestion)));
    item.options.push(draft::choice(DENY, "Deny"));
    let mut ask = draft::ask(agent, Kind::Permission, vec![item], &MODES);
    ask.body = body(request.input);
    ask
}

fn suggested(i: usize, suggestion: &RawValue) -> Choice {
    let value: Value = serde_json::from_str(suggestion.get()).unwrap_or_default();
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let list = |key: &str| value.get(key).and_then(Value::as_array).into_iter().flatten();
    let whither = match text("destination") {
        Some("session") => "for this session",
        Some("localSettings") => "from now on, in this project, for me",
        Some("projectSettings") => "from now on, in this project, for everybody",
        Some("userSettings") => "from now on, everywhere",
        _ => "from now on",
    };
    let rule = |rule: &Value| {
        let part = |key: &str| rule.get(key).and_then(Value::as_str);
        match (part("toolName"), part("ruleContent")) {
            (Some(tool), Some(content)) => Some(format!("{tool}({content})")),
            (tool, _) => tool.map(str::to_owned),
        }
    };
    let label = match text("type") {
        Some("addRules") if text("behavior") == Some("allow") => {
            let rules: Vec<String> = list("rules").filter_map(rule).collect();
            format!("Allow {} {whither}", rules.join(", "))
        }
        Some("setMode") => format!("Allow, and go on in mode {} {whither}", text("mode").unwrap_or("?")),
        Some("addDirectories") => {
            let folders: Vec<&str> = list("directories").filter_map(Value::as_str).collect();
            format!("Allow, and open {} {whither}", folders.join(", "))
        }
        _ => format!("Allow, with {}", suggestion.get()),
    };
    draft::choice(&format!("{SUGGESTION}{}", i + 1), &label)
}

fn body(input: Option<&RawValue>) -> Option<Body> {
    let input: Value = serde_json::from_str(input?.get()).ok()?;
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let path = text("file_path").or_else(|| text("notebook_path"));
    let diff = |old: Option<&str>, new: &str| json!({ "type": "diff", "path": path, "oldText": old, "newText": new });
    let mut blocks = Vec::new();
    match (text("old_string"), text("new_string"), text("content")) {
        (Some(old), Some(new), _) if path.is_some() => blocks.push(diff(Some(old), new)),
        (None, None, Some(content)) if path.is_some() => blocks.push(diff(None, content)),
        _ => {}
    }
    let mut body = tool_content::body_of(&blocks, Some(&input), None)?;
    // A diff without a path is a text.
    if body.format == BodyFormat::Diff && path.is_none() {
        body.format = BodyFormat::Text;
    }
    Some(body)
}

/// True if the answer says no.
pub(super) fn denies(answer: &Answer) -> bool {
    pick(answer) == Some(DENY)
}

fn pick(answer: &Answer) -> Option<&str> {
    answer.answers.first().and_then(ItemAnswer::only_pick)
}

pub(super) fn outcome(request: &Request<'_>, id: &str, answer: &Answer) -> Result<Vec<u8>, Unspeakable> {
    let pick = pick(answer).ok_or_else(|| Unspeakable::Misfit("a permission needs one pick".to_owned()))?;
    let note = answer.notes.first().and_then(Option::as_deref);
    if pick == DENY {
        return Ok(wire::response(id, &wire::deny(&declined(note))));
    }
    let suggestions = request.permission_suggestions.as_deref().unwrap_or_default();
    let chosen: Vec<&RawValue> = if pick == ALLOW {
        Vec::new()
    } else {
        let place = pick.strip_prefix(SUGGESTION).and_then(|place| place.parse::<usize>().ok());
        let chosen = place.and_then(|place| suggestions.get(place.checked_sub(1)?)).copied();
        vec![chosen.ok_or_else(|| Unspeakable::Misfit(format!("{pick:?} is none of the options")))?]
    };
    let input = request.input.ok_or_else(|| Unspeakable::Unreadable("it has no input".to_owned()))?;
    Ok(wire::response(id, &wire::allow(input, chosen)))
}

pub(super) fn declined(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("The user did not allow this (in the askd inbox) and said: {reason}"),
        None => "The user did not allow this (in the askd inbox) and gave no reason. It was not done. Go on without it, or \
                 say what you cannot do."
            .to_owned(),
    }
}
