//! The service `Sessions`: the conversations of agents.
//!
//! In: sessions from adapters, and the activities of local agents. Out: lists, single sessions, and whether
//! they live. Connections end the processes of sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use askd_core::session::Activity;
use askd_core::{Cause, Right, Session, SessionId, SourceId};
use askd_store::{SessionSeen, Store};

use super::{Caller, EngineError, now};

#[derive(Clone)]
pub struct Sessions {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    activities: Mutex<Option<Activities>>,
}

/// The activities of one source's agents, by native id of the session.
struct Activities {
    source: SourceId,
    by_native_id: HashMap<String, Activity>,
}

impl Sessions {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { inner: Arc::new(Inner { store, activities: Mutex::default() }) }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    pub async fn list(
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

    pub async fn get(&self, caller: &Caller, id: &SessionId) -> Result<Session, EngineError> {
        caller.needs(Right::Read)?;
        let mut session = self.store().session(id).await?.ok_or(EngineError::NotFound("session"))?;
        self.with_activities(std::slice::from_mut(&mut session));
        Ok(session)
    }

    /// True if a session can continue.
    pub async fn is_live(&self, id: &SessionId) -> Result<bool, EngineError> {
        Ok(self.store().session(id).await?.is_some_and(|session| session.live))
    }

    /// An adapter sees a session, at first or again.
    pub async fn see(&self, seen: SessionSeen) -> Result<Session, EngineError> {
        Ok(self.store().see_session(seen).await?)
    }

    /// A session has ended; its open questions end with it.
    pub(super) async fn end(&self, id: &SessionId, cause: Cause) -> Result<Option<Session>, EngineError> {
        Ok(self.store().end_session(id, cause, now()).await?)
    }

    /// Allows or forbids keys in the terminal of a session without a waiting hook.
    pub async fn set_tmux(
        &self,
        caller: &Caller,
        id: &SessionId,
        tmux: bool,
    ) -> Result<Session, EngineError> {
        caller.needs(Right::Manage)?;
        self.store().set_tmux(id, tmux).await?.ok_or(EngineError::NotFound("session"))
    }

    /// Replaces the activities of one source's agents, by native id of the session.
    pub(super) fn set_activities(&self, source: SourceId, by_native_id: HashMap<String, Activity>) {
        let mut activities = self.inner.activities.lock().unwrap_or_else(PoisonError::into_inner);
        *activities = Some(Activities { source, by_native_id });
    }

    /// Fills in the activity of agents' sessions.
    fn with_activities(&self, sessions: &mut [Session]) {
        let activities = self.inner.activities.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Activities { source, by_native_id }) = &*activities else { return };
        for session in sessions.iter_mut().filter(|session| session.live && session.source_id == *source) {
            session.activity = by_native_id.get(&session.native_id).cloned();
        }
    }
}
