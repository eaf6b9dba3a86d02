//! The meaning of an agent's lines for the engine: questions, sessions, evidence. `noting` keeps the words.

use bytes::Bytes;

use askd_agents::{Asked, Heard, Speech};
use askd_core::delivery::{Delivery, DeliveryInput, DeliveryState, FailReason};
use askd_core::{Cause, DeliveryId, Question, QuestionId, SessionId, SourceState};
use askd_holder::protocol::{ToHub, WriteResult, Written};
use askd_store::{Chain, SessionSeen};
use futures_util::future::try_join_all;

use super::attendant::Attendant;
use super::pipeline::{Stored, Words};
use super::speaking::TAKEN_BACK;
use crate::{AgentQuestion, EngineError, new_bits, now};

/// The channel of a managed agent's questions: its own lines, or its own server.
pub(crate) const ROAD: &str = "control";
pub(crate) const SERVED_ROAD: &str = "http";

impl Attendant {
    pub(super) async fn hear_line(&mut self, n: u64, bytes: &[u8]) -> Result<(), EngineError> {
        self.find_server(bytes).await?;
        self.codec.first_time(!self.names.may_repeat(n));
        if self.relay.is_some() {
            return self.relay_line(n, bytes).await;
        }
        if self.served.is_some() {
            self.note_output(n, bytes);
            return Ok(());
        }
        let heard = self.codec.hear(bytes);
        self.note_line(n, bytes, &heard);
        self.apply_all(heard, Some(n)).await
    }

    /// Reads a line that a dead holder left, and returns the last number read.
    pub(super) async fn hear_leftover(&mut self, line: ToHub, after: u64) -> Result<u64, EngineError> {
        match line {
            ToHub::Line { n, bytes } => {
                self.hear_line(n, &bytes).await?;
                Ok(n)
            }
            ToHub::Oversized { n, total_bytes, prefix } => {
                self.hear_oversized(n, total_bytes, &prefix);
                Ok(n)
            }
            _ => Ok(after),
        }
    }

    pub(crate) fn session_of(&self, native: Option<&str>) -> SessionId {
        native.and_then(|native| self.sessions.get(native)).unwrap_or(&self.main.id).clone()
    }

    pub(crate) async fn apply_all(
        &mut self,
        heard: Vec<Heard>,
        line: Option<u64>,
    ) -> Result<(), EngineError> {
        let mut withdrawn = Vec::new();
        for value in heard {
            match value {
                Heard::Withdrawn { native_id, cause } => withdrawn.push((native_id, cause)),
                value => {
                    self.withdraw(std::mem::take(&mut withdrawn)).await?;
                    self.apply(value, line).await?;
                }
            }
        }
        self.withdraw(withdrawn).await
    }

    /// Withdraws questions in as few commits as possible: an agent may withdraw thousands at the end of a
    /// turn.
    async fn withdraw(&mut self, withdrawn: Vec<(String, Cause)>) -> Result<(), EngineError> {
        if withdrawn.is_empty() {
            return Ok(());
        }
        self.save().await?;
        let chain = Chain::default();
        let mut cancels = Vec::new();
        for (native_id, cause) in withdrawn {
            if let Some(id) = self.questions.remove(&native_id) {
                let questions = self.hub.questions.clone();
                cancels.push(chain.with(async move { questions.cancel(&id, cause).await }));
            }
        }
        for question in try_join_all(cancels).await? {
            let is_queued = |delivery: &Delivery| delivery.state == DeliveryState::Queued;
            if question.delivery.as_ref().is_some_and(is_queued) {
                // This comes before any message to the agent: a reader of the delivery must not take that
                // message for the answer.
                let detail = Some(TAKEN_BACK.to_owned());
                let failed = DeliveryInput::Failed { reason: FailReason::Refused, detail };
                self.hub.store.step(&question.id, failed, now()).await?;
            }
            self.not_to_be_said(question);
        }
        Ok(())
    }

    /// Marks a question as ended for its agent: a pending answer is skipped.
    fn not_to_be_said(&mut self, question: Question) {
        if question.delivery.is_some() {
            self.taken_back.insert(question.id);
        }
    }

