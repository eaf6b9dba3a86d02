//! The ACP codec: one connection, any number of sessions, questions by three ways.
//!
//! In: lines of the agent. Out: [`Heard`], and lines for the agent. The rooms beside this file know one message each; this
//! file knows their order: greeting, sessions, turns, what is open and how it ends.

use std::collections::VecDeque;

use askd_core::delivery::FailReason;
use askd_core::lifecycle::Elsewhere;
use askd_core::{Ask, Cause};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::asking;
use super::ids::{Ids, Ours};
use super::observed::{Overheard, Request};
use super::open::{Delivered, Open, OpenQuestions, Progress, Way};
use super::session::Sessions;
use super::wire::{self, Message, RpcError, RpcId};
use super::{elicitation, permission, question, update};
use crate::codec::{Begin, Codec, Settlement, Start, Unspeakable};
use crate::heard::{Heard, Speech, TurnEnd, Voice};

/// The protocol version that askd speaks.
const PROTOCOL_VERSION: u64 = 1;
/// Prompts that wait for a session.
const MAX_QUEUED_PROMPTS: usize = 64;

#[derive(Debug)]
pub struct AcpCodec {
    pub(super) agent: String,
    start: Start,
    cwd: String,
    ids: Ids,
    pub(super) sessions: Sessions,
    pub(super) open: OpenQuestions,
    overheard: Overheard,
    /// Prompts for the main session, which does not exist yet.
    queued: VecDeque<String>,
    /// Whether the agent can close a session.
    closes: bool,
}

impl AcpCodec {
    pub fn new(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            start: Start::Fresh,
            cwd: String::new(),
            ids: Ids::default(),
            sessions: Sessions::default(),
            open: OpenQuestions::default(),
            overheard: Overheard::default(),
            queued: VecDeque::new(),
            closes: false,
        }
    }

    fn request(&mut self, what: &Ours, method: &str, params: impl serde::Serialize) -> Heard {
        write(wire::request(&self.ids.next(what), method, params))
    }

    fn greet(&mut self) -> Heard {
        let extensions = json!({ "sessionRequestQuestion": true });
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
                "elicitation": { "form": {}, "url": {} },
                "_meta": { "extensions": extensions, "sandboxagent.dev": { "extensions": extensions } },
            },
            "clientInfo": { "name": "askd", "title": "askd", "version": env!("CARGO_PKG_VERSION") },
        });
        self.request(&Ours::Initialize, "initialize", params)
    }

    fn send_prompt(&mut self, session: &str, text: &str) -> Heard {
        if let Some(session) = self.sessions.get_mut(session) {
            session.begins_turn();
        }
        let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        self.request(&Ours::Prompt(session.to_owned()), "session/prompt", params)
    }

    /// A session is mentioned; if it is new, that is news.
    fn meet(&mut self, native_id: &str, cwd: Option<String>, heard: &mut Vec<Heard>) {
        if self.sessions.add(native_id, cwd.clone()) {
            let (native_id, title, parent) = (native_id.to_owned(), None, None);
            heard.push(Heard::SessionStarted { native_id, title, cwd, parent });
        }
    }

    fn hear_request(&mut self, line: &str, id: RpcId, method: &str, params: Option<&RawValue>) -> Vec<Heard> {
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
        let asked = match asking::read(self, line, &id, way, params) {
            Ok(asked) => asked,
            Err(why) => {
                if self.start != Start::Observed {
                    heard.push(write(wire::error(id.as_str(), wire::INVALID_PARAMS, &why)));
                }
                heard.push(Heard::Unrecognised { why: format!("a {method} that cannot be shown: {why}") });
                return heard;
            }
        };
        if let Some(session) = asked.open.session.clone() {
            let cwd = (self.start == Start::Fresh).then(|| self.cwd.clone());
            self.meet(&session, cwd, &mut heard);
        }
        if self.open.by_rpc(&id).is_some_and(|known| known.native_id == asked.open.native_id) {
            heard.push(Heard::Asked(Box::new(asked.asked)));
            return heard;
        }
        // An agent that uses an id again has forgotten the question that had it; its answer must not go to the new one.
        for old in self.open.take(|open| open.rpc == id) {
            heard.push(match old.delivered {
                Some(_) => Heard::Confirmed { native_id: old.native_id },
                None => withdrawn(old.native_id, "the agent used the id of this question for another one"),
            });
        }
        heard.extend(self.progress(asked.open.session.as_deref(), None));
        self.open.push(asked.open);
        heard.push(Heard::Asked(Box::new(asked.asked)));
        heard
    }

    fn hear_notification(&mut self, method: &str, params: Option<&RawValue>) -> Vec<Heard> {
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
            heard.extend(self.progress(Some(&session_id), update.tool_call_id.as_deref()));
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
                    heard.push(withdrawn(native_id, "the agent cancelled its request"));
                    heard.push(write(open.cancel_response()));
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
        let params: Result<elicitation::Params, String> = wire::params(params);
        let Some(id) = params.ok().and_then(|params| params.elicitation_id) else {
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
            let how = Elsewhere::Answered { answers, notes: vec![None], via: "link".to_owned() };
            heard.push(Heard::AnsweredElsewhere { native_id, how });
            if let Ok(id) = RawValue::from_string(open.rpc.as_str().to_owned()) {
                heard.push(write(wire::response(&id, json!({ "action": "accept" }))));
            }
        }
        heard.push(chatter(None));
        heard
    }

    fn hear_response(&mut self, id: &RawValue, result: Result<&RawValue, RpcError>) -> Vec<Heard> {
        let mut heard = self.progress(None, None);
        if let Some(ours) = Ours::read(id) {
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
        let here = |open: &Open| open.session.as_deref() == Some(session);
        for open in self.open.take(|open| here(open) && (open.delivered.is_some() || aborted)) {
            let native_id = open.native_id.clone();
            match open.delivered {
                Some(delivered) if !aborted || delivered.wanted_an_end() => {
                    heard.push(Heard::Confirmed { native_id });
                }
                Some(_) => heard.push(Heard::NotTaken {
                    native_id,
                    reason: FailReason::Unconfirmed,
                    detail: "the turn was cancelled before the agent showed that it went on".to_owned(),
                }),
                None => self.abandon(open, Cause::TurnAborted { detail: None }, heard),
            }
        }
        heard.push(Heard::TurnEnded { native_session: Some(session.to_owned()), end });
    }

    /// A question ends because its turn or session does.
    fn abandon(&self, open: Open, cause: Cause, heard: &mut Vec<Heard>) {
        let response = open.cancel_response();
        heard.push(Heard::Withdrawn { native_id: open.native_id, cause });
        heard.push(write(response));
    }

    fn abandon_all(&mut self, session: &str, cause: &Cause, heard: &mut Vec<Heard>) {
        let here = |open: &Open| open.session.as_deref() == Some(session) && open.delivered.is_none();
        for open in self.open.take(here) {
            self.abandon(open, cause.clone(), heard);
        }
    }

    fn progress(&mut self, session: Option<&str>, call_id: Option<&str>) -> Vec<Heard> {
        let shown = self.open.evidenced(Progress { session, call_id });
        shown.into_iter().map(|open| Heard::Confirmed { native_id: open.native_id }).collect()
    }

    fn named(&self, session: Option<&str>) -> Vec<String> {
        match session {
            Some(session) => vec![session.to_owned()],
            None => self.sessions.ids(),
        }
    }
}

