//! The agent's own record: calls that ask, calls that ended, and the answer with which the agent continued.

use serde_json::Value;

use askd_agents::claude::Takes;
use askd_agents::claude_hook::{Tool, Went, decision, likeness, went_on};
use askd_core::lifecycle::Resolution;
use askd_core::{Answer, Question, QuestionId, Session, Settlement};

use super::identity::{Call, HOOK_NAMES, of_native};
use super::session::Conversation;
use super::{HookPresence, LocalAgents, is_alive};
use crate::{EngineError, now};

/// A conversation as the store knows its native id.
pub(super) struct KnownAs {
    pub managed: bool,
    pub was_managed: bool,
    /// True if it lives in a terminal.
    pub is_live: bool,
}

impl LocalAgents {
    /// Handles a call without a result in a transcript.
    pub(super) async fn transcript_asks(
        &self,
        conversation: &Conversation,
        call: Call<'_>,
    ) -> Result<(), EngineError> {
        let Some(call_id) = call.seen.call_id.clone() else { return Ok(()) };
        let mut place = self.inner.observed.turn.lock().await;
        let source = self.hook_source(&mut place).await?;
        let session = self.hook_session(&source, conversation).await?;
        let known = self.by_call(&session, &call_id, &likeness(call.tool, call.input)).await?;
        let question = match known {
            None => self.hear_call(&source, &session, call, None).await?,
            Some(id) => self.store().question(&id).await?.map(|record| record.question),
        };
        if let Some(question) = question.filter(Question::is_open) {
            self.inner.observed.asked_by(&question.id, conversation.pid, false);
            if conversation.has_no_hook {
                self.inner.observed.memory().unhooked.insert(question.id.clone());
            }
            self.inner.observed.times_out(&question, conversation.times_out);
        }
        Ok(())
    }

    /// Handles the end of a call: the agent's own record has the answer with which it continued.
    pub(super) async fn call_ended(
        &self,
        conversation: &Conversation,
        call_id: &str,
        tool: Tool,
        input: &Value,
        went: Went<'_>,
    ) -> Result<(), EngineError> {
        let id = {
            let mut place = self.inner.observed.turn.lock().await;
            self.inner.observed.unannounce(call_id);
            let source = self.hook_source(&mut place).await?;
            let session = self.hook_session(&source, conversation).await?;
            self.by_call(&session, call_id, &likeness(tool, input)).await?
        };
        match id {
            Some(id) => self.went_on(&id, tool, went).await,
            None => Ok(()),
        }
    }

    async fn went_on(&self, id: &QuestionId, tool: Tool, went: Went<'_>) -> Result<(), EngineError> {
        let Some(native) = self.store().native(id).await? else { return Ok(()) };
        let Some((_, input)) = of_native(&native) else { return Ok(()) };
        if went.is_cut_off() {
            return self.cut_off(id).await;
        }
        let exchanged = self.exchanged(id, tool, &input, went).await?;
        let id = exchanged.as_ref().unwrap_or(id);
        let ours = self.our_answer(id).await?;
        self.hub().questions.elsewhere(id, went_on(tool, &input, went, ours.as_ref())).await?;
        self.inner.observed.forget(id);
        Ok(())
    }

    /// Identical calls of one turn cannot be told apart when their hooks begin to wait. If this call
    /// continued with exactly the answer to the other question, the two questions exchange their calls.
    /// Returns the question of this call.
    async fn exchanged(
        &self,
        id: &QuestionId,
        tool: Tool,
        input: &Value,
        went: Went<'_>,
    ) -> Result<Option<QuestionId>, EngineError> {
        let place = self.inner.observed.turn.lock().await;
        let Some(question) = self.store().question(id).await?.map(|record| record.question) else {
            return Ok(None);
        };
        // An ended question had no pending delivery; a delivered answer reached its call.
        let is_its_own = match (question.is_open(), question.is_being_delivered()) {
            (true, _) => false,
            (false, true) => self.is_ours(id, tool, input, went).await?,
            (false, false) => true,
        };
        let session = match &question.ask.session_id {
            Some(session) if !is_its_own => self.store().session(session).await?,
            _ => None,
        };
        let Some(session) = session else { return Ok(None) };
        for alike in self.alike(&session, &likeness(tool, input)).await? {
            let other = alike.question;
            if other.id == *id
                || !self.may_share_a_turn(id, &other.id)
                || !other.is_being_delivered()
                || !self.is_ours(&other.id, tool, input, went).await?
            {
                continue;
            }
            self.store().exchange_calls(id, &other.id, HOOK_NAMES, now()).await?;
            let names = &mut self.inner.observed.memory().names;
            let (of_this, of_other) = (names.remove(id), names.remove(&other.id));
            names.extend(of_other.map(|name| (id.clone(), name)));
            names.extend(of_this.map(|name| (other.id.clone(), name)));
            return Ok(Some(other.id));
        }
        drop(place);
        Ok(None)
    }

