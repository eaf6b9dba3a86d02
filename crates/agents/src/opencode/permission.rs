//! `permission.asked`: may the agent do this? Once, always, or not.
//!
//! Without a message a rejection ends the turn, and with it every other permission that waits in the session;
//! with a message the model reads it and goes on. So "decline" is a rejection with a message, "interrupt" one
//! without.

use askd_core::question::{Body, BodyFormat, Choice};
use askd_core::{Answer, Ask, ItemAnswer, Kind, RejectMode, Settlement};
use serde_json::{Value, json};

use super::question::text_item;
use super::wire::PermissionRequest;
use crate::codec::Unspeakable;

pub(super) const ONCE: &str = "once";
pub(super) const ALWAYS: &str = "always";
pub(super) const REJECT: &str = "reject";
/// The text for a decline without a reason: without any message the turn would end.
const DECLINED: &str = "The user declined this.";

pub(super) fn ask(agent: &str, request: &PermissionRequest) -> Ask {
    let what = if request.patterns.is_empty() { String::new() } else { request.patterns.join(", ") };
    let mut item = text_item(match what.as_str() {
        "" => format!("Allow {}?", request.permission),
        what => format!("Allow {}: {what}?", request.permission),
    });
    item.header = Some(request.permission.clone());
    item.custom = false;
    item.required = true;
    item.options.push(choice(ONCE, "Allow once", None));
    if !request.always.is_empty() {
        let scope = format!("{}, until OpenCode is restarted", request.always.join(", "));
        item.options.push(choice(ALWAYS, "Allow always", Some(scope)));
    }
    let end = "Ends the turn, and every other permission that waits in this session; with a note the agent reads it and goes on";
    item.options.push(choice(REJECT, "Reject", Some(end.to_owned())));
    Ask {
        session_id: None,
        agent: agent.to_owned(),
        kind: Kind::Permission,
        questions: vec![item],
        body: body(&request.metadata),
        next_modes: Vec::new(),
        context: askd_core::Context::default(),
        tool: None,
        reject_modes: vec![RejectMode::Decline, RejectMode::Interrupt],
        deadline: None,
    }
}

fn choice(value: &str, label: &str, description: Option<String>) -> Choice {
    Choice { label: label.to_owned(), value: value.to_owned(), description, preview: None }
}

/// The command or the diff of the permission.
fn body(metadata: &Value) -> Option<Body> {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(text) = text("command") {
        return Some(Body { format: BodyFormat::Command, text });
    }
    if let Some(text) = text("diff") {
        return Some(Body { format: BodyFormat::Diff, text });
    }
    let empty = metadata.as_object().is_none_or(serde_json::Map::is_empty);
    let text = serde_json::to_string_pretty(metadata).ok().filter(|_| !empty)?;
    Some(Body { format: BodyFormat::Text, text })
}

/// The server's word for it, and the message to the model.
pub(super) fn reply_of(settled: &Settlement) -> Result<(&'static str, Option<String>), Unspeakable> {
    match settled {
        Settlement::Answered(answer) => picked(answer),
        Settlement::Rejected { mode: RejectMode::Decline, reason } => {
            Ok((REJECT, Some(reason.clone().unwrap_or_else(|| DECLINED.to_owned()))))
        }
        Settlement::Rejected { mode: RejectMode::Interrupt, .. } => Ok((REJECT, None)),
        Settlement::Rejected { .. } => Err(Unspeakable::CannotCarry("a cancelled permission")),
    }
}

fn picked(answer: &Answer) -> Result<(&'static str, Option<String>), Unspeakable> {
    let note = answer.notes.first().cloned().flatten();
    match answer.answers.first().and_then(ItemAnswer::only_pick) {
        Some(ONCE) => Ok((ONCE, None)),
        Some(ALWAYS) => Ok((ALWAYS, None)),
        Some(REJECT) => Ok((REJECT, note)),
        _ => Err(Unspeakable::Misfit("it needs one of the picks once, always and reject".to_owned())),
    }
}

pub(super) fn speak(settled: &Settlement) -> Result<(&'static str, Option<Vec<u8>>), Unspeakable> {
    let (reply, message) = reply_of(settled)?;
    if let Settlement::Answered(answer) = settled
        && reply != REJECT
        && answer.notes.iter().flatten().any(|note| !note.trim().is_empty())
    {
        return Err(Unspeakable::CannotCarry("a note beside a permission that is given"));
    }
    let mut body = json!({ "reply": reply });
    if let Some(message) = message {
        body["message"] = Value::String(message);
    }
    Ok(("reply", Some(body.to_string().into_bytes())))
}
