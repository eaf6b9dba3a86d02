//! The script: what the model says, as a plain JSON file.
//!
//! In: a file, a string or a JSON value. Out: a [`Script`] that is known to be well formed, or an error that names
//! the scenario and turn.
//!
//! One form drives all three protocols. A script has named scenarios, a scenario is a list of turns, and a turn is
//! one answer of the model: text, tool calls, or both; or an error. A user message picks the scenario by containing
//! `SCENARIO:name` (letters, digits, `_`, `-`, `.`); each round of tool results after it moves one turn on. The place in
//! the script is read from the conversation in the request and nowhere else, so one server serves many sessions, and
//! a restarted agent goes on where it was.
//!
//! ```json
//! {
//!   "scenarios": {
//!     "ask": [
//!       { "text": "One question first.",
//!         "calls": [ { "name": "AskUserQuestion", "args": { "questions": [
//!           { "question": "Which auth method should we use?", "header": "Auth method", "multiSelect": false,
//!             "options": [ { "label": "JWT", "description": "Stateless tokens" },
//!                          { "label": "Session cookies", "description": "Server-side sessions" } ] } ] } } ] },
//!       { "text": "Thank you." }
//!     ],
//!     "plan": [
//!       { "calls": [ { "name": "Write", "args": { "file_path": "$PLAN_PATH", "content": "# Plan\n\n1. Do A\n" } } ] },
//!       { "calls": [ { "name": "ExitPlanMode", "args": {} } ] }
//!     ],
//!     "slow": [ { "delay_ms": 1500, "text": "That took a while." } ],
//!     "down": [ { "error": { "status": 529, "headers": { "x-should-retry": "false" } } } ]
//!   },
//!   "default": "ask",
//!   "plain": "ok"
//! }
//! ```
//!
//! - Past the end of a scenario the model says the last tool results back as text.
//! - `default` (optional) is the scenario of a conversation without a marker; without it the model says that it has none.
//! - `plain` (optional) is the answer to requests that offer no tools, such as titles and compaction.
//! - `$PLAN_PATH` inside any string of `args` becomes the path of Claude Code's plan file, read from the request.
//! - `args` that are a string instead of an object are a free-form call (`custom_tool_call`) in the responses protocol.
//! - `namespace` of a call (optional) is said in the responses protocol only, where Codex groups MCP tools by it.
//! - An error has a `status`, and optionally `body` and `headers`. The agent's retry meets the same turn, so the error
//!   stays until the conversation changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What [`Script::plain`] is when the file does not say.
const PLAIN: &str = "Scripted";

/// All that the model will say, by scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub scenarios: BTreeMap<String, Vec<Turn>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default = "plain")]
    pub plain: String,
}

/// One answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(default = "no_args")]
    pub args: Value,
}

/// An answer that is an HTTP error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("read the script {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("parse the script: {0}")]
    Json(#[from] serde_json::Error),
    #[error("use the script: scenario `{scenario}`: {why}")]
    Scenario { scenario: String, why: String },
}

fn plain() -> String {
    PLAIN.to_owned()
}

fn no_args() -> Value {
    Value::Object(serde_json::Map::new())
}

impl Script {
    pub fn from_file(path: &Path) -> Result<Self, ScriptError> {
        std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?
            .parse()
    }

    /// For tests that write their script with `json!`.
    pub fn from_value(value: Value) -> Result<Self, ScriptError> {
        serde_json::from_value::<Self>(value)?.checked()
    }

    fn checked(self) -> Result<Self, ScriptError> {
        let wrong =
            |scenario: &str, why: String| Err(ScriptError::Scenario { scenario: scenario.to_owned(), why });
        for (name, turns) in &self.scenarios {
            if name.is_empty() || !name.chars().all(is_name_char) {
                return wrong(name, "a name is letters, digits, `_`, `-` and `.`".to_owned());
            }
            if turns.is_empty() {
                return wrong(name, "it has no turns".to_owned());
            }
            for (index, turn) in turns.iter().enumerate() {
                if let Some(why) = turn.fault() {
                    return wrong(name, format!("turn {index}: {why}"));
                }
            }
        }
        match &self.default {
            Some(name) if !self.scenarios.contains_key(name) => {
                wrong(name, "it is the default, but not there".into())
            }
            _ => Ok(self),
        }
    }
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str::<Self>(text)?.checked()
    }
}

impl Turn {
    fn fault(&self) -> Option<&'static str> {
        let speaks = self.text.is_some() || !self.calls.is_empty();
        match &self.error {
            Some(_) if speaks => Some("it has an error beside text or calls"),
            Some(failure) if !(400..600).contains(&failure.status) => {
                Some("the status of an error is 400 to 599")
            }
            None if !speaks => Some("it has neither text, calls nor error"),
            _ if self.calls.iter().any(|call| !(call.args.is_object() || call.args.is_string())) => {
                Some("the args of a call are an object or a string")
            }
            _ => None,
        }
    }
}

/// What a scenario's name is made of; the marker in a prompt ends at the first other character.
pub(super) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(turns: Value) -> String {
        Script::from_value(json!({ "scenarios": { "s": turns } })).unwrap_err().to_string()
    }

    #[test]
    fn a_script_that_cannot_be_played_says_where() {
        assert_eq!(fault(json!([])), "use the script: scenario `s`: it has no turns");
        assert_eq!(
            fault(json!([{ "text": "a" }, {}])),
            "use the script: scenario `s`: turn 1: it has neither text, calls nor error"
        );
        assert!(fault(json!([{ "text": "a", "error": { "status": 500 } }])).contains("an error beside"));
        assert!(fault(json!([{ "error": { "status": 200 } }])).contains("400 to 599"));
        assert!(fault(json!([{ "calls": [{ "name": "x", "args": [] }] }])).contains("object or a string"));
        assert!(fault(json!([{ "txt": "a" }])).contains("unknown field `txt`"));
    }

    #[test]
    fn the_default_must_be_there() {
        let error = Script::from_value(json!({ "scenarios": {}, "default": "a" })).unwrap_err();
        assert_eq!(error.to_string(), "use the script: scenario `a`: it is the default, but not there");
    }

    #[test]
    fn a_script_survives_being_written_and_read() {
        let text = r#"{"scenarios":{"a":[{"calls":[{"name":"x"}],"delay_ms":5}]}}"#;
        let script: Script = text.parse().unwrap();
        assert_eq!(script.plain, "Scripted");
        assert_eq!(serde_json::to_string(&script).unwrap().parse::<Script>().unwrap(), script);
    }
}
