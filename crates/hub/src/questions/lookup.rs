//! Questions by native ids of them and of their sessions, for surfaces that know only those.

use askd_core::{Question, QuestionId, Right, Session, SessionId, Status};
use askd_store::{Order, QuestionFilter, Record};
use askd_wire::json_edit;

use super::Questions;
use crate::{Caller, EngineError};

/// Open questions of one session that are looked through for the agent's own name, the newest first.
const LOOK_BACK: usize = 10_000;
/// Ended sessions of one name that are searched for a settled question.
const LOOK_BACK_ENDED: usize = 16;
/// Open questions of one agent in a list.
const LISTED: usize = 100;

impl Questions {
    /// The question with this native id in the session with that native id, or with this id of askd.
    pub async fn find(&self, caller: &Caller, session: &str, name: &str) -> Result<QuestionId, EngineError> {
        caller.needs(Right::Answer)?;
        let (live, ended) = self.inner.sessions.named(session).await?;
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
        // A client that answers too late learns how it ended.
        for session in ended.iter().take(LOOK_BACK_ENDED) {
            if found.is_none() {
                found = self.questions_named(&session.id, name).await?.pop();
            }
        }
        found.ok_or(EngineError::NotFound("question"))
    }

    /// The question with this native id, and the open ones that the agent has given the same id.
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
            let own = json_edit::at(&native, &["params", "questionId"]);
            if own.and_then(|own| serde_json::from_str::<String>(own).ok()).as_deref() == Some(name) {
                named.push(question.id);
            }
        }
        Ok(named)
    }

    /// The settled question of an agent that has this name: its call, or its id here. The agent may have
    /// ended by now.
    pub async fn settled_of(
        &self,
        caller: &Caller,
        name: &str,
        living: &[Session],
        wanted: &str,
    ) -> Result<Option<Question>, EngineError> {
        let mut sessions = living.to_vec();
        sessions.extend(self.store().sessions_called(name).await?);
        if let Ok(id) = name.parse::<SessionId>() {
            sessions.extend(self.store().session(&id).await?);
        }
        let by_id = match wanted.parse::<QuestionId>() {
            Ok(id) => self.store().question(&id).await?,
            Err(_) => None,
        };
        for session in sessions {
            let of_it = |known: &Record| known.question.ask.session_id.as_ref() == Some(&session.id);
            let found = match &by_id {
                Some(known) => Some(known.clone()).filter(of_it),
                None => self.store().question_by_native(&session.id, wanted).await?,
            };
            if let Some(found) = found.filter(|known| !known.question.is_open()) {
                return self.question(caller, &found.question.id).await.map(Some);
            }
        }
        Ok(None)
    }

    /// The open questions of some sessions, oldest first.
    pub async fn open_of(&self, sessions: &[Session]) -> Result<Vec<(Session, Question)>, EngineError> {
        let mut open = Vec::new();
        for session in sessions {
            let filter = QuestionFilter {
                status: Some(Status::Requested),
                session: Some(session.id.clone()),
                ..QuestionFilter::default()
            };
            let page = self.store().list(filter, Order::Asc, None, LISTED).await?;
            open.extend(page.questions.into_iter().map(|question| (session.clone(), question)));
        }
        open.sort_by_key(|(_, question)| question.seq);
        Ok(open)
    }
}
