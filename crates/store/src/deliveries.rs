//! Deliveries: the outbox. A row is claimed by one worker; a claim that no worker holds is found, so a crash
//! loses nothing.

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

/// The worker, the deliveries and the time of a claim.
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

    /// The delivery of a question, with any claim.
    async fn delivery(&self, question: &QuestionId) -> StoreResult<Option<ClaimedDelivery>>;

    /// Claimed and unwritten deliveries, except those of the questions `held` that `owner` has claimed: their
    /// worker has stopped.
    async fn lost_claims(&self, owner: &str, held: &[QuestionId]) -> StoreResult<Vec<ClaimedDelivery>>;

    /// When the next of these sources' deliveries may be claimed, or the claim of one is over.
    async fn next_delivery(&self, sources: &[SourceId]) -> StoreResult<Option<Timestamp>>;

    /// Unwritten deliveries of a source, claimed or not, oldest first.
    async fn queued(&self, source: &SourceId) -> StoreResult<Vec<ClaimedDelivery>>;

    /// Written deliveries of a source that wait for evidence.
    async fn awaiting_evidence(&self, source: &SourceId) -> StoreResult<Vec<ClaimedDelivery>>;

    /// Moves a delivery by core's rules; `None` if nothing changed.
    async fn step(
        &self,
        question: &QuestionId,
        input: DeliveryInput,
        at: Timestamp,
    ) -> StoreResult<Option<Question>>;

    /// The same for the worker of the claim: a question that was opened and answered again since has another
    /// delivery, which stays unchanged.
    async fn step_claimed(
        &self,
        claimed: &ClaimedDelivery,
        input: DeliveryInput,
        at: Timestamp,
    ) -> StoreResult<Option<Question>>;
}
