//! The meaning of each message for the conversation.
//!
//! In: requests, notifications and responses, parsed by `wire`. Out: [`Heard`]. The state that they change is
//! in `codec`.

use askd_core::Cause;
use askd_core::delivery::FailReason;
use askd_core::lifecycle::Elsewhere;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::asking;
use super::codec::{AcpCodec, PROTOCOL_VERSION};
use super::ids::Ours;
use super::observed::Request;
use super::open::{self, Open, Progress, Way};
use super::wire::{self, RpcError, RpcId};
use super::{elicitation, update};
use crate::codec::Start;
use crate::heard::{Heard, Speech, TurnEnd, Voice};

/// The channel by which an agent learns that a link was opened.
pub(super) const LINK: &str = "link";
/// Stop reasons of a turn that has continued.
const WENT_ON: [&str; 2] = ["max_tokens", "max_turn_requests"];

impl AcpCodec {
    pub(super) fn hear_request(
        &mut self,
        line: &str,
        id: RpcId,
        method: &str,
        params: Option<&RawValue>,
    ) -> Vec<Heard> {
        let mut heard = Vec::new();
        let Some(way) = Way::of(method) else {
            if self.start == Start::Observed {
                heard.push(chatter(None));
                return heard;
            }
            let text = format!("askd does not serve {method}");
            heard.push(write(wire::error(id.as_str(), wire::METHOD_NOT_FOUND, &text)));
            heard.push(Heard::Unrecognised { why: format!("the agent requested {method}") });
            return heard;
        };
        let mut asked = match asking::read(self, line, &id, way, params) {
            Ok(asked) => asked,
            Err(why) => {
                if self.start != Start::Observed {
                    heard.push(write(wire::error(id.as_str(), wire::INVALID_PARAMS, &why)));
                }
                heard.push(Heard::Unrecognised { why: format!("a {method} that cannot be taken: {why}") });
                return heard;
            }
        };
        if let Some(session) = asked.open.session.clone() {
            let cwd = (self.start == Start::Fresh).then(|| self.cwd.clone());
            self.meet(&session, cwd, &mut heard);
        }
        // The same bytes are the same question, unless the agent has its answer and surely asks anew.
        let new = |known: &Open| known.delivered.is_some() && self.first_time;
        let again = |known: &&Open| known.print == asked.open.print && !new(known);
        if let Some(known) = self.open.by_rpc(&id).filter(again) {
            asked.asked.native_id.clone_from(&known.native_id);
            heard.push(Heard::Asked(Box::new(asked.asked)));
            return heard;
        }
        // The newest request with an id is the one to answer. The reuse of an id says nothing about the
        // earlier answer.
        for old in self.open.take(|open| open.rpc == id) {
            heard.push(match old.delivered {
                Some(_) => unconfirmed(
                    old.native_id,
                    "the agent used the id of this question for another one before it showed that it had the answer",
                ),
                None => withdrawn(old.native_id, "the agent used the id of this question for another one"),
            });
        }
        self.open.push(asked.open);
        heard.push(Heard::Asked(Box::new(asked.asked)));
        heard
    }

    pub(super) fn hear_notification(&mut self, method: &str, params: Option<&RawValue>) -> Vec<Heard> {
        match method {
            "session/update" => self.hear_update(params),
            "$/cancel_request" => self.hear_cancel(params),
            elicitation::COMPLETE => self.hear_complete(params),
            _ if method.starts_with(['_', '$']) => vec![chatter(None)],
            _ => vec![Heard::Unrecognised { why: format!("the agent notified {method}") }],
        }
    }

    fn hear_update(&mut self, params: Option<&RawValue>) -> Vec<Heard> {
        let update::Params { session_id, update } = match wire::params(params) {
            Ok(params) => params,
            Err(why) => return vec![Heard::Unrecognised { why: format!("a session/update: {why}") }],
        };
        let mut heard = Vec::new();
        let cwd = (self.start == Start::Fresh).then(|| self.cwd.clone());
        self.meet(&session_id, cwd, &mut heard);
        if update.shows_progress() {
            let number =
                |call: &str| self.sessions.get(&session_id).map_or(0, |known| known.call_number(call));
            let call = update.tool_call_id.as_deref().map(|call| (call, number(call)));
            let shown = self.open.evidenced(Progress { session: &session_id, call });
            heard.extend(shown.into_iter().map(|open| Heard::Confirmed { native_id: open.native_id }));
        }
        let (voice, text) = (update.voice(), update.text());
        if let Some(session) = self.sessions.get_mut(&session_id) {
            match (voice, &text, &update.tool_call_id) {
                (Voice::Agent, Some(text), _) => session.says(text),
                (Voice::Tool, _, Some(call)) => session.calls_tool(call, update.title.as_deref()),
                _ => {}
            }
            if let Some(title) = update.new_title().filter(|title| session.title.as_deref() != Some(title)) {
                session.title = Some(title.to_owned());
                let native_id = session_id.clone();
                heard.push(Heard::SessionUpdated { native_id, title: title.to_owned() });
            }
        }
        heard.push(Heard::Chatter { native_session: Some(session_id), voice, text });
        heard
    }

