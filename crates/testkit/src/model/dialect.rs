//! What the three protocols have in common: a dialect reads a request and words a reply.
//!
//! In: a path. Out: the [`Protocol`] and its [`Dialect`]. Adding a protocol is one file and one line in each
//! table here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation::Conversation;
use super::script::Call;
use super::{anthropic::Anthropic, chat::Chat, responses::Responses};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Anthropic Messages.
    Messages,
    /// OpenAI chat completions.
    Chat,
    /// OpenAI responses.
    Responses,
    /// Any other request; it is answered 404 and logged.
    Other,
}

impl Protocol {
    /// By the end of the path: agents differ in whether `/v1` is part of their base address.
    pub(super) fn of(path: &str) -> Self {
        let path = path.trim_end_matches('/');
        [("/messages", Self::Messages), ("/chat/completions", Self::Chat), ("/responses", Self::Responses)]
            .into_iter()
            .find_map(|(end, protocol)| path.ends_with(end).then_some(protocol))
            .unwrap_or(Self::Other)
    }

    pub(super) fn dialect(self) -> Option<&'static dyn Dialect> {
        match self {
            Self::Messages => Some(&Anthropic),
            Self::Chat => Some(&Chat),
            Self::Responses => Some(&Responses),
            Self::Other => None,
        }
    }
}

/// A reply that is to be worded.
#[derive(Debug)]
pub(super) struct Said<'a> {
    /// Unique in the life of this server and unlikely to be met again; ids of messages and calls are made
    /// from it.
    pub(super) id: &'a str,
    /// The model that the request asked for.
    pub(super) model: &'a str,
    pub(super) text: Option<&'a str>,
    pub(super) calls: &'a [Call],
}

pub(super) trait Dialect: Sync {
    /// Lenient: what is not understood is passed over, as a model would.
    fn read(&self, body: &Value) -> Conversation;
    fn whole(&self, said: &Said<'_>) -> Value;
    /// The whole event stream.
    fn stream(&self, said: &Said<'_>) -> String;
    /// The body of an error for which the script gives none.
    fn error(&self, message: &str) -> Value;
}

/// The items of an array, or nothing.
pub(super) fn items<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// A string field, or the empty string.
pub(super) fn string<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The parts that every request has in the same place.
pub(super) fn head(body: &Value) -> Conversation {
    let mut talk = Conversation::default();
    string(body, "model").clone_into(&mut talk.model);
    talk.stream = body.get("stream").and_then(Value::as_bool).unwrap_or_default();
    talk
}