    /// Removes a pending close that the holder has written.
    pub(super) fn note_closing(&mut self, written: &Written) {
        let is_over = !matches!(written.result, WriteResult::Busy | WriteResult::UnderWay);
        let name = written.delivery.as_deref().and_then(|name| name.parse::<DeliveryId>().ok());
        if let (true, Some(name)) = (is_over, name) {
            self.owed.remove(&QuestionId::from_bits(name.bits()));
        }
    }

    async fn apply(&mut self, heard: Heard, line: Option<u64>) -> Result<(), EngineError> {
        let waits_for_nothing = matches!(
            heard,
            Heard::Confirmed { .. }
                | Heard::NotTaken { .. }
                | Heard::TurnEnded { .. }
                | Heard::Chatter { .. }
                | Heard::Unrecognised { .. }
                // These follow their batch by themselves.
                | Heard::Write(_)
                | Heard::Closing { .. }
                | Heard::FirstPrompt(_)
        );
        if !waits_for_nothing {
            self.save().await?;
        }
        match heard {
            Heard::Asked(asked) => self.asked(*asked, line).await?,
            Heard::Withdrawn { native_id, cause } => self.withdraw(vec![(native_id, cause)]).await?,
            Heard::AnsweredElsewhere { native_id, how } => {
                if let Some(id) = self.questions.remove(&native_id) {
                    let question = self.hub.questions.elsewhere(&id, how).await?;
                    self.not_to_be_said(question);
                }
            }
            Heard::Confirmed { native_id } => self.evidence(&native_id, DeliveryInput::Confirmed).await?,
            Heard::NotTaken { native_id, reason, detail } => {
                self.evidence(&native_id, DeliveryInput::Failed { reason, detail: Some(detail) }).await?;
            }
            Heard::SessionStarted { native_id, title, cwd, parent } => {
                self.session_started(native_id, title, cwd, parent).await?;
            }
            Heard::SessionUpdated { native_id, title } => {
                self.see(native_id, Some(title), None, None).await?;
            }
            Heard::SessionEnded { native_id, cause } => {
                let session = self.session_of(Some(&native_id));
                if session != self.main.id {
                    self.hub.sessions.end(&session, cause).await?;
                }
            }
            Heard::Failed { step, detail } => self.ending = Some(format!("{step}: {detail}")),
            Heard::Incomplete { detail } => {
                self.hub.sources.set_state(&self.source.id, SourceState::Connected, Some(detail)).await?;
            }
            Heard::FirstPrompt(bytes) => self.pipeline.following.to_write.push(Words::first_prompt(bytes)),
            Heard::Closing { native_id, bytes } => {
                if !self.questions.contains_key(&native_id) {
                    // It may be on its way into the store.
                    self.save().await?;
                }
                let words = match self.questions.get(&native_id) {
                    Some(question) => {
                        let bytes = Bytes::from(bytes);
                        self.owed.insert(question.clone(), bytes.clone());
                        Words::closing(question, bytes)
                    }
                    None => Words::new(bytes),
                };
                self.pipeline.following.to_write.push(words);
            }
            Heard::Write(Speech::Bytes(bytes)) => self.pipeline.following.to_write.push(Words::new(bytes)),
            Heard::Write(Speech::Call(call)) => self.pipeline.following.to_call.push((call, None)),
            Heard::Unrecognised { why } => {
                tracing::info!(
                    agent = self.source.agent,
                    line,
                    why,
                    "an agent said something that askd does not know"
                );
            }
            Heard::TurnEnded { .. } | Heard::Chatter { .. } => {}
        }
        Ok(())
    }

    async fn asked(&mut self, mut asked: Asked, line: Option<u64>) -> Result<(), EngineError> {
        if line.is_none() {
            return self.asked_by_server(asked).await;
        }
        self.name_question(&mut asked, line).await?;
        let native_id = asked.native_id.clone();
        let question = self.question_from(asked, ROAD);
        let taken = self.hub.questions.ask_as_agent(question).await;
        self.took_question(native_id, taken)
    }

    /// A server's events have no number, so a second request with an id needs this check.
    async fn asked_by_server(&mut self, asked: Asked) -> Result<(), EngineError> {
        let own_id = asked.native_id.clone();
        let question = self.question_from(asked, SERVED_ROAD);
        match self.hub.questions.ask_under_free_name(question).await {
            Ok((native_id, question)) if native_id != own_id => {
                let name = if self.codec.rename(&own_id, &native_id) { native_id } else { own_id };
                self.took_question(name, Ok(question))
            }
            taken => self.took_question(own_id, taken.map(|(_, question)| question)),
        }
    }

