//! What the model says next: a pure function of the script and the conversation.
//!
//! In: a [`Script`] and a [`Conversation`]. Out: a [`Reply`] and how long to wait before giving it.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::conversation::{Conversation, Place, ToolResult};
use super::script::{Call, Failure, Script, Turn};

/// The word in `args` that stands for the path of Claude Code's plan file.
const PLAN_PATH: &str = "$PLAN_PATH";

/// One answer, before a dialect puts it into words.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Say { text: Option<String>, calls: Vec<Call> },
    Fail(Failure),
}

impl Reply {
    fn text(text: impl Into<String>) -> Self {
        Self::Say { text: Some(text.into()), calls: Vec::new() }
    }
}

/// Troubles of the script itself are said as text rather than as an HTTP error: an agent shows text at once,
/// and retries an error for minutes.
pub(super) fn reply(script: &Script, talk: &Conversation) -> (Reply, Duration) {
    if talk.tools.is_empty() {
        return at_once(Reply::text(&script.plain));
    }
    let Place { scenario, step } = talk.place();
    let Some(name) = scenario.as_ref().or(script.default.as_ref()) else {
        return at_once(Reply::text(
            "scripted-model: the prompt has no SCENARIO:name, and the script no default",
        ));
    };
    let Some(turns) = script.scenarios.get(name) else {
        return at_once(Reply::text(format!("scripted-model: the script has no scenario `{name}`")));
    };
    match turns.get(*step) {
        None => at_once(Reply::text(echo(talk.last_results()))),
        Some(turn) => (play(turn, talk), Duration::from_millis(turn.delay_ms.unwrap_or_default())),
    }
}

fn at_once(reply: Reply) -> (Reply, Duration) {
    (reply, Duration::ZERO)
}

fn play(turn: &Turn, talk: &Conversation) -> Reply {
    if let Some(failure) = &turn.error {
        return Reply::Fail(failure.clone());
    }
    let mut calls = turn.calls.clone();
    for call in &mut calls {
        if !fill(&mut call.args, talk.plan_path.as_deref()) {
            return Reply::text(format!(
                "scripted-model: {PLAN_PATH} is used, but the request names no plan file"
            ));
        }
    }
    Reply::Say { text: turn.text.clone(), calls }
}

/// Puts the plan path in; false if it is wanted and not known.
fn fill(value: &mut Value, plan_path: Option<&str>) -> bool {
    match value {
        Value::String(text) if text.contains(PLAN_PATH) => {
            let Some(path) = plan_path else { return false };
            *text = text.replace(PLAN_PATH, path);
            true
        }
        Value::Array(values) => values.iter_mut().all(|value| fill(value, plan_path)),
        Value::Object(fields) => fields.values_mut().all(|value| fill(value, plan_path)),
        _ => true,
    }
}

fn echo(results: &[ToolResult]) -> String {
    if results.is_empty() {
        return "scripted-model: the script has ended".to_owned();
    }
    let line = |result: &ToolResult| {
        let name = result.name.as_deref().unwrap_or("tool");
        let mark = if result.is_error { "failed" } else { "said" };
        format!("{name} {mark}: {}", result.text)
    };
    results.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn talk() -> Conversation {
        let mut talk = Conversation::default();
        talk.tools = vec!["x".to_owned()];
        talk
    }

    fn script(value: Value) -> Script {
        Script::from_value(value).unwrap()
    }

    #[test]
    fn the_script_is_played_turn_by_turn_and_then_the_results_are_said_back() {
        let script = script(json!({ "scenarios": { "s": [
            { "calls": [{ "name": "x", "args": { "a": 1 } }], "delay_ms": 7 }, { "text": "mid", "calls": [{ "name": "y" }] }
        ] } }));
        let mut talk = talk();
        talk.user_text("SCENARIO:s");
        let call = |name: &str, args| Call { name: name.to_owned(), namespace: None, args };
        assert_eq!(
            reply(&script, &talk),
            (Reply::Say { text: None, calls: vec![call("x", json!({ "a": 1 }))] }, Duration::from_millis(7))
        );
        talk.call("1", "x");
        talk.result("1", "one".into(), false);
        assert_eq!(
            reply(&script, &talk).0,
            Reply::Say { text: Some("mid".into()), calls: vec![call("y", json!({}))] }
        );
        talk.call("2", "y");
        talk.result("2", "two".into(), true);
        assert_eq!(reply(&script, &talk).0, Reply::text("y failed: two"));
    }

    #[test]
    fn a_request_without_tools_gets_the_plain_text() {
        let script = script(json!({ "scenarios": { "s": [{ "text": "a" }] }, "plain": "title" }));
        let mut talk = Conversation::default();
        talk.user_text("SCENARIO:s");
        assert_eq!(reply(&script, &talk).0, Reply::text("title"));
    }

    #[test]
    fn without_a_marker_the_default_is_played() {
        let value = json!({ "scenarios": { "s": [{ "text": "a" }] }, "default": "s" });
        let mut talk = talk();
        talk.user_text("hello");
        assert_eq!(reply(&script(value), &talk).0, Reply::text("a"));
        let none = reply(&script(json!({ "scenarios": {} })), &talk).0;
        assert!(matches!(none, Reply::Say { text: Some(text), .. } if text.contains("no default")));
    }

    #[test]
    fn the_plan_path_is_put_into_the_arguments() {
        let value = json!({ "scenarios": { "p": [{ "calls": [{ "name": "Write", "args": { "file_path": "$PLAN_PATH" } }] }] } });
        let script = script(value);
        let mut talk = talk();
        talk.user_text("SCENARIO:p");
        assert!(matches!(reply(&script, &talk).0, Reply::Say { text: Some(_), .. }));
        talk.other_text("plan file: /c/plans/a.md");
        let Reply::Say { calls, .. } = reply(&script, &talk).0 else { panic!("not said") };
        assert_eq!(calls[0].args, json!({ "file_path": "/c/plans/a.md" }));
    }
}
