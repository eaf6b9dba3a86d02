//! Requests of another client to the agent, remembered until the agent responds.
//!
//! The hub keeps the ids of its clients apart before this point, so an id stands for one request.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{self, RpcId};

/// Remembered requests of clients: turns that run at once.
const MAX_REMEMBERED: usize = 4096;

#[derive(Debug)]
pub(crate) enum Request {
    /// A session is made (then its id is in the response) or taken up again.
    Session {
        cwd: Option<String>,
        native_id: Option<String>,
    },
    Prompt {
        session: String,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Overheard(VecDeque<(RpcId, Request)>);

impl Overheard {
    /// Remembers a relevant request; returns its session if it begins a turn.
    pub(crate) fn note(&mut self, id: RpcId, method: &str, params: Option<&RawValue>) -> Option<String> {
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            #[serde(default)]
            session_id: Option<String>,
            #[serde(default)]
            cwd: Option<String>,
        }
        let params: Params = wire::params(params).unwrap_or_default();
        let (request, busy) = match (method, params.session_id) {
            ("session/new", _) => (Request::Session { cwd: params.cwd, native_id: None }, None),
            ("session/load" | "session/resume", id @ Some(_)) => {
                (Request::Session { cwd: params.cwd, native_id: id }, None)
            }
            ("session/prompt", Some(session)) => {
                (Request::Prompt { session: session.clone() }, Some(session))
            }
            _ => return None,
        };
        if self.0.len() == MAX_REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((id, request));
        busy
    }

    pub(crate) fn take(&mut self, id: &RpcId) -> Option<Request> {
        let at = self.0.iter().position(|(known, _)| known == id)?;
        self.0.remove(at).map(|(_, request)| request)
    }
}
