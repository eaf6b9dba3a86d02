//! The service `Sources`: the places that questions come from.
//!
//! In: sources that come, change and go. Out: their records in the store; when a source ends, its open
//! questions end with the cause, the connection to it is told to stop, and nothing is delivered there any
//! more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use askd_core::{Cause, Right, SessionId, Source, SourceId, SourceState};
use askd_store::{NewEntry, SourceRecord, Store};

use super::attached::QuestionOwners;
use super::outbox::DeliveryTargets;
use super::{Caller, EngineError, new_bits, now};

/// The source kind of a managed agent.
pub(super) const MANAGED: &str = "managed";
/// The source kind of an ACP server.
pub(super) const ACP: &str = "acp";
/// The source kind of a plugin, and the channel of its questions.
pub(super) const PLUGIN: &str = "plugin";
/// The source kind for the hooks and transcripts of this machine.
pub(super) const HOOK: &str = "hook";

/// A source before its connection.
#[derive(Debug, Clone)]
pub struct NewSource {
    pub kind: String,
    pub agent: String,
    pub label: String,
    /// The adapter's settings as JSON, for the next start.
    pub settings: String,
}

#[derive(Clone)]
pub struct Sources {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    targets: DeliveryTargets,
    owners: QuestionOwners,
    /// The tokens to cancel at the end of a source.
    stops: Mutex<HashMap<SourceId, CancellationToken>>,
}

impl Sources {
    pub(super) fn new(store: Arc<dyn Store>, targets: DeliveryTargets, owners: QuestionOwners) -> Self {
        Self { inner: Arc::new(Inner { store, targets, owners, stops: Mutex::default() }) }
    }

    fn stops(&self) -> MutexGuard<'_, HashMap<SourceId, CancellationToken>> {
        self.inner.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn list(&self, caller: &Caller) -> Result<Vec<Source>, EngineError> {
        caller.needs(Right::Manage)?;
        Ok(self.inner.store.sources().await?.into_iter().map(|record| record.source).collect())
    }

    pub async fn add(&self, new: NewSource) -> Result<Source, EngineError> {
        let source = Source {
            id: SourceId::from_bits(new_bits()),
            kind: new.kind,
            agent: new.agent,
            label: new.label,
            state: SourceState::Connecting,
            since: now(),
            last_error: None,
        };
        let record = SourceRecord { source: source.clone(), settings: new.settings };
        self.inner.store.add_source(record).await?;
        Ok(source)
    }

    pub(super) async fn set_state(
        &self,
        id: &SourceId,
        state: SourceState,
        error: Option<String>,
    ) -> Result<(), EngineError> {
        self.inner.store.set_source_state(id, state, error, now()).await?;
        Ok(())
    }

    /// Cancels this when the source ends.
    pub(super) fn stop_with(&self, id: SourceId, stop: CancellationToken) {
        self.stops().insert(id, stop);
    }

    pub(super) async fn end(&self, id: &SourceId, cause: Cause) -> Result<Option<Source>, EngineError> {
        self.end_telling(id, cause, None).await
    }

    /// The same, with a last entry for the transcript.
    pub(super) async fn end_telling(
        &self,
        id: &SourceId,
        cause: Cause,
        told: Option<(SessionId, NewEntry)>,
    ) -> Result<Option<Source>, EngineError> {
        let stop = self.stops().remove(id);
        if let Some(stop) = stop {
            stop.cancel();
        }
        self.inner.owners.release(id);
        self.inner.targets.disconnect(id);
        Ok(self.inner.store.end_source(id, cause, now(), told).await?)
    }
}
