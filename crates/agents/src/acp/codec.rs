//! The ACP codec: one connection, any number of sessions, questions by three ways.
//!
//! In: lines of the agent. Out: [`Heard`], and lines for the agent. This file is the conversation as the
//! engine leads it: greeting, prompts, interrupts, answers. What the agent's messages mean is in `hearing`,
//! and each way to ask has its room.

use std::collections::VecDeque;

use askd_core::{Ask, Cause, Outcome, Status};
use serde_json::json;
use serde_json::value::RawValue;

use super::hearing::{LINK, write};
use super::ids::{Ids, Ours};
use super::observed::Overheard;
use super::open::{self, Delivered, Open, Way};
use super::session::{Session, Sessions};
use super::wire::{self, Message};
use super::{elicitation, permission, question, raw, replying};
use crate::codec::{Begin, ClientSays, Codec, Settlement, Start, Unspeakable};
use crate::heard::{Heard, Speech};
use crate::open_requests::OpenRequests;
use crate::recent::Recent;

/// The protocol version of askd.
pub(super) const PROTOCOL_VERSION: u64 = 1;
const CANCEL: &str = "session/cancel";
/// Prompts that wait for a session.
const MAX_QUEUED_PROMPTS: usize = 64;

#[derive(Debug)]
pub struct AcpCodec {
    pub(super) agent: String,
    pub(super) start: Start,
    pub(super) cwd: String,
    ids: Ids,
    pub(super) sessions: Sessions,
    pub(super) open: OpenRequests<Open>,
    pub(super) overheard: Overheard,
    /// The agent's first prompt, until it has a session.
    pub(super) first_prompt: Option<String>,
    /// Prompts for the main session before it exists.
    pub(super) queued: VecDeque<String>,
    /// True if the agent can close a session.
    pub(super) closes: bool,
    /// True if the next message is certainly new.
    pub(super) first_time: bool,
    /// askd's requests with a response: a second response ends nothing.
    pub(super) answered: Recent,
    /// Requests with a response that an earlier hub read.
    pub(super) answered_before: Recent,
}

impl AcpCodec {
    pub fn new(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            start: Start::Fresh,
            cwd: String::new(),
            ids: Ids::default(),
            sessions: Sessions::default(),
            open: OpenRequests::default(),
            overheard: Overheard::default(),
            first_prompt: None,
            queued: VecDeque::new(),
            closes: false,
            first_time: false,
            answered: Recent::default(),
            answered_before: Recent::default(),
        }
    }

    pub(crate) fn knows(&self, session: &str) -> bool {
        self.sessions.get(session).is_some()
    }

    pub(super) fn request(&mut self, what: &Ours, method: &str, params: impl serde::Serialize) -> Heard {
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

    pub(super) fn send_prompt(&mut self, session: &str, text: &str) -> Heard {
        if let Some(session) = self.sessions.get_mut(session) {
            session.begins_turn();
        }
        write(self.prompt_request(session, text))
    }

    pub(super) fn first_prompt(&mut self, session: &str, text: &str) -> Heard {
        Heard::FirstPrompt(self.prompt_request(session, text))
    }

    fn prompt_request(&mut self, session: &str, text: &str) -> Vec<u8> {
        let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        wire::request(&self.ids.next(&Ours::Prompt(session.to_owned())), "session/prompt", params)
    }

    /// Reports a session, if it is new.
    pub(super) fn meet(&mut self, native_id: &str, cwd: Option<String>, heard: &mut Vec<Heard>) {
        if self.sessions.add(native_id, cwd.clone()) {
            let (native_id, title, parent) = (native_id.to_owned(), None, None);
            heard.push(Heard::SessionStarted { native_id, title, cwd, parent });
        }
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
        for line in &begin.turns_ended {
            if let Ok(Message::Response { id, .. }) = Message::read(line.trim()) {
                self.answered_before.add(id.form());
            }
        }
        let has_asked = !begin.pending.is_empty();
        match (self.start, self.sessions.main().map(|main| main.native_id.clone()), begin.prompt) {
            (Start::Fresh, _, prompt) => {
                self.first_prompt = prompt;
                vec![self.greet()]
            }
            // The earlier hub may have sent it; the holder writes it once.
            (Start::Resumed, Some(main), Some(prompt)) => vec![self.first_prompt(&main, &prompt)],
            (Start::Resumed, None, prompt) if !has_asked => {
                self.first_prompt = prompt;
                vec![self.greet()]
            }
            (_, _, prompt) => {
                self.first_prompt = prompt;
                Vec::new()
            }
        }
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
            Ok(Message::Response { id, result }) => self.hear_response(&id, result),
            Err(why) => {
                let refused = wire::refusable(line).filter(|_| self.start != Start::Observed);
                let refusal = refused.map(|id| write(wire::error(id.as_str(), wire::INVALID_REQUEST, &why)));
                [Heard::Unrecognised { why }].into_iter().chain(refusal).collect()
            }
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
            Ok(Message::Notification { .. }) => {
                let mut heard = Vec::new();
                if let Some(session) = cancelled_turn(message) {
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
            Some(way) if raw::is_raw(ask) => raw::response(id, way, params, settled)?,
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

    fn closing(&self, native: &RawValue, outcome: &Outcome) -> Option<Vec<u8>> {
        let Ok(Message::Request { id, method, params }) = Message::read(native.get()) else { return None };
        let received = outcome.agent_received.as_ref();
        let followed = received.map_or(outcome.status == Status::Answered, |received| received.via == LINK);
        match (Way::of(&method)?, &outcome.cause) {
            (way, Some(Cause::TurnAborted { .. } | Cause::SessionEnded { .. })) => {
                Some(open::cancelled(way, &id))
            }
            (Way::Elicitation, _) if followed && elicitation::id_of(params).is_some() => {
                Some(open::followed(&id))
            }
            _ => None,
        }
    }

    fn delivered(&mut self, native_id: &str, settled: &Settlement) -> Vec<Heard> {
        let mut heard = Vec::new();
        let delivered = Delivered::from(settled);
        let Some(open) = self.open.by_native_mut(native_id) else { return heard };
        open.delivered = Some(delivered);
        let session = open.session.as_deref().and_then(|session| self.sessions.get(session));
        open.calls_before = session.map_or(0, Session::calls_seen);
        if delivered == Delivered::Reject(askd_core::RejectMode::Interrupt)
            && let Some(session) = open.session.clone()
        {
            let detail = Some("another question of the turn was rejected with an interrupt".to_owned());
            self.abandon_all(&session, &Cause::TurnAborted { detail }, &mut heard);
        }
        heard
    }

    fn understand(&self, native: &RawValue, ask: &Ask, response: &str) -> Result<ClientSays, Unspeakable> {
        replying::understand(native, ask, response)
    }

    fn first_time(&mut self, surely: bool) {
        self.first_time = surely;
    }

    fn undelivered(&mut self, native_id: &str) {
        if let Some(open) = self.open.by_native_mut(native_id) {
            open.delivered = None;
        }
    }

    fn forget(&mut self, native_id: &str) {
        self.open.take(|open| open.native_id == native_id);
    }
}

/// The session of the turn that this message of a client cancels.
pub(crate) fn cancelled_turn(message: &[u8]) -> Option<String> {
    match Message::read(std::str::from_utf8(message).ok()?.trim()) {
        Ok(Message::Notification { method, params }) if method == CANCEL => {
            wire::params::<super::open::Scope>(params).ok()?.session_id
        }
        _ => None,
    }
}

fn cancel_turn(session: &str) -> Vec<u8> {
    wire::notification(CANCEL, json!({ "sessionId": session }))
}
