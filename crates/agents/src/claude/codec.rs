//! The Claude Code codec: one process, one conversation, any number of open questions.
//!
//! In: lines of stream-json. Out: [`Heard`], and lines for the agent's standard input. This file is the
//! conversation as the engine leads it: prompts, interrupts, answers. `hearing` has the meaning of the
//! agent's lines, and each type of request has its file. No version needs a greeting. A hub that connects
//! before the agent has a session sends the first prompt again: the holder writes an opening once.

use std::collections::VecDeque;

use askd_core::{Ask, Cause, RejectMode};
use serde_json::value::RawValue;

use super::hearing::write;
use super::open::{Open, Way};
use super::{elicitation, permission, plan, question, wire};
use crate::codec::{Begin, Codec, KnownSession, Settlement, Start, Unspeakable};
use crate::heard::{Heard, Speech};
use crate::open_requests::OpenRequests;

#[derive(Debug)]
pub struct ClaudeCodec {
    pub(super) agent: String,
    pub(super) start: Start,
    epoch: u32,
    requests: u64,
    /// The newest first: Claude Code begins another one on `/clear`.
    pub(super) sessions: Vec<KnownSession>,
    pub(super) open: OpenRequests<Open>,
    /// Calls of MCP tools, newest last.
    pub(super) calls: VecDeque<(String, String)>,
    /// The agent's last text.
    pub(super) excerpt: Option<String>,
    /// A person is stopping the turn.
    pub(super) interrupting: bool,
    /// Counts the turns: a call's id may be used again in a later one.
    pub(super) turn: u64,
    /// True if the next message is certainly new.
    pub(super) first_time: bool,
}

impl ClaudeCodec {
    pub fn new(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            start: Start::Fresh,
            epoch: 0,
            requests: 0,
            sessions: Vec::new(),
            open: OpenRequests::default(),
            calls: VecDeque::new(),
            excerpt: None,
            interrupting: false,
            turn: 0,
            first_time: false,
        }
    }

    pub(super) fn main(&self) -> Option<String> {
        self.sessions.first().map(|session| session.native_id.clone())
    }

    fn is_known(&self, session: &str) -> bool {
        self.sessions.iter().any(|known| known.native_id == session)
    }

    fn stop_turn(&mut self) -> Heard {
        self.interrupting = true;
        self.requests += 1;
        write(wire::interrupt(&format!("askd-{}-{}", self.epoch, self.requests)))
    }
}

impl Codec for ClaudeCodec {
    fn begin(&mut self, begin: Begin) -> Vec<Heard> {
        self.start = begin.start;
        self.epoch = begin.epoch;
        self.sessions = begin.sessions;
        for open in begin.pending.iter().filter_map(Open::known) {
            self.open.keep(open);
        }
        let prompt = begin.prompt.filter(|_| self.start != Start::Observed && self.sessions.is_empty());
        prompt.map(|prompt| write(wire::user(&prompt))).into_iter().collect()
    }

    fn hear(&mut self, message: &[u8]) -> Vec<Heard> {
        match std::str::from_utf8(message).map(str::trim) {
            Ok("") => Vec::new(),
            Ok(line) => self.hear_line(line),
            Err(_) => vec![Heard::Unrecognised { why: "a line that is not UTF-8".to_owned() }],
        }
    }

    fn prompt(&mut self, session: Option<&str>, text: &str) -> Result<Vec<Heard>, Unspeakable> {
        match session {
            Some(session) if !self.is_known(session) => Err(Unspeakable::UnknownSession(session.to_owned())),
            _ => Ok(vec![write(wire::user(text))]),
        }
    }

    fn interrupt(&mut self, session: Option<&str>) -> Vec<Heard> {
        match session {
            Some(session) if !self.is_known(session) => Vec::new(),
            _ => vec![self.stop_turn()],
        }
    }

    fn close(&mut self, session: Option<&str>) -> Vec<Heard> {
        let mut heard = self.interrupt(session);
        if !heard.is_empty() {
            let open = self.open.take(|open| open.delivered.is_none());
            heard.extend(open.into_iter().map(|open| Heard::Withdrawn {
                native_id: open.native_id,
                cause: Cause::SessionEnded { detail: None },
            }));
        }
        heard
    }

