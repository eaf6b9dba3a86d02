//! Ends managed agents on command: one session, a source, or all of them.

use std::time::Duration;

use futures_util::future::join_all;

use askd_core::{Cause, Right, SessionId, SourceId, SourceState};
use askd_store::SourceRecord;

use super::Command;
use super::Connections;
use super::ending::end_unattended;
use super::start::StartError;
use crate::{Caller, EngineError};
use askd_wire::api::HeldAgent;

/// The time that a stopping hub gives to ending agents: longer than any of them needs on a busy machine. An
/// agent that cannot be reached must not keep the hub.
const LAST_PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two checks that agents have ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Connections {
    /// Ends a session: the process group of a managed one too. Its open questions are cancelled when this
    /// returns.
    pub async fn end(&self, caller: &Caller, id: &SessionId) -> Result<(), StartError> {
        caller.needs(Right::Manage)?;
        let session = self.store().session(id).await.map_err(EngineError::from)?;
        let session = session.ok_or(EngineError::NotFound("session"))?;
        let detail = format!("ended by {}", caller.token.name);
        match self.inner.managed.get(&session.source_id) {
            Some(attended) if attended.leads && attended.main == *id => {
                self.inner.managed.end(&session.source_id, detail.clone()).await;
            }
            Some(attended) if attended.leads => {}
            // Only ending the server ends its process; a session of it is ended in the agent's own protocol.
            Some(attended) => {
                drop(attended.commands.send(Command::Close { session: session.native_id }).await);
            }
            None => {
                let record = self.store().source(&session.source_id).await.map_err(EngineError::from)?;
                let holder = record.and_then(|record| self.holder_of(&record));
                if let Some((held, folder)) = holder.filter(|(held, _)| held.main == *id) {
                    end_unattended(&folder, held.holder).await;
                    let cause = Cause::SessionEnded { detail: Some(detail.clone()) };
                    self.hub().sources.end(&session.source_id, cause).await?;
                }
            }
        }
        self.hub().sessions.end(id, Cause::SessionEnded { detail: Some(detail) }).await?;
        Ok(())
    }

    /// Detaches a source: a managed agent is ended, whatever else is only left alone. Open questions are
    /// cancelled.
    pub async fn detach(&self, caller: &Caller, id: &SourceId) -> Result<(), EngineError> {
        caller.needs(Right::Manage)?;
        let detail = format!("detached by {}", caller.token.name);
        if !self.inner.managed.end(id, detail.clone()).await {
            let record = self.store().source(id).await?;
            if let Some((held, folder)) = record.and_then(|record| self.holder_of(&record)) {
                end_unattended(&folder, held.holder).await;
            }
        }
        match self.hub().sources.end(id, Cause::SourceLost { detail: Some(detail) }).await? {
            Some(_) => Ok(()),
            None => Err(EngineError::NotFound("source")),
        }
    }

    /// Ends every managed agent, for a hub that leaves nothing behind. Returns those that could not be ended.
    pub async fn end_all(&self) -> Result<Vec<HeldAgent>, EngineError> {
        let managed = &self.inner.managed;
        managed.close();
        let all = async {
            // Starting agents count too. All receive the command at once, so one that hangs delays no other.
            while !managed.is_empty() {
                let end =
                    |source| async move { managed.end(&source, "the hub was stopped".to_owned()).await };
                join_all(managed.going_on().into_iter().map(end)).await;
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        drop(tokio::time::timeout(LAST_PATIENCE, all).await);
        let mut left = self.still_ending().await?;
        left.extend(self.end_all_unattended().await?);
        Ok(left)
    }

    /// Ends the agents of sources without a connection. Returns those that could not be ended.
    async fn end_all_unattended(&self) -> Result<Vec<HeldAgent>, EngineError> {
        let mut sources = self.store().sources().await?;
        sources.retain(|record| {
            record.source.state != SourceState::Ended && self.inner.managed.get(&record.source.id).is_none()
        });
        let end = |record: SourceRecord| async {
            let (held, folder) = self.holder_of(&record)?;
            drop(tokio::time::timeout(LAST_PATIENCE, end_unattended(&folder, held.holder)).await);
            let cause = Cause::SessionEnded { detail: Some("the hub was stopped".to_owned()) };
            if let Err(error) = self.hub().sources.end(&record.source.id, cause).await {
                tracing::error!(%error, source = %record.source.id, "cannot store the end of a source");
            }
            self.held_agent(record).filter(|agent| agent.alive)
        };
        Ok(join_all(sources.into_iter().map(end)).await.into_iter().flatten().collect())
    }

    /// Waits for agents with a command to end: a stopping hub must not leave one of them behind. Returns
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
