//! The pending questions of one conversation.

use askd_core::{Ask, ToolRef};
use serde_json::value::RawValue;

use super::wire::{self, Request};
use super::{elicitation, permission, plan, question};
use crate::codec::{Pending, Settlement};
use crate::open_requests::{OpenRequest, OpenRequests};

/// The type of the request behind a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Question,
    Plan,
    Permission,
    Elicitation,
}

impl Way {
    /// By the tool's name, which all versions have; the other members vary.
    pub(super) fn of(request: &Request<'_>) -> Option<Self> {
        match (request.subtype.as_str(), request.tool_name.as_deref()) {
            ("can_use_tool", Some(question::TOOL)) => Some(Self::Question),
            ("can_use_tool", Some(plan::TOOL)) => Some(Self::Plan),
            ("can_use_tool", Some(_)) => Some(Self::Permission),
            (elicitation::SUBTYPE, _) => Some(Self::Elicitation),
            _ => None,
        }
    }

    pub(super) fn ask(self, agent: &str, request: &Request<'_>, raw: &RawValue) -> Result<Ask, String> {
        let mut ask = match self {
            Self::Question => question::ask(agent, &request.input()?)?,
            Self::Plan => plan::ask(agent, &request.input().unwrap_or_default()),
            Self::Permission => permission::ask(agent, request),
            Self::Elicitation => elicitation::ask(agent, request, raw)?,
        };
        let call_id = request.tool_use_id.clone();
        ask.tool = call_id.map(|call_id| ToolRef { message_id: None, call_id: Some(call_id) });
        Ok(ask)
    }

    /// The text for the model when a human declines.
    pub(super) fn declined(self, reason: Option<&str>) -> String {
        match self {
            Self::Plan => plan::declined(reason),
            Self::Permission => permission::declined(reason),
            Self::Question | Self::Elicitation => question::declined(reason),
        }
    }
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) native_id: String,
    pub(super) request_id: String,
    pub(super) way: Way,
    pub(super) call_id: Option<String>,
    /// The name prefix of the tools of the asking MCP server.
    pub(super) tools: Option<String>,
    pub(super) elicitation_id: Option<String>,
    /// The agent's request, to compare its report with askd's answer.
    pub(super) native: Box<RawValue>,
    pub(super) delivered: Option<Settlement>,
    /// The agent does not wait for a response any more. Why, the tool result will tell.
    pub(super) cancelled: bool,
    /// The number of the turn that asked.
    pub(super) turn: u64,
}

impl Open {
    pub(super) fn new(
        native_id: String,
        request_id: String,
        way: Way,
        request: &Request<'_>,
        native: Box<RawValue>,
    ) -> Self {
        Self {
            native_id,
            request_id,
            way,
            call_id: request.tool_use_id.clone(),
            tools: request.mcp_server_name.as_deref().map(elicitation::tool_prefix),
            elicitation_id: request.elicitation_id.clone(),
            native,
            delivered: None,
            cancelled: false,
            turn: 0,
        }
    }

    /// Rebuilds the question from the store.
    pub(super) fn known(pending: &Pending) -> Option<Self> {
        let (request_id, request) = wire::stored(&pending.native).ok()?;
        let way = Way::of(&request)?;
        let native_id = pending.native_id.clone();
        let mut open = Self::new(native_id, request_id, way, &request, pending.native.clone());
        open.delivered.clone_from(&pending.written);
        Some(open)
    }
}

impl OpenRequest for Open {
    fn native_id(&self) -> &str {
        &self.native_id
    }
}

impl OpenRequests<Open> {
    /// Keeps it unless it is kept already.
    pub(super) fn keep(&mut self, open: Open) {
        if !self.uses(&open.native_id) {
            self.push(open);
        }
    }

    /// The question that this very request already asks.
    pub(super) fn same(&self, request_id: &str, native: &str) -> Option<&Open> {
        self.iter().rev().find(|open| open.request_id == request_id && open.native.get() == native)
    }

    /// The call's own id, by which hooks and transcripts know the question too. A second request for the same
    /// call waits for its own response, so it is told apart.
    pub(super) fn native_id(&self, call_id: Option<&str>, request_id: &str) -> String {
        let Some(call_id) = call_id.filter(|id| !id.is_empty()) else { return request_id.to_owned() };
        if self.uses(call_id) { format!("{call_id}~{request_id}") } else { call_id.to_owned() }
    }
}
