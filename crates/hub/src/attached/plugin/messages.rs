//! The messages between a plugin and the hub.

use serde::{Deserialize, Serialize};

use askd_agents::{Call, CallMethod};
use askd_core::FieldErrors;
use askd_core::field::Collector;

/// Bytes of the name of a link.
const LINK_BYTES: std::ops::RangeInclusive<usize> = 16..=64;
/// Bytes of a folder's path: the longest that Linux allows.
const MAX_DIRECTORY_BYTES: usize = 4096;

/// A plugin's greeting.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginHello {
    /// Names the plugin while its process lives: the same at every connection, and known to the hub alone.
    #[schema(min_length = 16, max_length = 64)]
    pub link: String,
    /// The agent's process.
    pub pid: u32,
    /// The agent's folder.
    #[schema(max_length = 4096)]
    pub directory: String,
}

impl PluginHello {
    pub(super) fn checked(self) -> Result<Self, FieldErrors> {
        let mut errors = Collector::default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !LINK_BYTES.contains(&self.link.len()) || !self.link.bytes().all(plain) {
            errors.add("link", "invalid", "must have 16 to 64 letters, digits or '-'");
        }
        errors.bounded("directory", &self.directory, MAX_DIRECTORY_BYTES);
        if !self.directory.starts_with('/') {
            errors.add("directory", "invalid", "must be an absolute path");
        }
        errors.finish(self)
    }
}

/// Events and replies, in order.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginMessages {
    pub messages: Vec<PluginMessage>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginMessage {
    /// An event of the agent, as the text of its JSON.
    Event(String),
    Reply(PluginReply),
}

/// The result of a call.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginReply {
    pub call: u64,
    /// The status of the agent's answer; 0 if the call could not be made.
    pub status: u16,
    /// The body of the agent's answer, or why there is none.
    pub body: String,
}

/// A request for the plugin to make of its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginCall {
    /// Comes back with the reply.
    pub call: u64,
    #[schema(example = "POST")]
    pub method: &'static str,
    #[schema(example = "/question/que_1/reply")]
    pub path: String,
    #[schema(value_type = Vec<Vec<String>>)]
    pub query: Vec<(String, String)>,
    /// The text of a JSON body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl PluginCall {
    pub(super) fn new(number: u64, call: &Call) -> Self {
        let method = match call.method {
            CallMethod::Get => "GET",
            CallMethod::Post => "POST",
            CallMethod::Delete => "DELETE",
        };
        let body = call.body.as_ref().map(|body| String::from_utf8_lossy(body).into_owned());
        Self { call: number, method, path: call.path.clone(), query: call.query.clone(), body }
    }
}
