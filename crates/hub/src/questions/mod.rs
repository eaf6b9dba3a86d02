//! The service `Questions`: ask, settle, read and wait, with the right that each needs. Every change of a
//! question passes through here, except those of its delivery.
//!
//! In: programs and agents that ask, outcomes of people and of agents. Out: durable questions, outcomes for
//! the outbox, callers that the event log wakes.

mod answer;
mod ask;
mod free_name;
mod listing;
mod lookup;
mod wait;
mod waiters;

use std::sync::Arc;

use tokio::sync::Notify;

use askd_core::QuestionId;
use askd_store::{Record, Store};

use super::EngineError;
use super::access::Access;
use super::outbox::{DeliveryTargets, Outbox};
use super::sessions::Sessions;

pub use ask::AgentQuestion;
pub(super) use waiters::Waiters;

#[derive(Clone)]
pub struct Questions {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    access: Access,
    outbox: Outbox,
    targets: DeliveryTargets,
    sessions: Sessions,
    waiters: Waiters,
    /// Signals that a question with a deadline was stored.
    deadline_changed: Arc<Notify>,
}

impl Questions {
    pub(super) fn new(
        store: Arc<dyn Store>,
        access: Access,
        outbox: Outbox,
        targets: DeliveryTargets,
        sessions: Sessions,
        waiters: Waiters,
        deadline_changed: Arc<Notify>,
    ) -> Self {
        let inner = Inner { store, access, outbox, targets, sessions, waiters, deadline_changed };
        Self { inner: Arc::new(inner) }
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    async fn record(&self, id: &QuestionId) -> Result<Record, EngineError> {
        self.store().question(id).await?.ok_or(EngineError::NotFound("question"))
    }
}