impl Codec for AcpCodec {
    fn begin(&mut self, begin: Begin) -> Vec<Heard> {
        self.start = begin.start;
        self.cwd = begin.cwd;
        self.ids = Ids::new(begin.epoch);
        for session in begin.sessions {
            self.sessions.add_known(session);
        }
        for open in begin.pending.iter().filter_map(Open::known) {
            self.open.push(open);
        }
        if self.sessions.main().is_none() {
            self.queued.extend(begin.prompt);
        }
        if self.start == Start::Fresh { vec![self.greet()] } else { Vec::new() }
    }

    fn hear(&mut self, message: &[u8]) -> Vec<Heard> {
        let line = match std::str::from_utf8(message) {
            Ok(line) => line.trim(),
            Err(_) => return vec![Heard::Unrecognised { why: "a line that is not UTF-8".to_owned() }],
        };
        if line.is_empty() {
            return Vec::new();
        }
        match Message::read(line) {
            Ok(Message::Request { id, method, params }) => self.hear_request(line, id, &method, params),
            Ok(Message::Notification { method, params }) => self.hear_notification(&method, params),
            Ok(Message::Response { id, result }) => self.hear_response(id, result),
            Err(why) => vec![Heard::Unrecognised { why }],
        }
    }

    fn overhear(&mut self, message: &[u8]) -> Vec<Heard> {
        let line = std::str::from_utf8(message).map(str::trim).unwrap_or_default();
        match Message::read(line) {
            Ok(Message::Request { id, method, params }) => {
                if let Some(session) = self.overheard.note(id, &method, params)
                    && let Some(session) = self.sessions.get_mut(&session)
                {
                    session.begins_turn();
                }
                Vec::new()
            }
            Ok(Message::Notification { method, params }) if method == "session/cancel" => {
                let scope: super::open::Scope = wire::params(params).unwrap_or_default();
                let mut heard = Vec::new();
                if let Some(session) = scope.session_id {
                    self.abandon_all(&session, &Cause::TurnAborted { detail: None }, &mut heard);
                }
                heard
            }
            _ => Vec::new(),
        }
    }

