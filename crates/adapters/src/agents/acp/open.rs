//! The questions of one connection that are not over, and what counts as evidence that the agent went on with an answer.
//!
//! Evidence must not be guessed. An agent that has announced the tool call of a question shows it by an update of that very
//! call; otherwise any progress of the session counts, unless another question of that session is still open (then somebody
//! else may be working) or the agent had said that it goes on meanwhile.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use askd_core::RejectMode;

use super::wire::{self, RpcId};
use super::{elicitation, permission, question};
use crate::codec::{Pending, Settlement};

/// Questions of one connection that are open or without evidence. An agent that asks more is refused.
pub(crate) const MAX_OPEN: usize = 4096;

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

/// Where a request belongs.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scope {
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    tool_call: Option<CallRef>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallRef {
    #[serde(default)]
    tool_call_id: Option<String>,
}

impl Scope {
    /// Of parameters that do not fit, what does, and why not all.
    pub(crate) fn read(params: Option<&RawValue>) -> (Self, Option<String>) {
        let why = match wire::params(params) {
            Ok(scope) => return (scope, None),
            Err(why) => why,
        };
        let scope = Self {
            session_id: wire::text_at(params, &["sessionId"]),
            tool_call_id: wire::text_at(params, &["toolCallId"]),
            tool_call: Some(CallRef { tool_call_id: wire::text_at(params, &["toolCall", "toolCallId"]) }),
        };
        (scope, Some(why))
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
    /// Whether the agent has announced the tool call, so that only an update of it is evidence.
    pub(crate) announced: bool,
    /// Whether the agent works on while it is open.
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
    /// Whether the agent giving up on the question is just what was wanted.
    pub(crate) fn wanted_an_end(self) -> bool {
        matches!(self, Self::Reject(RejectMode::Cancel | RejectMode::Interrupt))
    }
}

impl Open {
    /// Rebuilt from what the store kept.
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
            session: scope.session_id,
            elicitation_id: elicitation::id_of(params).filter(|_| way == Way::Elicitation),
            announced: false,
            meanwhile: form.as_ref().is_some_and(elicitation::Params::is_async),
            delivered: pending.written.as_ref().map(Delivered::from),
        })
    }
}

/// What ends a request that nobody is to answer any more. A request gets exactly one response.
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

/// What ends the request to follow a link, once that is done.
pub(crate) fn followed(id: &RpcId) -> Vec<u8> {
    respond(id, json!({ "action": "accept" }))
}

fn respond(id: &RpcId, result: Value) -> Vec<u8> {
    RawValue::from_string(id.as_str().to_owned()).map(|id| wire::response(&id, result)).unwrap_or_default()
}

/// A number that two different requests hardly share.
pub(crate) fn print_of(request: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.hash(&mut hasher);
    hasher.finish()
}

/// What was seen of the agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) call_id: Option<&'a str>,
}

#[derive(Debug, Default)]
pub(crate) struct OpenQuestions(Vec<Open>);

impl OpenQuestions {
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_OPEN
    }

    pub(crate) fn push(&mut self, open: Open) {
        self.0.push(open);
    }

    pub(crate) fn by_rpc(&self, rpc: &RpcId) -> Option<&Open> {
        self.0.iter().find(|open| open.rpc == *rpc)
    }

    pub(crate) fn by_native_mut(&mut self, native_id: &str) -> Option<&mut Open> {
        self.0.iter_mut().find(|open| open.native_id == native_id)
    }

    pub(crate) fn uses(&self, native_id: &str) -> bool {
        self.0.iter().any(|open| open.native_id == native_id)
    }

    /// Takes out all that fulfil a condition, in the order in which they were asked.
    pub(crate) fn take(&mut self, mut condition: impl FnMut(&Open) -> bool) -> Vec<Open> {
        self.0.extract_if(.., |open| condition(open)).collect()
    }

    /// The answers for which this progress is evidence.
    pub(crate) fn evidenced(&mut self, seen: Progress<'_>) -> Vec<Open> {
        if self.0.iter().all(|open| open.delivered.is_none()) {
            return Vec::new();
        }
        let others_wait = self.0.iter().any(|open| {
            open.delivered.is_none() && !open.meanwhile && open.session.as_deref() == seen.session
        });
        self.take(|open| {
            let here = open.session.is_none() || open.session.as_deref() == seen.session;
            let its_call = open.call_id.is_some() && open.call_id.as_deref() == seen.call_id;
            open.delivered.is_some()
                && here
                && (its_call || !(open.announced || open.meanwhile || others_wait))
        })
    }
}
