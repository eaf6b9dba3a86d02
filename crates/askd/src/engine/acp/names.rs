//! Sessions and questions by askd's ids or by the agent's own, for surfaces that know only those.

use askd_core::{QuestionId, Right, Session, SessionId};

use crate::engine::questions::Caller;
use crate::engine::{Engine, EngineError};

/// Sessions that are looked through for the agent's own name, the newest first.
const LOOK_BACK: usize = 10_000;

impl Engine {
    pub async fn find_session(&self, name: &str) -> Result<Session, EngineError> {
        if let Ok(id) = name.parse::<SessionId>()
            && let Some(session) = self.store().session(&id).await?
        {
            return Ok(session);
        }
        let sessions = self.store().sessions(None, LOOK_BACK).await?;
        let mut named = sessions.into_iter().filter(|session| session.native_id == name);
        let newest = named.next().ok_or(EngineError::NotFound("session"))?;
        // Agents number their sessions; the one that lives is meant.
        if newest.live { Ok(newest) } else { Ok(named.find(|session| session.live).unwrap_or(newest)) }
    }

    pub async fn find_question(
        &self,
        caller: &Caller,
        session: &str,
        name: &str,
    ) -> Result<QuestionId, EngineError> {
        caller.needs(Right::Answer)?;
        let session = self.find_session(session).await?;
        if let Ok(id) = name.parse::<QuestionId>()
            && let Some(record) = self.store().question(&id).await?
            && record.question.ask.session_id.as_ref() == Some(&session.id)
        {
            return Ok(id);
        }
        let record = self.store().question_by_native(&session.id, name).await?;
        Ok(record.ok_or(EngineError::NotFound("question"))?.question.id)
    }
}
