//! Reports of hooks, and the replies.
//!
//! In: the report of one hook process, repeated whenever it reconnects. Out: the question that it waits for,
//! and the reply that ends its wait: a decision to print, or that there is nothing to print.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use askd_agents::claude_hook::{HookEvent, HookInput, Seen, Tool, Went, decision, hook_output, likeness};
use askd_core::delivery::{DeliveryInput, DeliveryState};
use askd_core::{QuestionId, Right, Session, Status, Surface};
use askd_holder::process::pid_here;

use super::identity::{Alike, Call, hook_name};
use super::peek::peek;
use super::registry::Registered;
use super::session::Conversation;
use super::{LocalAgents, is_alive};
use crate::{Caller, EngineError, now};

/// How long the name of the call is waited for: it usually came before; the hook itself waits 300 ms for this
/// hub.
const NAME_PATIENCE: Duration = Duration::from_millis(120);

/// One hook process and its input.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookReport {
    /// Names the hook process; the same in each of its requests.
    #[schema(min_length = 16, max_length = 64)]
    pub hook: String,
    /// Claude Code's process, if the hook knows it.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Claude Code's own time-out in milliseconds, if one is set.
    #[serde(default)]
    pub times_out_ms: Option<u64>,
    /// The PID namespace of `pid`, by the number in `/proc/PID/ns/pid`; unless given, the hub's own.
    #[serde(default)]
    pub pid_namespace: Option<u64>,
    /// The hook's stdin, as Claude Code wrote it.
    #[schema(value_type = Object)]
    pub input: HookInput,
}

impl HookReport {
    /// The report with the process number that this hub sees, or without one if this hub cannot see the
    /// process. It walks through processes: do not call it on an async thread.
    pub fn seen_from_here(mut self) -> Self {
        if let (Some(pid), Some(namespace)) = (self.pid, self.pid_namespace) {
            self.pid = pid_here(pid, namespace);
        }
        self
    }

    /// True if the hub cannot see the agent's process: only the waiting hook shows that it lives.
    pub(super) fn is_out_of_sight(&self) -> bool {
        self.pid.is_none() && self.pid_namespace.is_some()
    }
}

/// The result of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookHeard {
    /// It is not about a question, or there is nothing to wait for.
    Noted,
    Waits(QuestionId),
}

/// The reply to a waiting hook.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(tag = "state", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum HookWord {
    /// Stored and open: ask again.
    Open { question_id: QuestionId },
    /// Print `output` and end, then report that it was taken.
    Decided {
        question_id: QuestionId,
        #[schema(value_type = Object)]
        output: Value,
    },
    /// Print nothing and end: the terminal answered, the question is over, or it is none.
    Over { question_id: Option<QuestionId> },
}

impl LocalAgents {
    /// Handles a hook's report, which is durable when this returns.
    pub async fn hook_report(&self, caller: &Caller, report: &HookReport) -> Result<HookHeard, EngineError> {
        caller.needs(Right::Ask)?;
        let Some((event, tool)) = report.input.event() else { return Ok(HookHeard::Noted) };
        let input = &report.input;
        let like = likeness(tool, &input.tool_input);
        match event {
            HookEvent::PreToolUse { call_id } => {
                let known = {
                    let mut place = self.inner.observed.turn.lock().await;
                    let source = self.hook_source(&mut place).await?;
                    let session = self.hook_session(&source, &conversation(report)).await?;
                    self.by_call(&session, &call_id, &like).await?
                };
                if known.is_none() {
                    self.inner.observed.announce(&input.session_id, &call_id, like);
                }
                Ok(HookHeard::Noted)
            }
            HookEvent::PostToolUse { call_id } => {
                let went = Went { is_error: false, result: input.tool_response.as_ref(), told: None };
                self.call_ended(&conversation(report), &call_id, tool, &input.tool_input, went).await?;
                Ok(HookHeard::Noted)
            }
            HookEvent::PermissionRequest => {
                let id = self.hook_asks(report, tool, &like).await?;
                Ok(id.map_or(HookHeard::Noted, HookHeard::Waits))
            }
        }
    }

