//! The conversation that a request carries, with the protocol taken away.
//!
//! In: entries, pushed by a dialect in the order of the request. Out: the place in the script (scenario and
//! step), the tool results in order, the tools on offer, and the path of the plan file.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::script::is_name_char;

/// The marker by which a prompt picks its scenario.
const MARKER: &str = "SCENARIO:";

/// What a tool answered, as the model saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: String,
    /// The tool, if the call is in the same conversation.
    pub name: Option<String>,
    /// All text of the result; a part that is no text is shown as its type in brackets.
    pub text: String,
    /// Only Anthropic Messages can say this; elsewhere it is false.
    pub is_error: bool,
    /// The scenario during which it came.
    pub scenario: Option<String>,
}

/// Where in the script a conversation is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) scenario: Option<String>,
    /// Rounds of tool results since the marker. The results of parallel calls are one round.
    pub(super) step: usize,
}

#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) tools: Vec<String>,
    pub(super) results: Vec<ToolResult>,
    pub(super) last_user_text: String,
    pub(super) plan_path: Option<String>,
    place: Place,
    /// Index in `results` at which the last round begins.
    last_round: usize,
    in_round: bool,
    calls: HashMap<String, String>,
}

impl Conversation {
    pub(super) fn user_text(&mut self, text: &str) {
        self.other_text(text);
        text.clone_into(&mut self.last_user_text);
        if let Some(scenario) = marker(text) {
            self.place = Place { scenario: Some(scenario), step: 0 };
            self.last_round = self.results.len();
            self.in_round = false;
        }
    }

    /// Text that picks no scenario: system prompts, reminders.
    pub(super) fn other_text(&mut self, text: &str) {
        if let Some(path) = plan_path(text) {
            self.plan_path = Some(path);
        }
    }

    pub(super) fn assistant(&mut self) {
        self.in_round = false;
    }

    pub(super) fn call(&mut self, id: &str, name: &str) {
        self.assistant();
        self.calls.insert(id.to_owned(), name.to_owned());
    }

    pub(super) fn result(&mut self, call_id: &str, text: String, is_error: bool) {
        if !self.in_round {
            self.in_round = true;
            self.place.step += 1;
            self.last_round = self.results.len();
        }
        self.results.push(ToolResult {
            call_id: call_id.to_owned(),
            name: self.calls.get(call_id).cloned(),
            text,
            is_error,
            scenario: self.place.scenario.clone(),
        });
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The results of the last round since the marker.
    pub(super) fn last_results(&self) -> &[ToolResult] {
        self.results.get(self.last_round..).unwrap_or_default()
    }
}

/// The text of a content that is a string or a list of parts, as all three protocols have it.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn part_text(part: &Value) -> String {
    match (part.get("text").and_then(Value::as_str), part.get("type").and_then(Value::as_str)) {
        (Some(text), _) => text.to_owned(),
        (None, Some(kind)) => format!("[{kind}]"),
        (None, None) => part.as_str().map_or_else(|| part.to_string(), str::to_owned),
    }
}

/// The last marker in a text.
fn marker(text: &str) -> Option<String> {
    let (_, after) = text.rsplit_once(MARKER)?;
    // A full stop may end the sentence rather than belong to the name.
    let name: String = after.chars().take_while(|c| is_name_char(*c)).collect();
    let name = name.trim_end_matches('.');
    (!name.is_empty()).then(|| name.to_owned())
}

/// The absolute path `.../plans/<slug>.md` that Claude Code tells the model in plan mode.
fn plan_path(text: &str) -> Option<String> {
    let is_edge = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | '<' | '>');
    text.split(is_edge)
        .filter_map(|word| word.find(".md").map(|end| &word[..end + 3]))
        .rfind(|word| word.starts_with('/') && word.contains("/plans/"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(scenario: &str, step: usize) -> Place {
        Place { scenario: Some(scenario.to_owned()), step }
    }

    #[test]
    fn parallel_results_are_one_round() {
        let mut talk = Conversation::default();
        talk.user_text("SCENARIO:ask go");
        talk.call("a", "x");
        talk.call("b", "y");
        talk.result("a", "1".into(), false);
        talk.user_text("said meanwhile");
        talk.result("b", "2".into(), true);
        assert_eq!(talk.place(), &place("ask", 1));
        assert_eq!(talk.last_results().len(), 2);
        talk.call("c", "x");
        talk.result("c", "3".into(), false);
        assert_eq!(talk.place(), &place("ask", 2));
        assert_eq!(talk.last_results()[0].text, "3");
    }

    #[test]
    fn a_rejected_result_before_a_new_marker_belongs_to_the_old_scenario() {
        let mut talk = Conversation::default();
        talk.user_text("SCENARIO:one");
        talk.call("a", "x");
        talk.result("a", "rejected".into(), true);
        talk.user_text("now SCENARIO:two.");
        assert_eq!(talk.place(), &place("two", 0));
        assert!(talk.last_results().is_empty());
        assert_eq!(talk.results[0].scenario.as_deref(), Some("one"));
    }

    #[test]
    fn the_plan_path_is_read_from_prose() {
        let mut talk = Conversation::default();
        talk.other_text(
            "You should create your plan at `/h/.claude/plans/a-b.md` using Write. See docs/plans/x.md.",
        );
        assert_eq!(talk.plan_path.as_deref(), Some("/h/.claude/plans/a-b.md"));
    }

    #[test]
    fn content_is_read_whatever_its_form() {
        assert_eq!(text_of(&json!("a")), "a");
        assert_eq!(text_of(&json!([{ "type": "text", "text": "a" }, { "type": "image" }])), "a\n[image]");
        assert_eq!(text_of(&Value::Null), "");
    }
}
