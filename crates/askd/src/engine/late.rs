//! Late answers: the call that asked is gone, the answer is not. It can be said as the next message of its conversation.
//!
//! In: a question whose answer did not reach its agent. Out: the answer in a person's words, sent to the session if askd leads it (or
//! one that took the conversation up again), else given back to be sent by hand. Nothing is dropped without a word.

use askd_core::delivery::{DeliveryState, FailReason};
use askd_core::{Question, QuestionId, Right, Session, Settlement};

use super::questions::Caller;
use super::{Engine, EngineError, StartError};

/// Living sessions that are looked through for one that goes on with a conversation.
const LOOKED_THROUGH: usize = 1000;

/// The outcome as a person would type it.
pub(super) fn as_message(question: &Question, settlement: &Settlement) -> String {
    match settlement {
        Settlement::Rejected { reason, .. } => {
            reason.clone().unwrap_or_else(|| "I do not want to answer that; go on without it.".to_owned())
        }
        Settlement::Answered(answer) => {
            let items = question.ask.questions.iter().zip(&answer.answers).enumerate();
            let lines = items.filter(|(_, (_, picks))| !picks.is_empty()).map(|(i, (item, picks))| {
                let note =
                    answer.notes.get(i).cloned().flatten().map_or(String::new(), |note| format!(" ({note})"));
                format!("{} {}{note}", item.question, picks.join("; "))
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

impl Engine {
    /// What a person types to go on with the conversation of a session whose process is gone.
    pub(super) fn resume_command(&self, session: &Session) -> Option<String> {
        let adapter = self.inner.managed.settings.registry.get(&session.agent)?;
        adapter.resume_command(&session.native_id).filter(|_| session.native_id != session.id.as_str())
    }

    /// Says an answer that did not reach its agent as the next message of its conversation; gives the session that got it.
    pub async fn send_as_message(&self, caller: &Caller, id: &QuestionId) -> Result<Session, StartError> {
        caller.needs(Right::Answer)?;
        let missing = || EngineError::NotFound("question");
        let record = self.store().question(id).await.map_err(EngineError::from)?.ok_or_else(missing)?;
        let question = record.question;
        let refused = |why: String| Err(StartError::Failed { agent: question.ask.agent.clone(), why });
        let is_late = question.delivery.as_ref().is_some_and(|delivery| {
            let overtaken =
                delivery.error.as_ref().is_some_and(|error| error.reason == FailReason::Overtaken);
            delivery.state == DeliveryState::Failed && !overtaken
        });
        let delivery = self.store().delivery(id).await.map_err(EngineError::from)?;
        let Some(delivery) = delivery.filter(|_| is_late) else {
            return refused(
                "only an answer that did not reach its agent can be sent as a message".to_owned(),
            );
        };
        let text = as_message(&question, &delivery.settlement);
        let Some(session) = self.goes_on(&question).await? else {
            let why = "no session that askd started goes on with this conversation";
            // Secrets are for the agent alone.
            let text = if question.secret_items().is_empty() {
                format!("; send it yourself:\n{text}")
            } else {
                String::new()
            };
            return refused(format!("{why}{text}"));
        };
        self.say(&session.id, text).await?;
        Ok(session)
    }

    /// The living managed session of a question's conversation: its own, or one that took it up again.
    async fn goes_on(&self, question: &Question) -> Result<Option<Session>, EngineError> {
        let Some(id) = &question.ask.session_id else { return Ok(None) };
        let Some(asked_in) = self.store().session(id).await? else { return Ok(None) };
        if asked_in.live && asked_in.managed {
            return Ok(Some(asked_in));
        }
        let living = self.store().sessions(Some(true), LOOKED_THROUGH).await?;
        let is_it = |session: &Session| {
            session.managed && session.agent == asked_in.agent && session.native_id == asked_in.native_id
        };
        Ok(living.into_iter().find(is_it))
    }
}
