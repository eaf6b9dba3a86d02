//! Matches sightings with questions. The waiting hook does not know its call's id; the other channels do.
//!
//! In: a session, the content of a call, and an id or a hook. Out: the question, stored now or before. The
//! oldest unmatched question with this content matches; an id that arrives late joins the older question.

use std::time::{Duration, Instant};

use askd_agents::claude_hook::{Seen, Tool, ask, likeness};
use askd_core::delivery::DeliveryState;
use askd_core::{Question, QuestionId, Session, SourceId, Timestamp};
use askd_store::{Order, QuestionFilter};
use serde_json::{Value, json};

use super::{Announced, HOOK, LocalAgents, Observed};
use crate::{AgentQuestion, EngineError, now};

/// Announcements without a question are forgotten after this time.
const STALE: Duration = Duration::from_secs(600);
/// Questions of one session that are searched.
const LOOKED_THROUGH: usize = 64;
/// A hook reports its question within this time, also on a busy machine.
const TOO_LATE_MS: i64 = 10_000;

/// A call as one channel saw it.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    pub tool: Tool,
    pub input: &'a Value,
    pub seen: Seen,
}

/// The prefix of a hook's name among the native ids of a session.
pub(super) const HOOK_NAMES: &str = "hook:";

pub(super) fn hook_name(hook: &str) -> String {
    format!("{HOOK_NAMES}{hook}")
}

/// The agent's own words, as they are stored with the question.
fn native(tool: Tool, input: &Value) -> String {
    json!({ "tool_name": tool.name(), "tool_input": input }).to_string()
}

/// The tool and input of a stored question.
pub(super) fn of_native(native: &str) -> Option<(Tool, Value)> {
    let mut value: Value = serde_json::from_str(native).ok()?;
    let tool = Tool::parse(value.get("tool_name")?.as_str()?)?;
    Some((tool, value.get_mut("tool_input")?.take()))
}

impl Observed {
    pub(super) fn announce(&self, session: &str, call_id: &str, likeness: String) {
        let mut memory = self.memory();
        memory.announced.retain(|known| known.at.elapsed() < STALE && known.call_id != call_id);
        let (session, call_id) = (session.to_owned(), call_id.to_owned());
        memory.announced.push(Announced { session, call_id, likeness, at: Instant::now() });
        drop(memory);
        self.named.notify_waiters();
    }

    pub(super) fn unannounce(&self, call_id: &str) {
        self.memory().announced.retain(|known| known.call_id != call_id);
    }

    pub(super) fn announced(&self, session: &str, likeness: &str) -> Option<String> {
        let memory = self.memory();
        let fits = |known: &&Announced| known.session == session && known.likeness == likeness;
        memory.announced.iter().find(fits).map(|known| known.call_id.clone())
    }
}

impl LocalAgents {
    /// The newest questions of a session with this content, oldest first, with the results of their
    /// sightings.
    pub(super) async fn alike(&self, session: &Session, like: &str) -> Result<Vec<Alike>, EngineError> {
        let filter = QuestionFilter { session: Some(session.id.clone()), ..QuestionFilter::default() };
        let page = self.store().list(filter, Order::Desc, None, LOOKED_THROUGH).await?;
        let mut found = Vec::new();
        for question in page.questions.into_iter().rev() {
            let native = self.store().native(&question.id).await?.unwrap_or_default();
            if of_native(&native).is_some_and(|(tool, input)| likeness(tool, &input) == like) {
                let memory = self.inner.observed.memory();
                let named = question.ask.call_id().is_some() || memory.names.contains_key(&question.id);
                let hooked =
                    memory.hooks.get(&question.id).is_some_and(|presence| !presence.hooks.is_empty());
                found.push(Alike { question, named, hooked });
            }
        }
        Ok(found)
    }

    /// The question of a named call, by its name or by its likeness; the name is joined to it.
    pub(super) async fn by_call(
        &self,
        session: &Session,
        call_id: &str,
        like: &str,
    ) -> Result<Option<QuestionId>, EngineError> {
        if let Some(known) = self.store().question_by_native(&session.id, call_id).await? {
            return Ok(Some(known.question.id));
        }
        let Some(found) =
            self.alike(session, like).await?.into_iter().find(|alike| !alike.named && alike.is_unfinished())
        else {
            return Ok(None);
        };
        let id = found.question.id;
        self.store().sight(&session.id, call_id, "transcript", &id).await?;
        self.inner.observed.memory().names.insert(id.clone(), call_id.to_owned());
        self.inner.observed.unannounce(call_id);
        Ok(Some(id))
    }

    /// Stores a question under the id of its call, or of the hook that saw it.
    pub(super) async fn hear_call(
        &self,
        source: &SourceId,
        session: &Session,
        call: Call<'_>,
        hook: Option<&str>,
    ) -> Result<Option<Question>, EngineError> {
        let call_id = call.seen.call_id.clone();
        let Some(native_id) = call_id.clone().or_else(|| hook.map(hook_name)) else { return Ok(None) };
        let Some(ask) = ask(call.tool, call.input, call.seen) else { return Ok(None) };
        let heard = AgentQuestion {
            source: source.clone(),
            session: session.id.clone(),
            native_id,
            is_new: false,
            road: if hook.is_some() { HOOK } else { "transcript" }.to_owned(),
            native: native(call.tool, call.input),
            ask,
        };
        let question = self.hub().questions.ask_as_agent(heard).await?;
        if let Some(call_id) = call_id {
            self.inner.observed.unannounce(&call_id);
        }
        self.inner.observed.named.notify_waiters();
        Ok(Some(question))
    }
}

/// A question that may match a sighting.
pub(super) struct Alike {
    pub question: Question,
    pub named: bool,
    pub hooked: bool,
}

impl Alike {
    fn delivery(&self) -> Option<DeliveryState> {
        self.question.delivery.as_ref().map(|delivery| delivery.state)
    }

    /// Open, or answered and not yet seen to arrive.
    fn is_unfinished(&self) -> bool {
        self.question.is_open()
            || matches!(self.delivery(), Some(DeliveryState::Queued | DeliveryState::Sent))
    }

    /// True if a hook may still bring its answer: no hook has, even if the answer came before the hook.
    pub fn wants_hook(&self) -> bool {
        self.question.is_open() || self.delivery() == Some(DeliveryState::Queued)
    }

    /// True if it has just ended without a hook: a hook that comes now is too late.
    pub fn has_just_ended(&self) -> bool {
        let since = |at: Timestamp| now().millis() - at.millis();
        let ended = self.question.outcome.as_ref().is_some_and(|outcome| since(outcome.at) < TOO_LATE_MS);
        ended && !self.hooked && !self.is_unfinished()
    }
}