    fn prompt(&mut self, session: Option<&str>, text: &str) -> Result<Vec<Heard>, Unspeakable> {
        let known = match session {
            Some(id) => match self.sessions.get(id) {
                Some(session) => Some(session.native_id.clone()),
                None => return Err(Unspeakable::UnknownSession(id.to_owned())),
            },
            None => self.sessions.main().map(|session| session.native_id.clone()),
        };
        match known {
            Some(session) => Ok(vec![self.send_prompt(&session, text)]),
            None if self.queued.len() >= MAX_QUEUED_PROMPTS => {
                Err(Unspeakable::NotNow("too many prompts wait for the agent's session"))
            }
            None => {
                self.queued.push_back(text.to_owned());
                Ok(Vec::new())
            }
        }
    }

    fn interrupt(&mut self, session: Option<&str>) -> Vec<Heard> {
        let mut heard = Vec::new();
        for session in self.named(session) {
            heard.push(write(cancel_turn(&session)));
            self.abandon_all(&session, &Cause::TurnAborted { detail: None }, &mut heard);
        }
        heard
    }

    fn close(&mut self, session: Option<&str>) -> Vec<Heard> {
        let mut heard = Vec::new();
        for session in self.named(session) {
            if self.sessions.get(&session).is_some_and(|session| session.busy) {
                heard.push(write(cancel_turn(&session)));
            }
            self.abandon_all(&session, &Cause::SessionEnded { detail: None }, &mut heard);
            if self.closes {
                let params = json!({ "sessionId": session });
                heard.push(self.request(&Ours::Close(session), "session/close", params));
            }
        }
        heard
    }

    fn speak(&self, native: &RawValue, ask: &Ask, settled: &Settlement) -> Result<Speech, Unspeakable> {
        let unreadable = |why: String| Unspeakable::Unreadable(why);
        let id = wire::stored_id(native).map_err(unreadable)?;
        let Message::Request { method, params, .. } = Message::read(native.get()).map_err(unreadable)? else {
            return Err(Unspeakable::Unreadable("it is not a request".to_owned()));
        };
        let response = match Way::of(&method) {
            Some(Way::Question) => wire::response(id, question::outcome(settled)),
            Some(Way::Elicitation) => {
                let params = wire::params(params).map_err(unreadable)?;
                wire::response(id, elicitation::outcome(&params, settled)?)
            }
            Some(Way::Permission) => {
                let params = wire::params(params).map_err(unreadable)?;
                wire::response(id, permission::outcome(&params, ask, settled)?)
            }
            None => return Err(Unspeakable::Unreadable(format!("{method} is not a question"))),
        };
        let mut bytes = Vec::new();
        if Delivered::from(settled) == Delivered::Reject(askd_core::RejectMode::Interrupt) {
            let scope: super::open::Scope = wire::params(params).map_err(unreadable)?;
            // The cancellation comes first: an agent that read the response first would go on with the turn.
            let session =
                scope.session_id.ok_or(Unspeakable::CannotCarry("an interrupt without a session"))?;
            bytes.extend(cancel_turn(&session));
        }
        bytes.extend(response);
        Ok(Speech::Bytes(bytes))
    }

    fn delivered(&mut self, native_id: &str, settled: &Settlement) -> Vec<Heard> {
        let mut heard = Vec::new();
        let delivered = Delivered::from(settled);
        let Some(open) = self.open.by_native_mut(native_id) else { return heard };
        open.delivered = Some(delivered);
        if delivered == Delivered::Reject(askd_core::RejectMode::Interrupt)
            && let Some(session) = open.session.clone()
        {
            let detail = Some("another question of the turn was rejected with an interrupt".to_owned());
            self.abandon_all(&session, &Cause::TurnAborted { detail }, &mut heard);
        }
        heard
    }
}

fn cancel_turn(session: &str) -> Vec<u8> {
    wire::notification("session/cancel", json!({ "sessionId": session }))
}

fn write(bytes: Vec<u8>) -> Heard {
    Heard::Write(Speech::Bytes(bytes))
}

fn chatter(native_session: Option<String>) -> Heard {
    Heard::Chatter { native_session, voice: Voice::Other, text: None }
}

fn withdrawn(native_id: String, detail: &str) -> Heard {
    Heard::Withdrawn { native_id, cause: Cause::AgentWithdrew { detail: Some(detail.to_owned()) } }
}