    fn speak(&self, native: &RawValue, _ask: &Ask, settled: &Settlement) -> Result<Speech, Unspeakable> {
        let (id, request) = wire::stored(native).map_err(Unspeakable::Unreadable)?;
        let way = Way::of(&request)
            .ok_or_else(|| Unspeakable::Unreadable(format!("{:?} is not a question", request.subtype)))?;
        let mut bytes = note(way, settled);
        match (way, settled) {
            (Way::Elicitation, _) => {
                if settled.reject_mode() == Some(RejectMode::Interrupt) {
                    bytes.extend(wire::interrupt(&format!("askd-stop-{id}")));
                }
                bytes.extend(wire::response(&id, &elicitation::outcome(&request, settled)?));
            }
            (_, Settlement::Rejected { mode, reason }) => {
                let message = way.declined(reason.as_deref());
                let decision = match mode {
                    RejectMode::Decline => wire::deny(&message),
                    RejectMode::Interrupt => wire::deny_and_stop(&message),
                    RejectMode::Cancel => {
                        return Err(Unspeakable::CannotCarry("a cancellation that is not a decline"));
                    }
                };
                bytes.extend(wire::response(&id, &decision));
            }
            (Way::Question, Settlement::Answered(answer)) => {
                let input = request.input().map_err(Unspeakable::Unreadable)?;
                bytes.extend(wire::response(&id, &question::outcome(&input, request.takes(), answer)?));
            }
            (Way::Plan, Settlement::Answered(answer)) => bytes.extend(plan::outcome(&request, &id, answer)?),
            (Way::Permission, Settlement::Answered(answer)) => {
                bytes.extend(permission::outcome(&request, &id, answer)?);
            }
        }
        Ok(Speech::Bytes(bytes))
    }

    fn delivered(&mut self, native_id: &str, settled: &Settlement) -> Vec<Heard> {
        if let Some(open) = self.open.by_native_mut(native_id) {
            open.delivered = Some(settled.clone());
            // The agent itself takes back the other questions of the turn.
            self.interrupting |= settled.reject_mode() == Some(RejectMode::Interrupt);
        }
        Vec::new()
    }

    fn undelivered(&mut self, native_id: &str) {
        if let Some(open) = self.open.by_native_mut(native_id) {
            open.delivered = None;
        }
    }

    fn first_time(&mut self, surely: bool) {
        self.first_time = surely;
    }

    fn forget(&mut self, native_id: &str) {
        self.open.take(|open| open.native_id == native_id);
    }
}

/// Notes that the response has no place for are said right before it: the model then reads them with the
/// tool's result.
fn note(way: Way, settled: &Settlement) -> Vec<u8> {
    let Settlement::Answered(answer) = settled else { return Vec::new() };
    let placed = way == Way::Question || (way == Way::Permission && permission::denies(answer));
    let notes: Vec<&str> = answer.notes.iter().flatten().map(String::as_str).collect();
    if placed || notes.is_empty() {
        return Vec::new();
    }
    wire::user(&format!("(A note beside my answer, from the askd inbox.) {}", notes.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_prompt_is_said_by_whichever_hub_comes_before_there_is_a_session() {
        let said = |start: Start, sessions: &[&str]| {
            let sessions = sessions.iter().map(|id| KnownSession {
                native_id: (*id).to_owned(),
                cwd: None,
                title: None,
            });
            let prompt = Some("go".to_owned());
            let begin = Begin { start, prompt, sessions: sessions.collect(), ..Begin::default() };
            let heard = ClaudeCodec::new("claude").begin(begin);
            let bytes = |heard: &Heard| match heard {
                Heard::Write(speech) => speech.bytes().map(<[u8]>::to_vec),
                _ => None,
            };
            heard.iter().filter_map(bytes).collect::<Vec<_>>()
        };
        // The very same bytes, so that the holder's journal can tell that they were written.
        assert_eq!(said(Start::Fresh, &[]), [wire::user("go")]);
        assert_eq!(said(Start::Resumed, &[]), [wire::user("go")]);
        assert!(said(Start::Resumed, &["known"]).is_empty());
        assert!(said(Start::Observed, &[]).is_empty());
    }
}
