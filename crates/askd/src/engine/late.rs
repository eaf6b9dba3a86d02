//! Late answers: the call that asked is gone, the answer is not. It can be said as the next message of its conversation.
//!
//! In: a question whose answer did not reach its agent. Out: the answer in a person's words, sent to the session if askd leads it (or
//! one that took the conversation up again), else given back to be sent by hand. Nothing is dropped without a word.

use askd_core::delivery::{Delivery, DeliveryInput};
use askd_core::{Question, QuestionId, RejectMode, Right, Session, Settlement};

use super::questions::Caller;
use super::{Engine, EngineError, StartError, now};

/// Living sessions that are looked through for one that goes on with a conversation.
const LOOKED_THROUGH: usize = 1000;

/// The outcome as a person would type it; none where words cannot say it: an interrupt, or what nobody else may read.
pub(super) fn as_message(question: &Question, settlement: &Settlement) -> Option<String> {
    match settlement {
        Settlement::Rejected { mode: RejectMode::Decline, reason } => Some(
            reason.clone().unwrap_or_else(|| "I do not want to answer that; go on without it.".to_owned()),
        ),
        Settlement::Rejected { .. } => None,
        Settlement::Answered(_) if !question.secret_items().is_empty() => None,
        Settlement::Answered(answer) => {
            let items = question.ask.questions.iter().zip(&answer.answers).enumerate();
            let lines = items.filter(|(_, (_, picks))| !picks.is_empty()).map(|(i, (item, picks))| {
                let note =
                    answer.notes.get(i).cloned().flatten().map_or(String::new(), |note| format!(" ({note})"));
                format!("{} {}{note}", item.question, picks.join("; "))
            });
            let plan = answer.edited_plan.as_ref().map(|plan| format!("The plan as I changed it:\n{plan}"));
            let mode = answer.next_mode.as_ref().map(|mode| format!("Go on in the mode {mode}."));
            Some(lines.chain(plan).chain(mode).collect::<Vec<_>>().join("\n"))
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
        let refused = |why: String| Err(StartError::Unsendable(why));
        let is_late = question.delivery.as_ref().is_some_and(Delivery::is_unsaid);
        let delivery = self.store().delivery(id).await.map_err(EngineError::from)?;
        let Some(delivery) = delivery.filter(|_| is_late) else {
            return refused(
                "only an answer that did not reach its agent can be sent as a message, and only once"
                    .to_owned(),
            );
        };
        let Some(text) = as_message(&question, &delivery.settlement) else {
            return refused("this outcome cannot be said as a message".to_owned());
        };
        let by_hand = |why: &str| refused(format!("{why}; send it yourself:\n{text}"));
        let Some(session) = self.goes_on(&question).await? else {
            return by_hand("no session that askd started goes on with this conversation");
        };
        // Noted first: of two who want it said, one says it.
        let noted = DeliveryInput::SentAsMessage { detail: Some(format!("said in {}", session.id)) };
        if self.store().step(id, noted, now()).await.map_err(EngineError::from)?.is_none() {
            return refused("it was sent as a message already".to_owned());
        }
        if let Err(error) = self.say(&session.id, text.clone()).await {
            return by_hand(&error.to_string());
        }
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
