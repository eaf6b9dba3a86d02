//! Sessions and questions by askd's ids or by the agent's own, for surfaces that know only those.

use askd_adapters::splice;
use askd_core::{QuestionId, Right, Session, SessionId};
use askd_store::{Order, QuestionFilter};

use crate::engine::questions::Caller;
use crate::engine::{Engine, EngineError};

/// Sessions, and open questions of one, that are looked through for the agent's own name, the newest first.
const LOOK_BACK: usize = 10_000;
/// Ended sessions of one name that are looked through for a question that is over.
const LOOK_BACK_ENDED: usize = 16;

impl Engine {
    pub async fn find_session(&self, name: &str) -> Result<Session, EngineError> {
        let (live, ended) = self.sessions_named(name).await?;
        if live.len() > 1 {
            return Err(EngineError::Ambiguous("session"));
        }
        live.into_iter().chain(ended).next().ok_or(EngineError::NotFound("session"))
    }

    pub async fn find_question(
        &self,
        caller: &Caller,
        session: &str,
        name: &str,
    ) -> Result<QuestionId, EngineError> {
        caller.needs(Right::Answer)?;
        let (live, ended) = self.sessions_named(session).await?;
        let all = || live.iter().chain(&ended);
        if all().next().is_none() {
            return Err(EngineError::NotFound("session"));
        }
        if let Ok(id) = name.parse::<QuestionId>()
            && let Some(record) = self.store().question(&id).await?
            && all().any(|session| record.question.ask.session_id.as_ref() == Some(&session.id))
        {
            return Ok(id);
        }
        let mut found = None;
        for session in &live {
            for question in self.questions_named(&session.id, name).await? {
                // Not even if one of them is over: an answer that is sent again must not go to the other.
                if found.replace(question).is_some() {
                    return Err(EngineError::Ambiguous("question"));
                }
            }
        }
        // Whoever answers too late learns how it ended.
        for session in ended.iter().take(LOOK_BACK_ENDED) {
            if found.is_none() {
                found = self.questions_named(&session.id, name).await?.pop();
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

    /// The session with an id of askd, or those that their agents call so, the newest first: those that live, which are meant if there
    /// are any, because agents number their sessions; and those that have ended.
    async fn sessions_named(&self, name: &str) -> Result<(Vec<Session>, Vec<Session>), EngineError> {
        let named = match name.parse::<SessionId>() {
            Ok(id) => self.store().session(&id).await?.into_iter().collect(),
            Err(_) => Vec::new(),
        };
        if !named.is_empty() {
            return Ok((named, Vec::new()));
        }
        let sessions = self.store().sessions(None, LOOK_BACK).await?;
        let named = sessions.into_iter().filter(|session| session.native_id == name);
        Ok(named.partition(|session| session.live))
    }
}
