//! Ending managed agents at somebody's wish: one session, a source, or all of them.

use std::time::Duration;

use futures_util::future::join_all;

use askd_core::{Cause, Right, SessionId, SourceId};

use super::start::StartError;
use super::{Command, HeldAgent};
use crate::engine::questions::Caller;
use crate::engine::{Engine, EngineError};

/// How long a hub that stops waits for agents that are being ended: longer than any of them may take on a busy machine. One that
/// cannot be reached must not keep the hub.
const LAST_PATIENCE: Duration = Duration::from_secs(20);
/// Pause between two looks at whether agents are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Engine {
    /// Ends a session: the process group of a managed one too. Its open questions are cancelled when this returns.
    pub async fn stop_session(&self, caller: &Caller, id: &SessionId) -> Result<(), StartError> {
        caller.needs(Right::Manage)?;
        let session = self.store().session(id).await.map_err(EngineError::from)?;
        let session = session.ok_or(EngineError::NotFound("session"))?;
        let detail = format!("ended by {}", caller.token.name);
        if let Some(attended) = self
            .inner
            .managed
            .get(&session.source_id)
            .filter(|attended| !attended.leads || attended.main == *id)
        {
            match attended.leads {
                true => self.inner.managed.end(&session.source_id, detail.clone()).await,
                // Only ending the server ends its process; a session of it is ended in the agent's own protocol.
                false => drop(attended.commands.send(Command::Close { session: session.native_id }).await),
            }
        }
        self.end_session(id, Cause::SessionEnded { detail: Some(detail) }).await?;
        Ok(())
    }

    /// Detaches a source: a managed agent is ended, whatever else is only left alone. Open questions are cancelled.
    pub async fn detach_source(&self, caller: &Caller, id: &SourceId) -> Result<(), EngineError> {
        caller.needs(Right::Manage)?;
        let detail = format!("detached by {}", caller.token.name);
        self.inner.managed.end(id, detail.clone()).await;
        match self.end_source(id, Cause::SourceLost { detail: Some(detail) }).await? {
            Some(_) => Ok(()),
            None => Err(EngineError::NotFound("source")),
        }
    }

    /// Ends every managed agent, for a hub that is to leave nothing behind. Gives back those that could not be ended.
    pub async fn stop_all_sessions(&self) -> Result<Vec<HeldAgent>, EngineError> {
        let managed = &self.inner.managed;
        let all = async {
            // Also those that somebody starts meanwhile. All are told at once: one that does not listen keeps nobody waiting.
            while !managed.is_empty() {
                let end =
                    |source| async move { managed.end(&source, "the hub was stopped".to_owned()).await };
                join_all(managed.going_on().into_iter().map(end)).await;
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        drop(tokio::time::timeout(LAST_PATIENCE, all).await);
        self.still_ending().await
    }

    /// Waits for agents that are just being ended: a hub that stops must not leave one behind that somebody has ended. Gives back
    /// those that could not be ended.
    pub async fn agents_ended(&self) -> Result<Vec<HeldAgent>, EngineError> {
        let gone = async {
            while !self.inner.managed.ending().is_empty() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        drop(tokio::time::timeout(LAST_PATIENCE, gone).await);
        self.still_ending().await
    }

    async fn still_ending(&self) -> Result<Vec<HeldAgent>, EngineError> {
        let mut left = Vec::new();
        for source in self.inner.managed.ending() {
            let record = self.store().source(&source).await?;
            left.extend(record.and_then(|record| self.held_agent(record)).filter(|agent| agent.alive));
        }
        Ok(left)
    }
}
