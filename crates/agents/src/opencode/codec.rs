//! The OpenCode codec: one server, all its folders and sessions.
//!
//! In: events, replies to calls, and what the engine wants. Out: [`Heard`] and calls. This file is the
//! conversation as the engine leads it; what the server says is in `hearing` (events) and `listing`
//! (replies).

use std::collections::{HashMap, HashSet};

use askd_core::Ask;
use askd_core::delivery::{DeliveryInput, FailReason};
use serde_json::json;
use serde_json::value::RawValue;

use super::listing::Purpose;
use super::open::{Open, Requests, Way};
use super::session::Sessions;
use super::wire::{AnyRequest, Envelope, QuestionRequest};
use super::{permission, question};
use crate::codec::{Begin, Codec, Settlement, Start, Unspeakable};
use crate::heard::{Call, CallMethod, Heard, Speech};

/// The tag of a call that carries an outcome, before the request's id. A codec that did not make the call
/// must understand it.
pub(super) const SPOKE: &str = "spoke:";

#[derive(Debug)]
pub struct OpencodeCodec {
    pub(super) agent: String,
    pub(super) start: Start,
    /// It is led over ACP, and this is the way beside: only its questions are heard here.
    pub(super) beside_acp: bool,
    /// The folder of askd's own session.
    pub(super) cwd: String,
    /// Prompts for that session, in order, until it exists.
    pub(super) queued: Vec<String>,
    /// The first of them may have been said by an earlier hub: the session is asked before anything is said.
    pub(super) in_doubt: bool,
    /// That session.
    pub(super) main: Option<String>,
    pub(super) sessions: Sessions,
    pub(super) open: Requests,
    /// The purposes of the calls in progress.
    pub(super) under_way: HashMap<u64, Purpose>,
    /// The folders that were listed on this connection.
    pub(super) listed: HashSet<Option<String>>,
    /// It has said that it is connected, and nothing since: it may not hear its own events yet.
    pub(super) unsure: bool,
    /// A counter for everything with an order: calls, and requests as they become known.
    pub(super) now: u64,
}

impl OpencodeCodec {
    pub fn new(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            start: Start::Fresh,
            beside_acp: false,
            cwd: String::new(),
            queued: Vec::new(),
            in_doubt: false,
            main: None,
            sessions: Sessions::default(),
            open: Requests::default(),
            under_way: HashMap::new(),
            listed: HashSet::new(),
            unsure: false,
            now: 0,
        }
    }

    /// The server of an OpenCode that ACP drives.
    pub(crate) fn beside_acp(agent: &str) -> Self {
        Self { beside_acp: true, ..Self::new(agent) }
    }

    /// Records a session that ACP has reported.
    pub(crate) fn meet(&mut self, session: &str, cwd: Option<String>) {
        self.sessions.met(session, cwd);
    }

    /// The session that a subagent finally works for.
    pub(crate) fn root<'a>(&'a self, session: &'a str) -> &'a str {
        self.sessions.root(session)
    }

    /// The unanswered questions of a session and its subagents.
    pub(crate) fn unanswered(&self, session: &str) -> Vec<String> {
        let here = |open: &&Open| open.sent.is_none() && self.root(&open.session) == session;
        self.open.iter().filter(here).map(|open| open.native_id.clone()).collect()
    }

    pub(super) fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn main_or(&self, session: Option<&str>) -> Option<String> {
        session.map(str::to_owned).or_else(|| self.main.clone())
    }
}

/// A call without a waiting caller.
pub(super) fn post(path: String, directory: Option<&str>, body: Option<Vec<u8>>) -> Call {
    Call { tag: String::new(), method: CallMethod::Post, path, query: in_directory(directory), body }
}

pub(super) fn in_directory(directory: Option<&str>) -> Vec<(String, String)> {
    directory.map(|directory| ("directory".to_owned(), directory.to_owned())).into_iter().collect()
}

pub(super) fn write(call: Call) -> Heard {
    Heard::Write(Speech::Call(call))
}

/// An id that can be part of a path unescaped.
pub(super) fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Removes a request without a waiting agent from the server's list.
pub(super) fn clean(open: &Open) -> Heard {
    let directory = open.directory.as_deref();
    write(match open.way {
        Way::Question => post(format!("/question/{}/reject", open.native_id), directory, None),
        Way::Permission => {
            let body = json!({ "reply": permission::REJECT }).to_string().into_bytes();
            post(format!("/permission/{}/reply", open.native_id), directory, Some(body))
        }
    })
}

impl Codec for OpencodeCodec {
    fn begin(&mut self, begin: Begin) -> Vec<Heard> {
        self.start = begin.start;
        self.cwd = begin.cwd;
        if begin.start != Start::Observed {
            self.main = begin.sessions.first().map(|session| session.native_id.clone());
        }
        for session in begin.sessions {
            self.sessions.known(&session.native_id, session.cwd, session.title);
        }
        for open in begin.pending.iter().filter_map(Open::known) {
            self.open.push(open);
        }
        self.in_doubt = self.main.is_some() && begin.prompt.is_some();
        if begin.start != Start::Observed {
            self.queued.extend(begin.prompt);
        }
        Vec::new()
    }

