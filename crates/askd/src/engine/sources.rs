//! Sources and sessions: what adapters tell the engine.
//!
//! In: sources that come and go, sessions and questions seen through them. Out: durable questions; when a source or session
//! ends, its open questions end with the cause.

use askd_core::lifecycle::Elsewhere;
use askd_core::{
    Ask, By, Cause, Question, QuestionId, Resolution, Right, Session, SessionId, Source, SourceId,
    SourceState,
};
use askd_store::{Asked, NewEntry, NewQuestion, Origin, SessionSeen, SourceRecord};

use super::questions::Caller;
use super::{Engine, EngineError, new_bits, now};

/// A source that is about to be connected.
#[derive(Debug, Clone)]
pub struct NewSource {
    pub kind: String,
    pub agent: String,
    pub label: String,
    /// The adapter's settings as JSON, for the next start.
    pub settings: String,
}

/// A question as an adapter heard it.
#[derive(Debug, Clone)]
pub struct AgentQuestion {
    pub source: SourceId,
    pub session: SessionId,
    pub native_id: String,
    /// Whether the session certainly has no question of this name yet.
    pub is_new: bool,
    pub road: String,
    /// The agent's own words, byte for byte.
    pub native: String,
    pub ask: Ask,
}

impl AgentQuestion {
    /// As an agent's codec understood it; an agent that waits only so long sets the deadline.
    pub(in crate::engine) fn heard(
        asked: askd_adapters::Asked,
        source: &SourceId,
        session: SessionId,
        road: &str,
    ) -> Self {
        let deadline = asked
            .patience
            .map(|patience| now().plus_millis(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX)));
        Self {
            source: source.clone(),
            session,
            native_id: asked.native_id,
            is_new: false,
            road: road.to_owned(),
            native: asked.native.get().to_owned(),
            ask: Ask { deadline: deadline.or(asked.ask.deadline), ..asked.ask },
        }
    }

    /// What is to be stored, if it can be asked at all.
    fn checked(self) -> Result<NewQuestion, EngineError> {
        let ask = Ask { session_id: Some(self.session), ..self.ask };
        ask.check()?;
        let Self { source, native_id, is_new, road, native, .. } = self;
        let origin = Origin::Agent { source, native_id, is_new, road, native };
        Ok(NewQuestion { id: QuestionId::from_bits(new_bits()), ask, at: now(), origin, idempotency: None })
    }
}

impl Engine {
    pub async fn add_source(&self, new: NewSource) -> Result<Source, EngineError> {
        let source = Source {
            id: SourceId::from_bits(new_bits()),
            kind: new.kind,
            agent: new.agent,
            label: new.label,
            state: SourceState::Connecting,
            since: now(),
            last_error: None,
        };
        self.store().add_source(SourceRecord { source: source.clone(), settings: new.settings }).await?;
        Ok(source)
    }

    pub async fn source_state(
        &self,
        id: &SourceId,
        state: SourceState,
        error: Option<String>,
    ) -> Result<(), EngineError> {
        self.store().set_source_state(id, state, error, now()).await?;
        Ok(())
    }

    pub async fn see_session(&self, seen: SessionSeen) -> Result<Session, EngineError> {
        Ok(self.store().see_session(seen).await?)
    }

    /// An agent asks. Hearing the same question again gives the same question.
    pub async fn hear(&self, heard: AgentQuestion) -> Result<Question, EngineError> {
        let asked = self.store().ask(heard.checked()?).await?;
        self.heard(asked)
    }

    /// The same, with what the agent said up to it, which is told even if the question cannot be taken.
    pub async fn hear_in(
        &self,
        heard: AgentQuestion,
        transcript: &SessionId,
        said: Vec<NewEntry>,
    ) -> Result<Question, EngineError> {
        match heard.checked() {
            Ok(new) => {
                let asked = self.store().ask_in(new, transcript, said).await?;
                self.heard(asked)
            }
            Err(invalid) => {
                self.store().append(transcript, said).await?;
                Err(invalid)
            }
        }
    }

    fn heard(&self, asked: Asked) -> Result<Question, EngineError> {
        match asked {
            Asked::New(question) | Asked::Known(question) => {
                if question.ask.deadline.is_some() {
                    self.inner.deadline_changed.notify_one();
                }
                Ok(question)
            }
            Asked::KeyReused => Err(EngineError::KeyReused),
            Asked::TooManyOpen => Err(EngineError::TooManyOpen),
        }
    }

    /// The agent ended its question without a human's word.
    pub async fn cancel(&self, id: &QuestionId, cause: Cause) -> Result<Question, EngineError> {
        self.settle(id, Resolution::Cancel(cause), By::hub(), None).await
    }

    /// The agent's own user interface took an answer.
    pub async fn elsewhere(&self, id: &QuestionId, elsewhere: Elsewhere) -> Result<Question, EngineError> {
        self.settle(id, Resolution::Elsewhere(elsewhere), By::agent(), None).await
    }

    pub async fn end_session(&self, id: &SessionId, cause: Cause) -> Result<Option<Session>, EngineError> {
        Ok(self.store().end_session(id, cause, now()).await?)
    }

    pub async fn end_source(&self, id: &SourceId, cause: Cause) -> Result<Option<Source>, EngineError> {
        self.end_source_telling(id, cause, None).await
    }

    /// The same, and the last that is told of it in its transcript.
    pub(in crate::engine) async fn end_source_telling(
        &self,
        id: &SourceId,
        cause: Cause,
        told: Option<(SessionId, NewEntry)>,
    ) -> Result<Option<Source>, EngineError> {
        self.inner.attached.stop(id);
        self.inner.mouths.remove(id);
        Ok(self.store().end_source(id, cause, now(), told).await?)
    }

    pub async fn list_sources(&self, caller: &Caller) -> Result<Vec<Source>, EngineError> {
        caller.needs(Right::Manage)?;
        Ok(self.store().sources().await?.into_iter().map(|record| record.source).collect())
    }

    pub async fn list_sessions(
        &self,
        caller: &Caller,
        live: Option<bool>,
        limit: usize,
    ) -> Result<Vec<Session>, EngineError> {
        caller.needs(Right::Read)?;
        let mut sessions = self.store().sessions(live, limit).await?;
        self.with_activities(&mut sessions);
        Ok(sessions)
    }

    pub async fn get_session(&self, caller: &Caller, id: &SessionId) -> Result<Session, EngineError> {
        caller.needs(Right::Read)?;
        let mut session = self.store().session(id).await?.ok_or(EngineError::NotFound("session"))?;
        self.with_activities(std::slice::from_mut(&mut session));
        Ok(session)
    }
}