    fn hear_cancel(&mut self, params: Option<&RawValue>) -> Vec<Heard> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        let id = wire::params::<Params<'_>>(params).ok().and_then(|params| RpcId::read(params.request_id));
        let Some(id) = id else {
            return vec![Heard::Unrecognised { why: "a $/cancel_request without an id".to_owned() }];
        };
        let mut heard = Vec::new();
        for open in self.open.take(|open| open.rpc == id) {
            let native_id = open.native_id.clone();
            match open.delivered {
                None => {
                    let bytes = open::cancelled(open.way, &open.rpc);
                    heard.push(Heard::Closing { native_id: native_id.clone(), bytes });
                    heard.push(withdrawn(native_id, "the agent cancelled its request"));
                }
                Some(delivered) if delivered.wanted_an_end() => heard.push(Heard::Confirmed { native_id }),
                Some(_) => heard.push(Heard::NotTaken {
                    native_id,
                    reason: FailReason::Refused,
                    detail: "the agent took its question back while the answer was on its way".to_owned(),
                }),
            }
        }
        heard.push(chatter(None));
        heard
    }

    /// The link of an elicitation was followed to its end.
    fn hear_complete(&mut self, params: Option<&RawValue>) -> Vec<Heard> {
        let Some(id) = elicitation::id_of(params) else {
            return vec![Heard::Unrecognised { why: "an elicitation/complete without an id".to_owned() }];
        };
        let mut heard = Vec::new();
        for open in self.open.take(|open| open.elicitation_id.as_deref() == Some(&id)) {
            let native_id = open.native_id.clone();
            if open.delivered.is_some() {
                heard.push(Heard::Confirmed { native_id });
                continue;
            }
            let answers = vec![vec![askd_core::ask::OPENED.to_owned()]];
            let how = Elsewhere::Answered { answers, notes: vec![None], via: LINK.to_owned() };
            heard.push(Heard::Closing { native_id: native_id.clone(), bytes: open::followed(&open.rpc) });
            heard.push(Heard::AnsweredElsewhere { native_id, how });
        }
        heard.push(chatter(None));
        heard
    }

    pub(super) fn hear_response(&mut self, id: &RpcId, result: Result<&RawValue, RpcError>) -> Vec<Heard> {
        let mut heard = Vec::new();
        for open in self.open.take(|open| open.delivered.is_some() && open.for_request.as_ref() == Some(id)) {
            heard.push(match result {
                Ok(_) => Heard::Confirmed { native_id: open.native_id },
                Err(_) => {
                    unconfirmed(open.native_id, "the request for whose sake the agent asked has failed")
                }
            });
        }
        if let Some(ours) = Ours::read(id) {
            // A line that an earlier hub may have read can be the first response itself, and keeps its
            // meaning.
            let heard_before = self.first_time && self.answered_before.has(id.form());
            if heard_before || !self.answered.add(id.form()) {
                heard.push(Heard::Unrecognised { why: "a second response to one request".to_owned() });
                return heard;
            }
            match ours {
                Ours::Initialize => self.hear_initialized(result, &mut heard),
                Ours::NewSession => self.hear_session(result, Some(self.cwd.clone()), &mut heard),
                Ours::Prompt(session) => self.turn_ended(&session, result, &mut heard),
                Ours::Close(session) => {
                    self.sessions.remove(&session);
                    let cause = Cause::SessionEnded { detail: None };
                    heard.push(Heard::SessionEnded { native_id: session, cause });
                }
            }
            return heard;
        }
        match self.overheard.take(id) {
            Some(Request::Session { cwd, native_id: None }) => self.hear_session(result, cwd, &mut heard),
            Some(Request::Session { cwd, native_id: Some(id) }) if result.is_ok() => {
                self.meet(&id, cwd, &mut heard);
            }
            Some(Request::Session { .. }) => {}
            Some(Request::Prompt { session }) => self.turn_ended(&session, result, &mut heard),
            None if self.start != Start::Observed => {
                heard.push(Heard::Unrecognised { why: "a response to nothing that askd asked".to_owned() });
                return heard;
            }
            None => {}
        }
        heard.push(chatter(None));
        heard
    }

    fn hear_initialized(&mut self, result: Result<&RawValue, RpcError>, heard: &mut Vec<Heard>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialized {
            protocol_version: u64,
            #[serde(default)]
            agent_capabilities: Option<serde_json::Value>,
        }
        let failed = |detail: String| Heard::Failed { step: "initialize", detail };
        let initialized = match result.map(|raw| serde_json::from_str::<Initialized>(raw.get())) {
            Ok(Ok(initialized)) => initialized,
            Ok(Err(error)) => return heard.push(failed(error.to_string())),
            Err(error) => return heard.push(failed(error.to_string())),
        };
        if initialized.protocol_version != PROTOCOL_VERSION {
            let theirs = initialized.protocol_version;
            return heard
                .push(failed(format!("the agent speaks ACP {theirs}, askd speaks {PROTOCOL_VERSION}")));
        }
        let capabilities = initialized.agent_capabilities.unwrap_or_default();
        self.closes =
            capabilities.pointer("/sessionCapabilities/close").is_some_and(|close| !close.is_null());
        let params = json!({ "cwd": self.cwd, "mcpServers": [] });
        heard.push(self.request(&Ours::NewSession, "session/new", params));
    }

    fn hear_session(
        &mut self,
        result: Result<&RawValue, RpcError>,
        cwd: Option<String>,
        heard: &mut Vec<Heard>,
    ) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct NewSession {
            session_id: String,
        }
        let detail = match result.map(|raw| serde_json::from_str::<NewSession>(raw.get())) {
            Ok(Ok(new)) => {
                self.meet(&new.session_id, cwd, heard);
                if let Some(text) = self.first_prompt.take() {
                    if let Some(session) = self.sessions.get_mut(&new.session_id) {
                        session.begins_turn();
                    }
                    heard.push(self.first_prompt(&new.session_id, &text));
                }
                for text in std::mem::take(&mut self.queued) {
                    heard.push(self.send_prompt(&new.session_id, &text));
                }
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        heard.push(Heard::Failed { step: "session/new", detail });
    }

    fn turn_ended(&mut self, session: &str, result: Result<&RawValue, RpcError>, heard: &mut Vec<Heard>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Ended {
            #[serde(default)]
            stop_reason: String,
        }
        let end = match result.map(|raw| serde_json::from_str::<Ended>(raw.get())) {
            Ok(Ok(ended)) => match ended.stop_reason.as_str() {
                "end_turn" => TurnEnd::Done,
                "cancelled" => TurnEnd::Cancelled,
                _ => TurnEnd::Stopped(ended.stop_reason),
            },
            Ok(Err(error)) => TurnEnd::Failed(error.to_string()),
            Err(error) => TurnEnd::Failed(error.to_string()),
        };
        if let Some(session) = self.sessions.get_mut(session) {
            session.busy = false;
        }
        let aborted = end == TurnEnd::Cancelled;
        let went_on = match &end {
            TurnEnd::Done => true,
            TurnEnd::Stopped(why) => WENT_ON.contains(&why.as_str()),
            TurnEnd::Cancelled | TurnEnd::Failed(_) => false,
        };
        let here = |open: &Open| open.session.as_deref() == Some(session);
        let mut abandoned = Vec::new();
        for open in self.open.take(|open| here(open) && (open.delivered.is_some() || aborted)) {
            let native_id = open.native_id.clone();
            match open.delivered {
                Some(delivered) if went_on || (aborted && delivered.wanted_an_end()) => {
                    heard.push(Heard::Confirmed { native_id });
                }
                Some(_) if aborted => heard.push(unconfirmed(
                    native_id,
                    "the turn was cancelled before the agent showed that it went on",
                )),
                Some(_) => heard.push(unconfirmed(
                    native_id,
                    "the turn failed or was refused before the agent showed that it had the answer",
                )),
                None => abandoned.push(open),
            }
        }
        abandon(abandoned, &Cause::TurnAborted { detail: None }, heard);
        heard.push(Heard::TurnEnded { native_session: Some(session.to_owned()), end });
    }

    pub(super) fn abandon_all(&mut self, session: &str, cause: &Cause, heard: &mut Vec<Heard>) {
        let here = |open: &Open| open.session.as_deref() == Some(session) && open.delivered.is_none();
        abandon(self.open.take(here), cause, heard);
    }
}

pub(super) fn write(bytes: Vec<u8>) -> Heard {
    Heard::Write(Speech::Bytes(bytes))
}

/// Questions end because their turn or session does.
fn abandon(questions: Vec<Open>, cause: &Cause, heard: &mut Vec<Heard>) {
    let closing = |open: &Open| Heard::Closing {
        native_id: open.native_id.clone(),
        bytes: open::cancelled(open.way, &open.rpc),
    };
    heard.extend(questions.iter().map(closing));
    let withdrawn = |open: Open| Heard::Withdrawn { native_id: open.native_id, cause: cause.clone() };
    heard.extend(questions.into_iter().map(withdrawn));
}

fn chatter(native_session: Option<String>) -> Heard {
    Heard::Chatter { native_session, voice: Voice::Other, text: None }
}

fn withdrawn(native_id: String, detail: &str) -> Heard {
    Heard::Withdrawn { native_id, cause: Cause::AgentWithdrew { detail: Some(detail.to_owned()) } }
}

/// The answer was sent, without evidence that the agent has it.
fn unconfirmed(native_id: String, detail: &str) -> Heard {
    Heard::NotTaken { native_id, reason: FailReason::Unconfirmed, detail: detail.to_owned() }
}
