//! The `stdin` of Claude Code's hooks, and their output.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::question::Tool;
use crate::claude::Takes;

/// The hook's input, as far as askd needs it; unknown members are passed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookInput {
    pub hook_event_name: String,
    pub session_id: String,
    #[serde(default)]
    pub transcript_path: Option<String>,
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub tool_name: Option<String>,
    #[serde(default)]
    pub tool_input: Value,
    /// On 2.1.200 and newer, not on 2.1.120: a sign of age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// Never in `PermissionRequest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_response: Option<Value>,
}

/// The event of a hook, for those that askd installs.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    /// The program waits: the hook may decide.
    PermissionRequest,
    /// A call is about to be made.
    PreToolUse { call_id: String },
    /// The call is over.
    PostToolUse { call_id: String },
}

impl HookInput {
    /// The abilities of this version, as far as its hooks show them; they do not show whether it takes an
    /// empty answer.
    pub fn takes(&self) -> Takes {
        Takes { notes: self.prompt_id.is_some(), nothing: false }
    }

    /// The event and its tool; `None` if askd has nothing to do with it.
    pub fn event(&self) -> Option<(HookEvent, Tool)> {
        let tool = Tool::parse(self.tool_name.as_deref()?)?;
        let call_id = || self.tool_use_id.clone().filter(|id| !id.is_empty());
        let event = match self.hook_event_name.as_str() {
            "PermissionRequest" => HookEvent::PermissionRequest,
            "PreToolUse" => HookEvent::PreToolUse { call_id: call_id()? },
            "PostToolUse" => HookEvent::PostToolUse { call_id: call_id()? },
            _ => return None,
        };
        Some((event, tool))
    }
}

/// The hook's output for a decision.
pub fn hook_output(decision: Value) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_events_of_our_hooks_are_understood_and_no_others() {
        let read = |text: &str| serde_json::from_str::<HookInput>(text).unwrap().event();
        let base = r#""session_id":"s","tool_name":"AskUserQuestion","tool_input":{"questions":[]}"#;
        let event = |name: &str, more: &str| read(&format!(r#"{{"hook_event_name":"{name}",{base}{more}}}"#));
        assert_eq!(
            event("PermissionRequest", ""),
            Some((HookEvent::PermissionRequest, Tool::AskUserQuestion))
        );
        let id = r#","tool_use_id":"toolu_1","effort":{"level":"medium"}"#;
        let call_id = "toolu_1".to_owned();
        assert_eq!(event("PreToolUse", id).unwrap().0, HookEvent::PreToolUse { call_id: call_id.clone() });
        assert_eq!(event("PostToolUse", id).unwrap().0, HookEvent::PostToolUse { call_id });
        assert_eq!(event("PreToolUse", ""), None);
        assert_eq!(event("Stop", ""), None);
        assert_eq!(
            read(r#"{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash"}"#),
            None
        );
    }
}