    async fn hook_asks(
        &self,
        report: &HookReport,
        tool: Tool,
        like: &str,
    ) -> Result<Option<QuestionId>, EngineError> {
        let input = &report.input;
        let deadline = tokio::time::Instant::now() + NAME_PATIENCE;
        let transcript =
            input.transcript_path.as_deref().and_then(|named| self.inner.observed.named_transcript(named));
        if let Some(path) = &transcript {
            self.inner.observed.waits_in(path.clone());
        }
        let mut seen = Seen { cwd: input.cwd.clone(), ..Seen::default() };
        loop {
            let named = self.inner.observed.named.notified();
            tokio::pin!(named);
            named.as_mut().enable();
            // This comes before the lock: a slow disk must not delay the hooks of others.
            let peeked = match &transcript {
                Some(path) => peek(&self.inner.observed.peeks, path, &input.session_id, tool, like).await,
                None => Vec::new(),
            };
            {
                let mut place = self.inner.observed.turn.lock().await;
                let source = self.hook_source(&mut place).await?;
                let session = self.hook_session(&source, &conversation(report)).await?;
                if let Some(id) = self.known_to_hook(&session, report, like).await? {
                    return Ok(Some(id));
                }
                seen.call_id = self.inner.observed.announced(&input.session_id, like);
                for found in peeked {
                    if self.store().question_by_native(&session.id, &found.call_id).await?.is_none() {
                        seen.call_id = Some(found.call_id);
                        (seen.message_id, seen.excerpt) = (found.message_id, found.excerpt);
                        break;
                    }
                }
                let late = tokio::time::Instant::now() >= deadline;
                if seen.call_id.is_some() || late {
                    if seen.call_id.is_none() {
                        let alike = self.alike(&session, like).await?;
                        let living = self.inner.observed.registered().await;
                        // A second hook of the same call, from another settings file, joins the first.
                        let joins = |alike: &&Alike| {
                            alike.wants_hook() && !self.is_of_another(alike, report, &living)
                        };
                        if let Some(first) = alike.iter().find(joins) {
                            return self.join_hook(&session, &first.question.id, report).await.map(Some);
                        }
                        if alike.iter().any(Alike::has_just_ended) {
                            return Ok(None);
                        }
                    }
                    let call = Call { tool, input: &input.tool_input, seen };
                    let Some(question) = self.hear_call(&source, &session, call, Some(&report.hook)).await?
                    else {
                        return Ok(None);
                    };
                    return self.join_hook(&session, &question.id, report).await.map(Some);
                }
            }
            tokio::select! { () = named => (), () = tokio::time::sleep_until(deadline) => () }
        }
    }

    /// The question that this hook already waits for, or the oldest identical one without a hook.
    async fn known_to_hook(
        &self,
        session: &Session,
        report: &HookReport,
        like: &str,
    ) -> Result<Option<QuestionId>, EngineError> {
        if let Some(known) = self.store().question_by_native(&session.id, &hook_name(&report.hook)).await? {
            self.inner.observed.join(&known.question, report);
            return Ok(Some(known.question.id));
        }
        let alike = self.alike(session, like).await?;
        let mut alike = alike.into_iter().filter(|alike| !alike.hooked && alike.wants_hook()).peekable();
        if alike.peek().is_none() {
            return Ok(None);
        }
        let living = self.inner.observed.registered().await;
        match alike.find(|alike| !self.is_of_another(alike, report, &living)) {
            Some(found) => self.join_hook(session, &found.question.id, report).await.map(Some),
            None => Ok(None),
        }
    }

    /// True if another process than this hook's asked the question, while both have the conversation or the
    /// other one has ended.
    fn is_of_another(&self, alike: &Alike, report: &HookReport, living: &[Registered]) -> bool {
        let (Some(asker), Some(pid)) = (self.inner.observed.asker(&alike.question.id), report.pid) else {
            return false;
        };
        let holds = |pid: u32| {
            living.iter().any(|held| held.pid == pid && held.session_id == report.input.session_id)
        };
        asker.pid != pid && holds(pid) && (holds(asker.pid) || !is_alive(asker.pid, asker.started))
    }

