//! Deliveries: the outbox. A row is claimed by one worker; a claim that no worker holds is found, so a crash loses nothing.

use async_trait::async_trait;

use askd_core::delivery::DeliveryInput;
use askd_core::{DeliveryId, Question, QuestionId, Settlement, SourceId, Timestamp};

use crate::StoreResult;

#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedDelivery {
    pub id: DeliveryId,
    pub source: SourceId,
    pub question: Question,
    pub native_id: String,
    pub native: String,
    pub settlement: Settlement,
}

/// Who claims, for whom, and for how long.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The hub process; a claim by another owner is lost, and so is one that no task of this one holds.
    pub owner: String,
    pub sources: Vec<SourceId>,
    pub now: Timestamp,
    pub until: Timestamp,
    pub limit: usize,
}

#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Takes queued deliveries of connected sources, oldest first.
    async fn claim(&self, claim: Claim) -> StoreResult<Vec<ClaimedDelivery>>;

    /// The delivery of a question, whoever has claimed it.
    async fn delivery(&self, question: &QuestionId) -> StoreResult<Option<ClaimedDelivery>>;

    /// Deliveries that are claimed and not written, but not those of the questions `held` that `owner` has claimed: their worker is gone.
    async fn lost_claims(&self, owner: &str, held: &[QuestionId]) -> StoreResult<Vec<ClaimedDelivery>>;

    /// When the next of these sources' deliveries may be claimed, or the claim of one is over.
    async fn next_delivery(&self, sources: &[SourceId]) -> StoreResult<Option<Timestamp>>;

    /// Deliveries of a source that are not yet written, claimed or not, oldest first.
    async fn queued(&self, source: &SourceId) -> StoreResult<Vec<ClaimedDelivery>>;

    /// Deliveries of a source that were written and wait for evidence.
    async fn awaiting_evidence(&self, source: &SourceId) -> StoreResult<Vec<ClaimedDelivery>>;

    /// Moves a delivery by core's rules; `None` if that changed nothing.
    async fn step(
        &self,
        question: &QuestionId,
        input: DeliveryInput,
        at: Timestamp,
    ) -> StoreResult<Option<Question>>;

    /// The same by the worker that has claimed it: a question that was opened and answered again since then has another delivery, which
    /// this changes nothing about.
    async fn step_claimed(
        &self,
        claimed: &ClaimedDelivery,
        input: DeliveryInput,
        at: Timestamp,
    ) -> StoreResult<Option<Question>>;
}
