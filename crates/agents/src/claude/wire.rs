//! The lines of stream-json, read into types at the border, and the few lines that a host writes.
//!
//! In: one line. Out: [`Line`] with borrowed raw parts. Unknown members are ignored; a known member of
//! another shape makes the line unreadable, which its reader tells as such.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::question::Takes;
use crate::outside::or_default;

#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) subtype: Option<String>,
    #[serde(default)]
    pub(super) request_id: Option<String>,
    #[serde(borrow, default)]
    pub(super) request: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) session_id: Option<String>,
    /// Set on a subagent's lines.
    #[serde(default)]
    pub(super) parent_tool_use_id: Option<String>,
    #[serde(borrow, default)]
    pub(super) tool_use_result: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) tool_result_meta: Option<Vec<ResultMeta>>,
    // system/init
    #[serde(default)]
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) claude_code_version: Option<String>,
    // system/elicitation_complete
    #[serde(default)]
    pub(super) elicitation_id: Option<String>,
    // result
    #[serde(default, deserialize_with = "or_default")]
    pub(super) is_error: bool,
    #[serde(default)]
    pub(super) result: Option<Value>,
    #[serde(default)]
    pub(super) terminal_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ResultMeta {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) id: String,
    /// The reason why a call did not run; absent on calls that ran, and before the versions that have it.
    #[serde(default)]
    pub(super) non_execution_kind: Option<String>,
}

/// A `control_request` of the agent.
#[derive(Debug, Deserialize)]
pub(super) struct Request<'a> {
    pub(super) subtype: String,
    #[serde(default)]
    pub(super) tool_name: Option<String>,
    /// Since 2.1.97; what is older loses notes (since 2.1.45 it would not, but says nothing of itself).
    #[serde(default)]
    pub(super) display_name: Option<String>,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) tool_use_id: Option<String>,
    #[serde(borrow, default)]
    pub(super) permission_suggestions: Option<Vec<&'a RawValue>>,
    /// Since 2.1.199; never a condition, only a sign of age.
    #[serde(default)]
    pub(super) requires_user_interaction: Option<bool>,
    // elicitation
    #[serde(default)]
    pub(super) mcp_server_name: Option<String>,
    #[serde(default)]
    pub(super) message: Option<String>,
    #[serde(default)]
    pub(super) mode: Option<String>,
    #[serde(default)]
    pub(super) requested_schema: Option<Value>,
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) elicitation_id: Option<String>,
}

impl Request<'_> {
    /// The input of the tool.
    pub(super) fn input(&self) -> Result<Value, String> {
        let input = self.input.ok_or("it has no input")?;
        serde_json::from_str(input.get()).map_err(|error| error.to_string())
    }

    /// The abilities of this version, as far as its requests show them.
    pub(super) fn takes(&self) -> Takes {
        Takes { notes: self.display_name.is_some(), nothing: self.requires_user_interaction.is_some() }
    }
}

/// The message of an `assistant` or `user` line.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) content: Value,
}

impl Message {
    pub(super) fn blocks(&self) -> &[Value] {
        self.content.as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

/// One call's result in a `user` line.
#[derive(Debug)]
pub(super) struct ToolResult<'a> {
    pub(super) call_id: &'a str,
    pub(super) is_error: bool,
    pub(super) text: String,
}

impl<'a> ToolResult<'a> {
    pub(super) fn read(block: &'a Value) -> Option<Self> {
        let is = |kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
        if !is("tool_result") {
            return None;
        }
        let text = match block.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        };
        let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        Some(Self { call_id: block.get("tool_use_id")?.as_str()?, is_error, text })
    }
}

/// The request of a stored line, with its id.
pub(super) fn stored(native: &RawValue) -> Result<(String, Request<'_>), String> {
    let line: Line<'_> = serde_json::from_str(native.get()).map_err(|error| error.to_string())?;
    let id = line.request_id.ok_or("it has no request_id")?;
    let request = line.request.ok_or("it has no request")?;
    let request = serde_json::from_str(request.get()).map_err(|error| error.to_string())?;
    Ok((id, request))
}

fn line(value: &impl Serialize) -> Vec<u8> {
    // Serialisation fails only for maps with other keys than text, and there are none.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

pub(super) fn response(request_id: &str, response: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Body<'a, T: Serialize> {
        subtype: &'static str,
        request_id: &'a str,
        response: &'a T,
    }
    #[derive(Serialize)]
    struct Response<'a, T: Serialize> {
        r#type: &'static str,
        response: Body<'a, T>,
    }
    let response = Body { subtype: "success", request_id, response };
    line(&Response { r#type: "control_response", response })
}

pub(super) fn error(request_id: &str, error: &str) -> Vec<u8> {
    line(&json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": request_id, "error": error },
    }))
}

pub(super) fn interrupt(request_id: &str) -> Vec<u8> {
    let request = json!({ "subtype": "interrupt" });
    line(&json!({ "type": "control_request", "request_id": request_id, "request": request }))
}

pub(super) fn user(text: &str) -> Vec<u8> {
    line(&json!({ "type": "user", "message": { "role": "user", "content": text } }))
}

/// An allow, with the input for the tool.
#[derive(Serialize)]
pub(super) struct Allow<'a, T: Serialize> {
    behavior: &'static str,
    #[serde(rename = "updatedInput")]
    updated_input: T,
    #[serde(rename = "updatedPermissions", skip_serializing_if = "Vec::is_empty")]
    updated_permissions: Vec<&'a RawValue>,
}

pub(super) fn allow<T: Serialize>(updated_input: T, updated_permissions: Vec<&RawValue>) -> Allow<'_, T> {
    Allow { behavior: "allow", updated_input, updated_permissions }
}

pub(super) fn deny(message: &str) -> Value {
    json!({ "behavior": "deny", "message": message })
}

pub(super) fn deny_and_stop(message: &str) -> Value {
    json!({ "behavior": "deny", "message": message, "interrupt": true })
}