    async fn join_hook(
        &self,
        session: &Session,
        id: &QuestionId,
        report: &HookReport,
    ) -> Result<QuestionId, EngineError> {
        self.store().sight(&session.id, &hook_name(&report.hook), super::HOOK, id).await?;
        if let Some(record) = self.store().question(id).await? {
            self.inner.observed.join(&record.question, report);
        }
        Ok(id.clone())
    }

    /// The reply to a hook that waits for its question, at once or within `patience`.
    pub async fn hook_word(
        &self,
        report: &HookReport,
        id: &QuestionId,
        patience: Duration,
    ) -> Result<HookWord, EngineError> {
        let deadline = tokio::time::Instant::now() + patience;
        let _waiting = self.inner.observed.wait_for(id);
        // Answers from the time without a hook are delivered now.
        let stop = self.hub().tasks.stopping();
        loop {
            let waiter = self.inner.waiters.register(id);
            if let Some(word) = self.word_now(report, id).await? {
                return Ok(word);
            }
            tokio::select! {
                () = waiter.woken() => {}
                () = tokio::time::sleep_until(deadline) => return Ok(HookWord::Open { question_id: id.clone() }),
                () = stop.cancelled() => return Ok(HookWord::Open { question_id: id.clone() }),
            }
        }
    }

    async fn word_now(&self, report: &HookReport, id: &QuestionId) -> Result<Option<HookWord>, EngineError> {
        let over = || Some(HookWord::Over { question_id: Some(id.clone()) });
        let Some(record) = self.store().question(id).await? else { return Ok(over()) };
        let question = record.question;
        let Some(outcome) = &question.outcome else { return Ok(None) };
        let ours = matches!(outcome.status, Status::Answered | Status::Rejected)
            && outcome.by.surface != Surface::Agent;
        if !ours || !question.is_being_delivered() {
            return Ok(over());
        }
        let Some(delivery) = self.store().delivery(id).await? else { return Ok(over()) };
        // The decision is encoded for the call of this very hook.
        let Some((_, tool)) = report.input.event() else { return Ok(over()) };
        let (input, takes) = (&report.input.tool_input, report.input.takes());
        match decision(tool, input, takes, &delivery.settlement) {
            Ok(decision) => {
                if let Some(presence) = self.inner.observed.memory().hooks.get_mut(id) {
                    presence.was_told = true;
                }
                Ok(Some(HookWord::Decided { question_id: id.clone(), output: hook_output(decision) }))
            }
            Err(error) => {
                let undecided = DeliveryInput::Undecided { detail: error.to_string() };
                self.store().step_claimed(&delivery, undecided, now()).await?;
                Ok(over())
            }
        }
    }

    /// A hook has printed the decision.
    pub async fn hook_took(&self, caller: &Caller, id: &QuestionId, hook: &str) -> Result<(), EngineError> {
        caller.needs(Right::Ask)?;
        let missing = || EngineError::NotFound("question of this hook");
        let record = self.store().question(id).await?.ok_or_else(missing)?;
        let session = record.question.ask.session_id.clone().ok_or_else(missing)?;
        let sighted =
            self.store().question_by_native(&session, &hook_name(hook)).await?.ok_or_else(missing)?;
        if sighted.question.id != *id {
            return Err(missing());
        }
        if record.question.delivery.is_some_and(|delivery| delivery.state == DeliveryState::Queued) {
            self.store().step(id, DeliveryInput::Written, now()).await?;
        }
        Ok(())
    }
}

pub(super) fn conversation(report: &HookReport) -> Conversation {
    Conversation {
        native_id: report.input.session_id.clone(),
        cwd: report.input.cwd.clone(),
        pid: report.pid,
        times_out: report.times_out_ms.map(Duration::from_millis),
        has_no_hook: false,
    }
}
