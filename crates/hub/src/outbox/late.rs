//! Late answers: the call has ended, but the answer can be sent as the next message of its conversation.
//!
//! In: a question whose answer did not reach its agent. Out: the answer as a text, written to the session if
//! askd manages it (or to the one session that continues it), else returned for the person to send. The
//! delivery is noted as sent when the text is written, and can be repeated until then.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askd_core::delivery::{Delivery, DeliveryInput};
use askd_core::{Question, QuestionId, RejectMode, Right, Session, Settlement};
use askd_store::Store;

use crate::managed::{Connections, HeldSettings};
use crate::{Caller, EngineError, StartError, now};

/// The continuation of a conversation.
enum GoesOn {
    None,
    In(Box<Session>),
    InSeveral,
}

/// Questions whose answers are being sent as messages now: of two callers, one sends.
#[derive(Default)]
struct Saying(Mutex<HashSet<QuestionId>>);

/// The right to send the answer of one question, until it is dropped.
struct Turn<'a> {
    saying: &'a Saying,
    question: QuestionId,
}

impl Saying {
    fn questions(&self) -> MutexGuard<'_, HashSet<QuestionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another caller sends it.
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

/// The outcome as a person would type it. `None` for an interrupt, or if it has answers that only the asker
/// may read.
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
            // If every item was skipped, there is no text.
            Some(text).filter(|text| !text.is_empty())
        }
    }
}

/// The service `LateAnswers`.
#[derive(Clone)]
pub struct LateAnswers {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    connections: Connections,
    saying: Saying,
}

impl LateAnswers {
    pub(crate) fn new(store: Arc<dyn Store>, connections: Connections) -> Self {
        Self { inner: Arc::new(Inner { store, connections, saying: Saying::default() }) }
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// Sends an answer that did not reach its agent as the next message of its conversation, and returns the
    /// session that received it.
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
        // The name makes the agent receive it once, even if an earlier attempt ended before it was noted.
        match self.inner.connections.say(&session.id, Some(format!("late-{id}")), text.clone()).await {
            Ok(true) => {}
            Ok(false) => return by_hand("its agent does not read at this moment; try again"),
            Err(error) => return by_hand(&error.to_string()),
        }
        let noted = DeliveryInput::SentAsMessage { detail: Some(format!("said in {}", session.id)) };
        self.store().step(id, noted, now()).await.map_err(EngineError::from)?;
        Ok(session)
    }

    /// The live managed session of a question's conversation: its own, or the one that continues it.
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
