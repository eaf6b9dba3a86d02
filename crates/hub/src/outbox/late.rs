//! Late answers: the call that asked is gone, the answer is not. It can be said as the next message of its conversation.
//!
//! In: a question whose answer did not reach its agent. Out: the answer in a person's words, written to the session if askd leads it
//! (or to the one session that askd started to go on with it), else given back to be sent by hand. It is noted as said when it is
//! written, and can be sent again while it is not.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use askd_core::delivery::{Delivery, DeliveryInput};
use askd_core::{Question, QuestionId, RejectMode, Right, Session, Settlement};

use crate::managed::HeldSettings;
use crate::{Caller, Engine, EngineError, StartError, now};

/// Where a conversation goes on.
enum GoesOn {
    None,
    In(Box<Session>),
    InSeveral,
}

/// Questions whose answers are being said as messages at this moment: of two who want it said, one says it.
#[derive(Default)]
pub(crate) struct Saying(Mutex<HashSet<QuestionId>>);

/// The turn of one who says an answer, until it is dropped.
struct Turn<'a> {
    saying: &'a Saying,
    question: QuestionId,
}

impl Saying {
    fn questions(&self) -> MutexGuard<'_, HashSet<QuestionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None while another says it.
    fn begin(&self, question: &QuestionId) -> Option<Turn<'_>> {
        let is_first = self.questions().insert(question.clone());
        is_first.then(|| Turn { saying: self, question: question.clone() })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.saying.questions().remove(&self.question);
    }
}

/// The outcome as a person would type it; none where words cannot say it: an interrupt, or what nobody else may read.
fn as_message(question: &Question, settlement: &Settlement) -> Option<String> {
    match settlement {
        Settlement::Rejected { mode: RejectMode::Decline, reason } => Some(
            reason.clone().unwrap_or_else(|| "I do not want to answer that; go on without it.".to_owned()),
        ),
        Settlement::Rejected { .. } => None,
        Settlement::Answered(_) if !question.secret_items().is_empty() => None,
        Settlement::Answered(answer) => {
            let items = question.ask.questions.iter().zip(&answer.answers).enumerate();
            let lines = items.filter_map(|(i, (item, given))| {
                let said = given.shown(Some(item)).to_texts().join("; ");
                let said = match (said.is_empty(), answer.notes.get(i).cloned().flatten()) {
                    (true, note) => note?,
                    (false, Some(note)) => format!("{said} ({note})"),
                    (false, None) => said,
                };
                Some(format!("{} {said}", item.question))
            });
            let plan = answer.edited_plan.as_ref().map(|plan| format!("The plan as I changed it:\n{plan}"));
            let mode = answer.next_mode.as_ref().map(|mode| format!("Go on in the mode {mode}."));
            let text = lines.chain(plan).chain(mode).collect::<Vec<_>>().join("\n");
            // Where all was skipped there is nothing to say.
            Some(text).filter(|text| !text.is_empty())
        }
    }
}

impl Engine {
    /// Says an answer that did not reach its agent as the next message of its conversation; gives the session that got it.
    pub async fn send_as_message(&self, caller: &Caller, id: &QuestionId) -> Result<Session, StartError> {
        caller.needs(Right::Answer)?;
        let refused = |why: String| Err(StartError::Unsendable(why));
        let Some(_turn) = self.inner.saying.begin(id) else {
            return refused("it is being sent as a message at this moment".to_owned());
        };
        let missing = || EngineError::NotFound("question");
        let record = self.store().question(id).await.map_err(EngineError::from)?.ok_or_else(missing)?;
        let question = record.question;
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
        let session = match self.goes_on(&question).await? {
            GoesOn::In(session) => *session,
            GoesOn::None => {
                return by_hand("no session that askd started goes on with this conversation");
            }
            GoesOn::InSeveral => {
                return by_hand("several sessions that askd started go on with this conversation");
            }
        };
        // Under a name: the agent gets it once, also where an earlier try ended before it was noted.
        match self.say(&session.id, Some(format!("late-{id}")), text.clone()).await {
            Ok(true) => {}
            Ok(false) => return by_hand("its agent does not read at this moment; try again"),
            Err(error) => return by_hand(&error.to_string()),
        }
        let noted = DeliveryInput::SentAsMessage { detail: Some(format!("said in {}", session.id)) };
        self.store().step(id, noted, now()).await.map_err(EngineError::from)?;
        Ok(session)
    }

    /// The living managed session of a question's conversation: its own, or the one that was started to go on with it.
    async fn goes_on(&self, question: &Question) -> Result<GoesOn, EngineError> {
        let Some(id) = &question.ask.session_id else { return Ok(GoesOn::None) };
        let Some(asked_in) = self.store().session(id).await? else { return Ok(GoesOn::None) };
        if asked_in.live && asked_in.managed {
            return Ok(GoesOn::In(Box::new(asked_in)));
        }
        let mut fitting = Vec::new();
        for record in self.store().sources().await? {
            let held = serde_json::from_str::<HeldSettings>(&record.settings);
            let Some(held) = held.ok().filter(|held| held.resumes.contains(id)) else { continue };
            let session = self.store().session(&held.main).await?;
            fitting.extend(session.filter(|session| session.live && session.managed));
        }
        Ok(match (fitting.pop(), fitting.is_empty()) {
            (None, _) => GoesOn::None,
            (Some(session), true) => GoesOn::In(Box::new(session)),
            (Some(_), false) => GoesOn::InSeveral,
        })
    }
}
