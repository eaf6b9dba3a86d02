//! The meaning of the agent's lines for the conversation.

use askd_core::Cause;
use askd_core::ask::OPENED;
use askd_core::delivery::FailReason;
use askd_core::lifecycle::Elsewhere;
use serde_json::Value;
use serde_json::value::RawValue;

use super::codec::ClaudeCodec;
use super::evidence::{self, Seen};
use super::open::{Open, Way};
use super::versions;
use super::wire::{self, Line, Message, Request, ToolResult};
use crate::codec::{KnownSession, Start};
use crate::descriptor::Road;
use crate::heard::{Asked, Heard, Speech, TurnEnd, Voice};
use crate::open_requests::MAX_OPEN;

/// Characters of the agent's last text that go with a question.
const MAX_EXCERPT_CHARS: usize = 4000;
/// Remembered names of tool calls.
const MAX_CALLS: usize = 1024;

/// Known lines without a meaning for a hub.
const TALK: [&str; 8] = [
    "stream_event",
    "keep_alive",
    "rate_limit_event",
    "tool_progress",
    "tool_use_summary",
    "auth_status",
    "prompt_suggestion",
    "control_response",
];

pub(super) fn write(bytes: Vec<u8>) -> Heard {
    Heard::Write(Speech::Bytes(bytes))
}

fn unrecognised(why: impl Into<String>) -> Vec<Heard> {
    vec![Heard::Unrecognised { why: why.into() }]
}

