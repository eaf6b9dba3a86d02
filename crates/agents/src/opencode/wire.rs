//! The JSON of OpenCode's server, as far as askd reads it. Everything else in a message is passed over.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One event of `/global/event`: its folder and its payload.
use crate::outside::or_default;
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(default)]
    pub(super) directory: Option<String>,
    #[serde(borrow)]
    pub(super) payload: Payload<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Payload<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) properties: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("not an event of OpenCode: {error}"))
    }
}

impl<'a> Payload<'a> {
    pub(super) fn read<T: Deserialize<'a>>(&self) -> Result<T, String> {
        let raw = self.properties.ok_or_else(|| format!("{} without properties", self.kind))?;
        serde_json::from_str(raw.get()).map_err(|error| format!("{}: {error}", self.kind))
    }
}

/// The tool call that asked: the only link between a request and a part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Link {
    #[serde(rename = "messageID")]
    pub(super) message: String,
    #[serde(rename = "callID")]
    pub(super) call: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct QuestionRequest {
    pub(super) questions: Vec<QuestionInfo>,
}

#[derive(Debug, Deserialize)]
pub(super) struct QuestionInfo {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) question: String,
    #[serde(default)]
    pub(super) header: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) options: Vec<OptionInfo>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) multiple: bool,
    /// Own words are allowed unless it says `false`.
    #[serde(default)]
    pub(super) custom: Option<bool>,
}

impl QuestionInfo {
    pub(super) fn takes_only_options(&self) -> bool {
        self.custom == Some(false) && self.options.iter().any(|option| !option.label.trim().is_empty())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct OptionInfo {
    pub(super) label: String,
    #[serde(default)]
    pub(super) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PermissionRequest {
    pub(super) permission: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) patterns: Vec<String>,
    #[serde(default)]
    pub(super) metadata: serde_json::Value,
    /// The patterns that "always" would allow.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) always: Vec<String>,
}

/// The common members of both kinds of requests.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct AnyRequest {
    pub(super) id: String,
    #[serde(rename = "sessionID")]
    pub(super) session: String,
    #[serde(default)]
    pub(super) tool: Option<Link>,
}

/// `question.replied`, `question.rejected`, `permission.replied`.
#[derive(Debug, Deserialize)]
pub(super) struct Settled {
    #[serde(rename = "requestID")]
    pub(super) request: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) answers: Vec<Vec<String>>,
    #[serde(default)]
    pub(super) reply: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PartUpdated {
    pub(super) part: Part,
}

/// A message with its parts.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(rename = "sessionID", default, deserialize_with = "or_default")]
    pub(super) session: String,
    #[serde(rename = "messageID", default, deserialize_with = "or_default")]
    pub(super) message: String,
    #[serde(rename = "callID", default, deserialize_with = "or_default")]
    pub(super) call: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) tool: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) text: String,
    #[serde(default)]
    pub(super) state: Option<ToolState>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolState {
    pub(super) status: String,
    #[serde(default)]
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) metadata: Option<ToolMetadata>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolMetadata {
    #[serde(default)]
    pub(super) answers: Option<Vec<Vec<String>>>,
}

/// More text of a part.
#[derive(Debug, Deserialize)]
pub(super) struct PartDelta {
    #[serde(rename = "sessionID", default, deserialize_with = "or_default")]
    pub(super) session: String,
    #[serde(rename = "partID", default, deserialize_with = "or_default")]
    pub(super) part: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) delta: String,
}

/// Events about a session as a whole.
#[derive(Debug, Deserialize)]
pub(super) struct AboutSession {
    #[serde(rename = "sessionID", default)]
    pub(super) session: Option<String>,
    /// The error, in `session.error`.
    #[serde(default)]
    pub(super) error: Option<NamedError>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedError {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(default)]
    data: ErrorData,
}

#[derive(Debug, Default, Deserialize)]
struct ErrorData {
    #[serde(default)]
    message: Option<String>,
}

impl NamedError {
    pub(super) fn text(self) -> String {
        self.data.message.unwrap_or(self.name)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct SessionChanged {
    pub(super) info: SessionInfo,
}

#[derive(Debug, Deserialize)]
pub(super) struct SessionInfo {
    pub(super) id: String,
    #[serde(default)]
    pub(super) directory: Option<String>,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(rename = "parentID", default)]
    pub(super) parent: Option<String>,
    #[serde(default)]
    pub(super) time: SessionTime,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct SessionTime {
    /// Milliseconds; lists of sessions are in this order.
    #[serde(default)]
    pub(super) updated: Option<u64>,
}

/// The last message of a session.
#[derive(Debug, Deserialize)]
pub(super) struct LastMessage {
    info: LastInfo,
}

#[derive(Debug, Deserialize)]
struct LastInfo {
    #[serde(default, deserialize_with = "or_default")]
    role: String,
    #[serde(default)]
    time: MessageTime,
}

#[derive(Debug, Default, Deserialize)]
struct MessageTime {
    #[serde(default)]
    completed: Option<f64>,
}

impl LastMessage {
    /// The agent has said its last word. A prompt after it may wait behind a question.
    pub(super) fn is_over(&self) -> bool {
        self.info.role == "assistant" && self.info.time.completed.is_some()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Disposed {
    #[serde(default)]
    pub(super) directory: Option<String>,
}

/// A request from a list in the form of its event.
pub(super) fn as_event(kind: &str, directory: &str, properties: &RawValue) -> Option<Box<RawValue>> {
    #[derive(Serialize)]
    struct Event<'a> {
        directory: &'a str,
        payload: EventPayload<'a>,
    }
    #[derive(Serialize)]
    struct EventPayload<'a> {
        #[serde(rename = "type")]
        kind: &'a str,
        properties: &'a RawValue,
    }
    serde_json::value::to_raw_value(&Event { directory, payload: EventPayload { kind, properties } }).ok()
}
