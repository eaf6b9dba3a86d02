//! The service `DeliveryTargets`: the present receivers of outcomes, by source. It holds only senders, and
//! none of the receivers.
//!
//! In: a target for each reachable source, from its connection. Out: the target of a source, a wake for the
//! outbox when there is a new one, and the targets' facts about questions: the channel that an answer would
//! use now.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;

use askd_core::delivery::{FailReason, Redeliver};
use askd_core::{Question, QuestionId, Settlement, SourceId, Surface};
use askd_store::{ClaimedDelivery, Expired, StoreError};

/// The result of handing an outcome to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The agent has the bytes.
    Written,
    /// The agent has them and its reply proves it.
    Confirmed,
    /// Certainly not written: try again later.
    NotNow(String),
    /// The way to the agent broke in the middle: the claim stays, and is settled by the adapter's rule when
    /// it expires.
    Unknown,
    /// Not written; the agent has decided nothing and still waits. The question opens again, with this
    /// reason.
    Undecided(String),
    /// This agent can no longer receive it.
    Failed { reason: FailReason, detail: String },
}

/// The answer to "can a channel carry this outcome?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    Yes,
    No(String),
}

/// The receiver of the outcomes of one source's questions.
#[async_trait]
pub trait DeliveryTarget: Send + Sync {
    fn redeliver(&self) -> Redeliver;

    /// Checks, before anything is stored, that the present channels can carry this outcome from this surface;
    /// otherwise the reason, for a person.
    async fn can_carry(
        &self,
        question: &Question,
        settlement: &Settlement,
        surface: Surface,
    ) -> Result<Carried, StoreError> {
        let _ = (question, settlement, surface);
        Ok(Carried::Yes)
    }

    async fn deliver(&self, delivery: &ClaimedDelivery) -> Said;

    /// A question of this source is over without a word to its agent.
    fn over(&self, question: &QuestionId) {
        let _ = question;
    }

    /// True if this delivery was written before a crash; `None` if it cannot be known.
    async fn was_written(&self, delivery: &ClaimedDelivery) -> Option<bool>;

    /// True if this target knows more about its questions than the store.
    fn describes(&self) -> bool {
        false
    }

    /// Fills in what only this target knows of its questions. It is given questions of other sources too, and
    /// leaves them alone.
    async fn describe(&self, questions: &mut [Question]) -> Result<(), StoreError> {
        let _ = questions;
        Ok(())
    }
}

#[derive(Clone, Default)]
pub struct DeliveryTargets {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    connected: Mutex<Connected>,
    wake: Notify,
}

type Connected = HashMap<SourceId, Arc<dyn DeliveryTarget>>;

impl DeliveryTargets {
    fn connected(&self) -> MutexGuard<'_, Connected> {
        self.inner.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A source can be spoken to from now on.
    pub(crate) fn connect(&self, source: SourceId, target: Arc<dyn DeliveryTarget>) {
        self.connected().insert(source, target);
        self.wake();
    }

    /// A source cannot be spoken to for now; its deliveries wait.
    pub(crate) fn disconnect(&self, source: &SourceId) {
        self.connected().remove(source);
    }

    pub(super) fn get(&self, source: &SourceId) -> Option<Arc<dyn DeliveryTarget>> {
        self.connected().get(source).cloned()
    }

    pub(super) fn sources(&self) -> Vec<SourceId> {
        self.connected().keys().cloned().collect()
    }

    /// Wakes the outbox: a delivery may have become possible.
    pub(super) fn wake(&self) {
        self.inner.wake.notify_one();
    }

    pub(super) async fn woken(&self) {
        self.inner.wake.notified().await;
    }

    /// Tells the target of a question that nothing will come for it. Waits for nothing: others have expired
    /// at the same moment.
    pub(crate) fn over(&self, expired: &Expired) {
        if let Some(target) = expired.source.as_ref().and_then(|source| self.get(source)) {
            target.over(&expired.question.id);
        }
    }

    /// Fills in the targets' facts about questions: the channel that an answer would use now.
    pub(crate) async fn describe(&self, questions: &mut [Question]) -> Result<(), StoreError> {
        let describing: Vec<_> =
            self.connected().values().filter(|target| target.describes()).cloned().collect();
        for target in describing {
            target.describe(questions).await?;
        }
        Ok(())
    }
}
