//! A question comes in: from a program through the API, or from an agent through its adapter. It is durable
//! when this returns.

use askd_core::{Ask, AskInput, Question, QuestionId, Right, SessionId, SourceId};
use askd_store::{Asked, NewEntry, NewQuestion, Origin};

use super::Questions;
use crate::{Caller, EngineError, new_bits, now};

/// A question as an adapter reports it.
#[derive(Debug, Clone)]
pub struct AgentQuestion {
    pub source: SourceId,
    pub session: SessionId,
    pub native_id: String,
    /// True if the session certainly has no question with this native id.
    pub is_new: bool,
    pub road: String,
    /// The agent's own words, byte for byte.
    pub native: String,
    pub ask: Ask,
}

impl AgentQuestion {
    /// From the codec's event. An agent with a time-out of its own sets the deadline.
    pub(crate) fn heard(
        asked: askd_agents::Asked,
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

    /// The question to store, if it is valid.
    fn checked(self) -> Result<NewQuestion, EngineError> {
        let ask = Ask { session_id: Some(self.session), ..self.ask };
        ask.check()?;
        let Self { source, native_id, is_new, road, native, .. } = self;
        let origin = Origin::Agent { source, native_id, is_new, road, native };
        Ok(NewQuestion { id: QuestionId::from_bits(new_bits()), ask, at: now(), origin, idempotency: None })
    }
}

impl Questions {
    /// Any program asks.
    pub async fn ask(
        &self,
        caller: &Caller,
        input: AskInput,
        key: Option<String>,
    ) -> Result<Question, EngineError> {
        caller.needs(Right::Ask)?;
        let ask = input.complete()?;
        let idempotency = caller.idempotency(key, &("ask", &ask));
        let origin = Origin::Api { asker: caller.token.id.clone() };
        let new = NewQuestion { id: QuestionId::from_bits(new_bits()), ask, at: now(), origin, idempotency };
        let asked = self.store().ask(new).await?;
        self.asked(asked)
    }

    /// An agent asks. Hearing the same question again gives the same question.
    pub async fn ask_as_agent(&self, heard: AgentQuestion) -> Result<Question, EngineError> {
        let asked = self.store().ask(heard.checked()?).await?;
        self.asked(asked)
    }

    /// The same, with the agent's words before it, which are stored even if the question is refused.
    pub(crate) async fn ask_as_agent_in(
        &self,
        heard: AgentQuestion,
        transcript: &SessionId,
        said: Vec<NewEntry>,
    ) -> Result<Question, EngineError> {
        match heard.checked() {
            Ok(new) => {
                let asked = self.store().ask_in(new, transcript, said).await?;
                self.asked(asked)
            }
            Err(invalid) => {
                self.store().append(transcript, said).await?;
                Err(invalid)
            }
        }
    }

    fn asked(&self, asked: Asked) -> Result<Question, EngineError> {
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
}
