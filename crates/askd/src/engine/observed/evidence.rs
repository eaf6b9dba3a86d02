//! What the agent's own record says: a call that asks, a call that is over, and with what the agent went on.

use serde_json::Value;

use askd_adapters::agents::claude_hook::{Tool, Went, likeness, went_on};
use askd_core::{Answer, QuestionId, Settlement};

use super::identity::{Call, of_native};
use super::session::Conversation;
use crate::engine::{Engine, EngineError};

/// Living sessions that are looked through for one of askd's own.
const LOOKED_THROUGH: usize = 1000;

impl Engine {
    /// A transcript shows a call that has no result yet.
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
        if known.is_none() {
            self.hear_call(&source, &session, call, None).await?;
        }
        Ok(())
    }

    /// A call is over: the agent's own record says what it went on with.
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
            self.unannounce(call_id);
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
        let ours = self.our_answer(id).await?;
        self.elsewhere(id, went_on(tool, &input, went, ours.as_ref())).await?;
        self.inner.observed.forget(id);
        Ok(())
    }

    /// A call that was over before it was read: only a question that is known by its name is meant.
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

    /// Whether this is a conversation of an agent that askd started.
    pub(super) async fn is_managed_session(&self, native_id: &str) -> Result<bool, EngineError> {
        let living = self.store().sessions(Some(true), LOOKED_THROUGH).await?;
        Ok(living.iter().any(|session| session.managed && session.native_id == native_id))
    }

    async fn our_answer(&self, id: &QuestionId) -> Result<Option<Answer>, EngineError> {
        Ok(match self.store().delivery(id).await?.map(|delivery| delivery.settlement) {
            Some(Settlement::Answered(answer)) => Some(answer),
            _ => None,
        })
    }
}
