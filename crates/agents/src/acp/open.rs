//! The questions of one connection that are not over, and what counts as evidence that the agent went on with an answer.
//!
//! Evidence must be a sign of this very request:
//!
//! * A request that names a tool call: an update of that call (one that says `pending` is none); nothing else, where the agent had
//!   announced the call or it is not known whether it had.
//! * A request of a session that names no call, or one that the agent never announced: the agent says or thinks something in that session, shows its plan, or works on a call
//!   that it named after the answer was sent; none while another question of the session is open (then it may be about that one), or
//!   where the agent had said that it goes on meanwhile.
//! * A request of the connection: the response to the request that it names (`requestId`).
//! * Each request of a session: its turn ends as a turn does that went on. One that failed or was refused shows nothing.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use askd_core::RejectMode;

use super::wire::{self, RpcId};
use super::{elicitation, permission, question};
use crate::codec::{Pending, Settlement};
use crate::open_requests::{OpenRequest, OpenRequests};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Question,
    Elicitation,
    Permission,
}

impl Way {
    pub(crate) fn of(method: &str) -> Option<Self> {
        match method {
            question::METHOD => Some(Self::Question),
            elicitation::METHOD => Some(Self::Elicitation),
            permission::METHOD => Some(Self::Permission),
            _ => None,
        }
    }
}

/// The session, tool call or request of an asking request.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scope {
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    tool_call: Option<CallRef>,
    #[serde(default)]
    request_id: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallRef {
    #[serde(default)]
    tool_call_id: Option<String>,
}

impl Scope {
    /// The valid members of invalid parameters, and the error.
    pub(crate) fn read(params: Option<&RawValue>) -> (Self, Option<String>) {
        let why = match wire::params(params) {
            Ok(scope) => return (scope, None),
            Err(why) => why,
        };
        let scope = Self {
            session_id: wire::text_at(params, &["sessionId"]),
            tool_call_id: wire::text_at(params, &["toolCallId"]),
            tool_call: Some(CallRef { tool_call_id: wire::text_at(params, &["toolCall", "toolCallId"]) }),
            request_id: None,
        };
        (scope, Some(why))
    }

    /// The client's request for which the connection asks.
    pub(crate) fn request_id(&self) -> Option<RpcId> {
        self.request_id.as_deref().filter(|_| self.session_id.is_none()).and_then(RpcId::read)
    }

    pub(crate) fn call_id(&self) -> Option<&str> {
        let in_call = || self.tool_call.as_ref().and_then(|call| call.tool_call_id.as_deref());
        self.tool_call_id.as_deref().or_else(in_call)
    }
}

#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) native_id: String,
    pub(crate) rpc: RpcId,
    /// Tells the request from another one under the same id.
    pub(crate) print: u64,
    pub(crate) way: Way,
    pub(crate) session: Option<String>,
    pub(crate) call_id: Option<String>,
    pub(crate) elicitation_id: Option<String>,
    /// True if the agent has announced the tool call, so that only its update is evidence.
    pub(crate) announced: bool,
    /// The request for which a question without a session is asked.
    pub(crate) for_request: Option<RpcId>,
    /// How many calls the session had named when the answer was sent.
    pub(crate) calls_before: u64,
    /// True if the agent continues while it is open.
    pub(crate) meanwhile: bool,
    pub(crate) delivered: Option<Delivered>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivered {
    Answer,
    Reject(RejectMode),
}

impl From<&Settlement> for Delivered {
    fn from(settled: &Settlement) -> Self {
        settled.reject_mode().map_or(Self::Answer, Self::Reject)
    }
}

impl Delivered {
    /// True if the agent's withdrawal is the purpose of the outcome.
    pub(crate) fn wanted_an_end(self) -> bool {
        matches!(self, Self::Reject(RejectMode::Cancel | RejectMode::Interrupt))
    }
}

impl Open {
    /// Rebuilds the question from the store.
    pub(crate) fn known(pending: &Pending) -> Option<Self> {
        let message = wire::Message::read(pending.native.get()).ok()?;
        let wire::Message::Request { id, method, params } = message else { return None };
        let way = Way::of(&method)?;
        let (scope, _) = Scope::read(params);
        let form: Option<elicitation::Params> =
            (way == Way::Elicitation).then(|| wire::params(params).ok()).flatten();
        Some(Self {
            native_id: pending.native_id.clone(),
            rpc: id,
            print: print_of(pending.native.get()),
            way,
            call_id: scope.call_id().map(str::to_owned),
            elicitation_id: elicitation::id_of(params).filter(|_| way == Way::Elicitation),
            for_request: scope.request_id(),
            // The calls before the restart are unknown: no call counts as new, and none as unannounced.
            announced: true,
            calls_before: u64::MAX,
            meanwhile: form.as_ref().is_some_and(elicitation::Params::is_async),
            session: scope.session_id,
            delivered: pending.written.as_ref().map(Delivered::from),
        })
    }
}

/// The response that ends a cancelled request. A request gets exactly one response.
pub(crate) fn cancelled(way: Way, id: &RpcId) -> Vec<u8> {
    match way {
        Way::Question => {
            let text = "the question was taken back before anybody answered it";
            wire::error(id.as_str(), wire::REQUEST_CANCELLED, text)
        }
        Way::Elicitation => respond(id, json!({ "action": "cancel" })),
        Way::Permission => respond(id, permission::cancelled()),
    }
}

/// The response that ends the request of an opened link.
pub(crate) fn followed(id: &RpcId) -> Vec<u8> {
    respond(id, json!({ "action": "accept" }))
}

fn respond(id: &RpcId, result: Value) -> Vec<u8> {
    RawValue::from_string(id.as_str().to_owned()).map(|id| wire::response(&id, result)).unwrap_or_default()
}

/// A hash that two different requests hardly share.
pub(crate) fn print_of(request: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.hash(&mut hasher);
    hasher.finish()
}

/// A sign of life of the agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress<'a> {
    pub(crate) session: &'a str,
    /// The call in progress, and the number of calls that the session named before it.
    pub(crate) call: Option<(&'a str, u64)>,
}

impl OpenRequest for Open {
    fn native_id(&self) -> &str {
        &self.native_id
    }
}

impl OpenRequests<Open> {
    pub(crate) fn by_rpc(&self, rpc: &RpcId) -> Option<&Open> {
        self.iter().find(|open| open.rpc == *rpc)
    }

    /// The answers that this progress confirms.
    pub(crate) fn evidenced(&mut self, seen: Progress<'_>) -> Vec<Open> {
        if self.iter().all(|open| open.delivered.is_none()) {
            return Vec::new();
        }
        let here = |open: &Open| open.session.as_deref() == Some(seen.session);
        let others_wait = self.iter().any(|open| open.delivered.is_none() && !open.meanwhile && here(open));
        self.take(|open| {
            let its_call =
                open.call_id.is_some() && open.call_id.as_deref() == seen.call.map(|(call, _)| call);
            let only_its_call = open.announced && open.call_id.is_some();
            let is_later = seen.call.is_none_or(|(_, number)| number >= open.calls_before);
            let shows = its_call || (is_later && !(only_its_call || open.meanwhile || others_wait));
            open.delivered.is_some() && here(open) && shows
        })
    }
}