    /// True if two questions can belong to one turn: each process with the conversation has turns of its own.
    fn may_share_a_turn(&self, one: &QuestionId, other: &QuestionId) -> bool {
        let observed = &self.inner.observed;
        match (observed.asker(one), observed.asker(other)) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    /// True if a call continued with exactly this question's answer.
    async fn is_ours(
        &self,
        id: &QuestionId,
        tool: Tool,
        input: &Value,
        went: Went<'_>,
    ) -> Result<bool, EngineError> {
        let Some(delivery) = self.store().delivery(id).await? else { return Ok(false) };
        Ok(match &delivery.settlement {
            Settlement::Answered(ours) => {
                let told = Resolution::Elsewhere(went_on(tool, input, went, Some(ours)));
                let told = told.answer(&delivery.question.ask.questions);
                told.is_some_and(|told| told.answers == ours.answers)
            }
            rejected @ Settlement::Rejected { .. } => {
                let takes = Takes { notes: false, nothing: false };
                let said = decision(tool, input, takes, rejected).ok();
                let said = said.as_ref().and_then(|said| said.get("message")?.as_str());
                went.is_error && went.told.is_some() && went.told == said
            }
        })
    }

    /// Another process took up the conversation and wrote in the place of the result: no person's word. While
    /// the process that asked lives, its dialog stands and the question with it.
    async fn cut_off(&self, id: &QuestionId) -> Result<(), EngineError> {
        let Some(record) = self.store().question(id).await? else { return Ok(()) };
        let question = record.question;
        let session = match &question.ask.session_id {
            Some(session) => self.store().session(session).await?,
            None => None,
        };
        let Some(session) = session else { return Ok(()) };
        let asker = self.inner.observed.asker(id);
        let lives = match asker {
            Some(asker) => is_alive(asker.pid, asker.started),
            None => matches!(self.inner.observed.presence(&question), HookPresence::Waits),
        };
        if !lives {
            self.asker_gone(&session, &question).await?;
            self.inner.observed.forget(id);
        }
        Ok(())
    }

    /// Handles a call that ended before it was read: it can only belong to a question with its native id.
    pub(super) async fn old_call_ended(
        &self,
        session: &str,
        call_id: &str,
        tool: Tool,
        went: Went<'_>,
    ) -> Result<(), EngineError> {
        let source = self.inner.observed.turn.lock().await.source.clone();
        let Some(source) = source else { return Ok(()) };
        let sessions = self.store().sessions_of_source(&source).await?;
        let Some(session) = sessions.into_iter().find(|known| known.native_id == session) else {
            return Ok(());
        };
        match self.store().question_by_native(&session.id, call_id).await? {
            Some(known) => self.went_on(&known.question.id, tool, went).await,
            None => Ok(()),
        }
    }

    /// What the store knows about a conversation: whether askd started its agent, and whether it lives.
    pub(super) async fn known_as(&self, native_id: &str) -> Result<KnownAs, EngineError> {
        let sessions = self.store().sessions_called(native_id).await?;
        let source = self.inner.observed.memory().source.clone();
        let is_ours = |session: &&Session| Some(&session.source_id) == source.as_ref();
        Ok(KnownAs {
            managed: sessions.iter().any(|session| session.managed && session.live),
            was_managed: sessions.iter().any(|session| session.managed),
            is_live: sessions.iter().filter(is_ours).any(|session| session.live),
        })
    }

    async fn our_answer(&self, id: &QuestionId) -> Result<Option<Answer>, EngineError> {
        Ok(match self.store().delivery(id).await?.map(|delivery| delivery.settlement) {
            Some(Settlement::Answered(answer)) => Some(answer),
            _ => None,
        })
    }
}