impl ClaudeCodec {
    pub(super) fn hear_line(&mut self, text: &str) -> Vec<Heard> {
        let line: Line<'_> = match serde_json::from_str(text) {
            Ok(line) => line,
            Err(error) => return unrecognised(format!("not a line of stream-json: {error}")),
        };
        match line.kind.as_str() {
            "system" => self.hear_system(line),
            "assistant" => self.hear_assistant(&line),
            "user" => self.hear_user(&line),
            "control_request" => self.hear_request(text, &line),
            "control_cancel_request" => self.hear_cancel(&line),
            "result" => self.hear_result(line),
            kind if TALK.contains(&kind) => vec![self.chatter(&line, Voice::Other, None)],
            kind => unrecognised(format!("a line of type {kind:?}")),
        }
    }

    fn chatter(&self, line: &Line<'_>, voice: Voice, text: Option<String>) -> Heard {
        let native_session = line.session_id.clone().or_else(|| self.main());
        Heard::Chatter { native_session, voice, text }
    }

    fn hear_system(&mut self, line: Line<'_>) -> Vec<Heard> {
        let chatter = self.chatter(&line, Voice::Other, None);
        match (line.subtype.as_deref(), line.session_id) {
            (Some("init"), Some(native_id)) => {
                let mut heard = Vec::new();
                if self.sessions.iter().all(|known| known.native_id != native_id) {
                    let cwd = line.cwd;
                    let known = KnownSession { native_id: native_id.clone(), cwd: cwd.clone(), title: None };
                    self.sessions.insert(0, known);
                    heard.push(Heard::SessionStarted { native_id, title: None, cwd, parent: None });
                }
                // A program that did not print its version before its start.
                if let Some(version) = line.claude_code_version
                    && let Some(why) = versions::lacks(&version, Road::ControlProtocol)
                {
                    heard.push(Heard::Unrecognised { why: format!("Claude Code {version}: {why}") });
                }
                heard.push(chatter);
                heard
            }
            (Some("elicitation_complete"), _) => {
                let wanted = line.elicitation_id;
                let done = self.open.take(|open| wanted.is_some() && open.elicitation_id == wanted);
                let mut heard: Vec<Heard> = done.into_iter().map(completed).collect();
                heard.push(chatter);
                heard
            }
            _ => vec![chatter],
        }
    }

    fn hear_assistant(&mut self, line: &Line<'_>) -> Vec<Heard> {
        let Some(message) = line.message.and_then(|raw| serde_json::from_str::<Message>(raw.get()).ok())
        else {
            return unrecognised("an assistant line without a message");
        };
        let mut said = Vec::new();
        let mut voice = Voice::Other;
        let mut shown = None;
        for block in message.blocks() {
            let text = |key: &str| block.get(key).and_then(Value::as_str);
            match text("type") {
                Some("text") => said.extend(text("text").filter(|text| !text.trim().is_empty())),
                Some("thinking") if voice == Voice::Other => {
                    voice = Voice::Thought;
                    shown = text("thinking").map(str::to_owned);
                }
                Some("tool_use") => {
                    if let (Some(id), Some(name)) = (text("id"), text("name")) {
                        self.remember_call(id, name);
                        voice = Voice::Tool;
                        shown = Some(name.to_owned());
                    }
                }
                _ => {}
            }
        }
        if !said.is_empty() {
            let text = said.join("\n");
            if line.parent_tool_use_id.is_none() {
                self.excerpt = Some(text.chars().take(MAX_EXCERPT_CHARS).collect());
            }
            voice = Voice::Agent;
            shown = Some(text);
        }
        vec![self.chatter(line, voice, shown)]
    }

    fn remember_call(&mut self, id: &str, name: &str) {
        if name.starts_with("mcp__") {
            if self.calls.len() >= MAX_CALLS {
                self.calls.pop_front();
            }
            self.calls.push_back((id.to_owned(), name.to_owned()));
        }
    }

    fn hear_user(&mut self, line: &Line<'_>) -> Vec<Heard> {
        let Some(message) = line.message.and_then(|raw| serde_json::from_str::<Message>(raw.get()).ok())
        else {
            return unrecognised("a user line without a message");
        };
        let results: Vec<ToolResult<'_>> = message.blocks().iter().filter_map(ToolResult::read).collect();
        let mut heard = Vec::new();
        for result in &results {
            let meta = line.tool_result_meta.iter().flatten().find(|meta| meta.id == result.call_id);
            let not_executed = meta.and_then(|meta| meta.non_execution_kind.as_deref());
            // With several results in one line the structure could belong to any of them.
            let structure = line.tool_use_result.filter(|_| results.len() == 1);
            let seen = Seen { result, structure, not_executed, interrupting: self.interrupting };
            let over = self.open.take(|open| open.call_id.as_deref() == Some(result.call_id));
            heard.extend(over.iter().map(|open| evidence::verdict(open, seen)));
            // An elicitation names no call, only its server. The call is known only if that server has a
            // single one.
            let known = self.calls.iter().position(|(id, _)| id == result.call_id);
            let Some((_, name)) = known.and_then(|at| self.calls.remove(at)) else { continue };
            let others: Vec<&str> = self.calls.iter().map(|(_, name)| name.as_str()).collect();
            let over = self.open.take(|open| {
                let its = |name: &str| open.tools.as_deref().is_some_and(|tools| name.starts_with(tools));
                let only = its(&name) && !others.iter().any(|other| its(other));
                open.way == Way::Elicitation && open.delivered.is_some() && only
            });
            heard.extend(over.into_iter().map(|open| Heard::Confirmed { native_id: open.native_id }));
        }
        let text = match results.first() {
            Some(result) => Some(result.text.clone()),
            None => message.content.as_str().map(str::to_owned).or_else(|| {
                let texts = message.blocks().iter().filter_map(|block| block.get("text")?.as_str());
                Some(texts.collect::<Vec<_>>().join("\n"))
            }),
        };
        let voice = if results.is_empty() { Voice::User } else { Voice::Tool };
        heard.push(self.chatter(line, voice, text));
        heard
    }

    fn hear_request(&mut self, text: &str, line: &Line<'_>) -> Vec<Heard> {
        let Some(id) = line.request_id.as_deref() else {
            return unrecognised("a control request without an id");
        };
        let mut heard = Vec::new();
        match self.read_request(text, id, line.request, &mut heard) {
            Ok(asked) => {
                heard.push(Heard::Asked(Box::new(asked)));
                heard
            }
            Err(why) => {
                heard = unrecognised(format!("a control request that cannot be served: {why}"));
                if self.start != Start::Observed {
                    heard.push(write(wire::error(id, &format!("askd cannot serve this: {why}"))));
                }
                heard
            }
        }
    }

    fn read_request(
        &mut self,
        text: &str,
        id: &str,
        raw: Option<&RawValue>,
        heard: &mut Vec<Heard>,
    ) -> Result<Asked, String> {
        let raw = raw.ok_or("it has no request")?;
        let request: Request<'_> = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
        let way = Way::of(&request).ok_or_else(|| format!("{:?} is no question", request.subtype))?;
        let mut ask = way.ask(&self.agent, &request, raw)?;
        ask.context.cwd = self.sessions.first().and_then(|session| session.cwd.clone());
        ask.context.excerpt.clone_from(&self.excerpt);
        ask.check().map_err(|errors| errors.to_string())?;
        let native = RawValue::from_string(text.to_owned()).map_err(|error| error.to_string())?;
        let native_session = self.main();
        // The same bytes are the same question, unless the agent has its answer and surely asks anew.
        let new = |known: &Open| known.delivered.is_some() && self.first_time;
        if let Some(known) = self.open.same(id, text).filter(|known| !new(known)) {
            let native_id = known.native_id.clone();
            return Ok(Asked { native_id, native_session, ask, native, patience: None, likeness: None });
        }
        if self.open.is_full() {
            return Err(format!("{MAX_OPEN} questions of this agent are open already"));
        }
        self.leave_used_again(id, request.tool_use_id.as_deref(), heard);
        let native_id = self.open.native_id(request.tool_use_id.as_deref(), id);
        let mut open = Open::new(native_id.clone(), id.to_owned(), way, &request, native.clone());
        open.turn = self.turn;
        self.open.keep(open);
        Ok(Asked { native_id, native_session, ask, native, patience: None, likeness: None })
    }

    /// Ends older questions with this id: the newest request with an id is the one to answer, and a call's
    /// result belongs to the turn that made it. The reuse of an id says nothing about an earlier answer.
    fn leave_used_again(&mut self, id: &str, call_id: Option<&str>, heard: &mut Vec<Heard>) {
        let turn = self.turn;
        let used_again = |open: &Open| {
            let same_call = open.call_id.is_some() && open.call_id.as_deref() == call_id;
            open.request_id == id || (same_call && open.turn != turn)
        };
        for old in self.open.take(used_again) {
            heard.push(match old.delivered {
                None => Heard::Withdrawn {
                    native_id: old.native_id,
                    cause: Cause::AgentWithdrew {
                        detail: Some("the agent used the id of this question for another one".to_owned()),
                    },
                },
                Some(_) => unconfirmed(
                    old.native_id,
                    "the agent used the id of this question for another one before it showed that it had the answer",
                ),
            });
        }
    }

    /// The agent waits no longer. For a tool its result tells why; an elicitation has none.
    fn hear_cancel(&mut self, line: &Line<'_>) -> Vec<Heard> {
        let Some(id) = line.request_id.as_deref() else {
            return unrecognised("a cancellation without an id");
        };
        for open in self.open.iter_mut().filter(|open| open.request_id == id) {
            open.cancelled = true;
        }
        let interrupting = self.interrupting;
        let over = self.open.take(|open| open.cancelled && open.call_id.is_none());
        let mut heard: Vec<Heard> = over.iter().map(|open| evidence::given_up(open, interrupting)).collect();
        heard.push(self.chatter(line, Voice::Other, None));
        heard
    }

    fn hear_result(&mut self, line: Line<'_>) -> Vec<Heard> {
        // The text of this turn does not explain a question of the next.
        self.excerpt = None;
        let aborted = line.terminal_reason.as_deref().is_some_and(|reason| reason.starts_with("aborted"));
        let interrupting = std::mem::take(&mut self.interrupting) || aborted;
        let over = self.open.take(|open| open.cancelled);
        let mut heard: Vec<Heard> = over.iter().map(|open| evidence::given_up(open, interrupting)).collect();
        self.turn += 1;
        let subtype = line.subtype.unwrap_or_default();
        let went_on = subtype == "success" && !line.is_error && !interrupting;
        for open in self.open.take(|open| open.way == Way::Elicitation && open.delivered.is_some()) {
            let rejected = open.delivered.as_ref().is_some_and(|sent| sent.reject_mode().is_some());
            heard.push(if went_on || (interrupting && rejected) {
                Heard::Confirmed { native_id: open.native_id }
            } else {
                let why = "the turn failed or was stopped before the agent showed that it had the answer";
                unconfirmed(open.native_id, why)
            });
        }
        let end = match subtype.as_str() {
            _ if interrupting => TurnEnd::Cancelled,
            "success" if !line.is_error => TurnEnd::Done,
            "success" => {
                let text = line.result.as_ref().and_then(Value::as_str);
                TurnEnd::Failed(text.unwrap_or("an error without a text").to_owned())
            }
            _ => TurnEnd::Stopped(subtype),
        };
        let native_session = line.session_id.or_else(|| self.main());
        heard.push(Heard::TurnEnded { native_session, end });
        heard
    }
}

/// A link was followed to its end.
fn completed(open: Open) -> Heard {
    let native_id = open.native_id;
    if open.delivered.is_some() {
        return Heard::Confirmed { native_id };
    }
    let how = Elsewhere::Answered {
        answers: vec![vec![OPENED.to_owned()]],
        notes: vec![None],
        via: "link".to_owned(),
    };
    Heard::AnsweredElsewhere { native_id, how }
}

/// The answer was sent, without evidence that the agent has it.
fn unconfirmed(native_id: String, detail: &str) -> Heard {
    Heard::NotTaken { native_id, reason: FailReason::Unconfirmed, detail: detail.to_owned() }
}