    /// A question of the agent, with everything that the engine knows about its place.
    pub(crate) fn question_from(&self, asked: Asked, road: &str) -> AgentQuestion {
        let session = self.session_of(asked.native_session.as_deref());
        let mut question = AgentQuestion::heard(asked, &self.source.id, session, road);
        let context = &mut question.ask.context;
        context.cwd = context.cwd.take().or_else(|| self.main.cwd.clone());
        context.title = context.title.take().or_else(|| self.main.title.clone());
        question
    }

    /// Records that a question was stored, or already known, or refused.
    pub(crate) fn took_question(
        &mut self,
        native_id: String,
        taken: Result<Question, EngineError>,
    ) -> Result<(), EngineError> {
        match taken {
            Ok(question) => {
                if question.is_under_way() {
                    self.questions.insert(native_id, question.id);
                } else {
                    self.codec.forget(&native_id);
                }
                Ok(())
            }
            // No surface can show this question: the transcript says so, and the agent waits.
            Err(EngineError::Invalid(errors)) => {
                self.note_error(format!("a question could not be taken: {errors}"));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A question is over without a word to the agent.
    pub(super) fn forget_question(&mut self, question: &QuestionId) {
        let is_it = |(native_id, id): (&String, &QuestionId)| (id == question).then(|| native_id.clone());
        if let Some(native_id) = self.questions.iter().find_map(is_it) {
            self.questions.remove(&native_id);
            self.codec.forget(&native_id);
        }
    }

    async fn evidence(&mut self, native_id: &str, input: DeliveryInput) -> Result<(), EngineError> {
        if !self.questions.contains_key(native_id) {
            self.save().await?;
        }
        if let Some(id) = self.question_of(native_id).await? {
            let store = self.hub.store.clone();
            self.submit(async move {
                store.step(&id, input, now()).await?;
                Ok(Stored::Done)
            });
            self.questions.remove(native_id);
        }
        Ok(())
    }

    async fn question_of(&mut self, native_id: &str) -> Result<Option<QuestionId>, EngineError> {
        if let Some(id) = self.questions.get(native_id) {
            return Ok(Some(id.clone()));
        }
        let record = self.hub.store.question_by_native(&self.main.id, native_id).await?;
        Ok(record.map(|record| record.question.id))
    }

    /// The first session is the one for which the agent was started.
    async fn session_started(
        &mut self,
        native_id: String,
        title: Option<String>,
        cwd: Option<String>,
        parent: Option<String>,
    ) -> Result<(), EngineError> {
        // A process of one conversation goes on under another name, as after `/clear`: it stays the same
        // session here.
        let is_its_only_one = self.relay.is_none() && self.served.is_none() && parent.is_none();
        if self.sessions.is_empty() || is_its_only_one {
            if let Some(session) = self.hub.store.name_session(&self.main.id, &native_id).await? {
                self.main = session;
            }
            self.sessions.insert(native_id.clone(), self.main.id.clone());
            // In a session that a client of an ACP server opened, only the agent's own messages name the
            // folder.
            return if self.relay.is_some() { self.see(native_id, title, cwd, None).await } else { Ok(()) };
        }
        self.see(native_id, title, cwd, parent).await
    }

    async fn see(
        &mut self,
        native_id: String,
        title: Option<String>,
        cwd: Option<String>,
        parent: Option<String>,
    ) -> Result<(), EngineError> {
        let seen = SessionSeen {
            id: SessionId::from_bits(new_bits()),
            source: self.source.id.clone(),
            agent: self.source.agent.clone(),
            native_id: native_id.clone(),
            cwd,
            title,
            parent: parent.and_then(|parent| self.sessions.get(&parent).cloned()),
            pid: None,
            managed: true,
            at: now(),
        };
        let session = self.hub.sessions.see(seen).await?;
        self.sessions.insert(native_id, session.id.clone());
        if session.id == self.main.id {
            self.main = session;
        }
        Ok(())
    }
}
