//! Sessions and questions by askd's ids or by the agent's own, for surfaces that know only those.

use askd_adapters::splice;
use askd_core::{QuestionId, Right, Session, SessionId};
use askd_store::{Order, QuestionFilter};

use crate::engine::questions::Caller;
use crate::engine::{Engine, EngineError};

/// Sessions, and open questions of one, that are looked through for the agent's own name, the newest first.
const LOOK_BACK: usize = 10_000;

impl Engine {
    pub async fn find_session(&self, name: &str) -> Result<Session, EngineError> {
        let mut named = self.sessions_named(name).await?.into_iter();
        match (named.next(), named.next()) {
            (None, _) => Err(EngineError::NotFound("session")),
            (Some(session), None) => Ok(session),
            (Some(_), Some(_)) => Err(EngineError::Ambiguous("session")),
        }
    }

    pub async fn find_question(
        &self,
        caller: &Caller,
        session: &str,
        name: &str,
    ) -> Result<QuestionId, EngineError> {
        caller.needs(Right::Answer)?;
        let sessions = self.sessions_named(session).await?;
        if sessions.is_empty() {
            return Err(EngineError::NotFound("session"));
        }
        if let Ok(id) = name.parse::<QuestionId>()
            && let Some(record) = self.store().question(&id).await?
            && sessions.iter().any(|session| record.question.ask.session_id.as_ref() == Some(&session.id))
        {
            return Ok(id);
        }
        let mut found = None;
        for session in sessions {
            for question in self.questions_named(&session.id, name).await? {
                // Not even if one of them is over: an answer that is sent again must not go to the other.
                if found.replace(question).is_some() {
                    return Err(EngineError::Ambiguous("question"));
                }
            }
        }
        found.ok_or(EngineError::NotFound("question"))
    }

    /// The question that is stored under an agent's own name, and the open ones that it has called the same.
    async fn questions_named(&self, session: &SessionId, name: &str) -> Result<Vec<QuestionId>, EngineError> {
        let stored = self.store().question_by_native(session, name).await?;
        let mut named: Vec<QuestionId> = stored.into_iter().map(|record| record.question.id).collect();
        let open =
            QuestionFilter { session: Some(session.clone()), settled: Some(false), ..Default::default() };
        for question in self.store().list(open, Order::Desc, None, LOOK_BACK).await?.questions {
            if named.contains(&question.id) {
                continue;
            }
            let native = self.store().native(&question.id).await?.unwrap_or_default();
            let own = splice::at(&native, &["params", "questionId"]);
            if own.and_then(|own| serde_json::from_str::<String>(own).ok()).as_deref() == Some(name) {
                named.push(question.id);
            }
        }
        Ok(named)
    }

    /// The session with an id of askd, or those that their agents call so: agents number their sessions, and those that live are
    /// meant, else the newest.
    async fn sessions_named(&self, name: &str) -> Result<Vec<Session>, EngineError> {
        if let Ok(id) = name.parse::<SessionId>()
            && let Some(session) = self.store().session(&id).await?
        {
            return Ok(vec![session]);
        }
        let sessions = self.store().sessions(None, LOOK_BACK).await?;
        let mut named: Vec<Session> =
            sessions.into_iter().filter(|session| session.native_id == name).collect();
        match named.iter().any(|session| session.live) {
            true => named.retain(|session| session.live),
            false => named.truncate(1),
        }
        Ok(named)
    }
}