    fn hear(&mut self, message: &[u8]) -> Vec<Heard> {
        let text = match std::str::from_utf8(message) {
            Ok(text) => text.trim(),
            Err(_) => return vec![Heard::Unrecognised { why: "an event that is not UTF-8".to_owned() }],
        };
        let mut heard = Vec::new();
        if let Err(why) = self.hear_event(text, &mut heard) {
            heard.push(Heard::Unrecognised { why });
        }
        heard
    }

    fn connected(&mut self) -> Vec<Heard> {
        self.ask_for_everything()
    }

    fn still_connected(&mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        if self.unsure {
            self.ask_again(&mut heard);
        }
        heard
    }

    fn replied(&mut self, tag: &str, status: u16, body: &[u8]) -> Vec<Heard> {
        let mut heard = Vec::new();
        if let Some(native_id) = tag.strip_prefix(SPOKE) {
            self.after_speaking(native_id, status, &mut heard);
        } else if let Some(purpose) = tag.parse().ok().and_then(|n: u64| self.under_way.remove(&n)) {
            self.take_reply(purpose, status, body, &mut heard);
        }
        heard
    }

    fn prompt(&mut self, session: Option<&str>, text: &str) -> Result<Vec<Heard>, Unspeakable> {
        match self.main_or(session) {
            Some(session) if self.in_doubt && self.main.as_ref() == Some(&session) => {
                self.queued.push(text.to_owned());
                Ok(Vec::new())
            }
            Some(session) if is_plain(&session) => Ok(vec![self.prompt_call(&session, text, None)]),
            Some(session) => Err(Unspeakable::UnknownSession(session)),
            None if self.start == Start::Observed => {
                Err(Unspeakable::NotNow("name the session that is meant"))
            }
            None => {
                self.queued.push(text.to_owned());
                Ok(Vec::new())
            }
        }
    }

    fn interrupt(&mut self, session: Option<&str>) -> Vec<Heard> {
        let Some(session) = self.main_or(session).filter(|session| is_plain(session)) else {
            return Vec::new();
        };
        vec![write(post(format!("/session/{session}/abort"), self.sessions.directory(&session), None))]
    }

    fn close(&mut self, _: Option<&str>) -> Vec<Heard> {
        // A conversation stays in OpenCode's history; only its process, if askd started it, is ended.
        Vec::new()
    }

    fn speak(&self, native: &RawValue, _: &Ask, settled: &Settlement) -> Result<Speech, Unspeakable> {
        let envelope = Envelope::read(native.get()).map_err(Unspeakable::Unreadable)?;
        let unreadable = || Unspeakable::Unreadable("it is no request of OpenCode".to_owned());
        let way = Way::of_event(&envelope.payload.kind).ok_or_else(unreadable)?;
        let request: AnyRequest = envelope.payload.read().map_err(Unspeakable::Unreadable)?;
        if !is_plain(&request.id) {
            return Err(unreadable());
        }
        if let Some(why) = self.open.why_ended(&request.id) {
            return Err(Unspeakable::Misfit(format!("OpenCode does not wait for it any more: {why}")));
        }
        let (noun, (verb, body)) = match way {
            Way::Question => {
                let request: QuestionRequest = envelope.payload.read().map_err(Unspeakable::Unreadable)?;
                ("question", question::speak(&request.questions, settled)?)
            }
            Way::Permission => ("permission", permission::speak(settled)?),
        };
        let path = format!("/{noun}/{}/{verb}", request.id);
        let tag = format!("{SPOKE}{}", request.id);
        Ok(Speech::Call(Call { tag, ..post(path, envelope.directory.as_deref(), body) }))
    }

    fn delivered(&mut self, native_id: &str, settled: &Settlement) -> Vec<Heard> {
        if let Some(open) = self.open.get_mut(native_id) {
            open.sent = Some(settled.clone());
            open.in_flight = true;
            open.acknowledged = false;
            // Known from now on: the tool part may tell of it before the server says that it took it.
            let rejects = permission::reply_of(settled).is_ok_and(|(word, _)| word == permission::REJECT);
            if rejects && matches!(open.way, Way::Permission) {
                self.sessions.get_mut(&open.session).rejected = Some(native_id.to_owned());
            }
        }
        Vec::new()
    }

    fn forget(&mut self, native_id: &str) {
        self.open.forget(native_id);
    }

    fn own_name(&self, native: &RawValue) -> Option<String> {
        let envelope = Envelope::read(native.get()).ok()?;
        envelope.payload.read::<AnyRequest>().ok().map(|request| request.id)
    }

    fn judge(&self, status: u16, body: &[u8]) -> DeliveryInput {
        let said = String::from_utf8_lossy(&body[..body.len().min(512)]).into_owned();
        match status {
            // 404: answered there before, lost by a restart, or written by a hub that died. The tool part
            // shows which, and every reply leads to a look at it; until then the answer counts as posted.
            200..=299 | 404 => DeliveryInput::Written,
            401 | 403 | 408 | 425 | 429 | 500..=599 => {
                DeliveryInput::NotWritten { detail: format!("OpenCode answered {status}: {said}") }
            }
            _ => DeliveryInput::Failed {
                reason: FailReason::Refused,
                detail: Some(format!("OpenCode answered {status}: {said}")),
            },
        }
    }
}
