//! Brings outcomes to agents: claims the outbox, lets the source's mouth speak, notes what is true.
//!
//! In: mouths of connected sources, and a wake whenever an outcome was stored. Out: `sent` when the bytes were written, and
//! `confirmed` or `failed` by evidence. A claim that a dead hub left behind is settled by the adapter's own rule.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;

use askd_core::delivery::{DeliveryInput, FailReason, Redeliver};
use askd_core::{Question, QuestionId, Settlement, SourceId};
use askd_store::{Claim, ClaimHolder, ClaimedDelivery, Record, StoreError};

use super::{Engine, EngineError, now};

/// Deliveries taken at once.
const CLAIM_LIMIT: usize = 64;
/// How long a worker may take to write one answer before its claim counts as lost.
const CLAIM_MS: i64 = 60_000;
/// Looks again at least this often, in case the system's clock was set, and at most this often, whatever seems due.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
const SHORTEST_SLEEP: Duration = Duration::from_millis(100);
/// How long the way to an agent may take to find out what was written; another source's deliveries wait for it.
const PROBE_PATIENCE: Duration = Duration::from_secs(2);
/// Pause after the store has failed.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// Many agents show within this time that they have the answer; then that it was written needs no commit of its own.
const PROOF_SOON: Duration = Duration::from_millis(5);

/// What came of speaking to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The agent has the bytes.
    Written,
    /// The agent has them and its reply proves it.
    Confirmed,
    /// Certainly not written: try again later.
    NotNow(String),
    /// The way to the agent broke in the middle: the claim stays, and is settled by the adapter's rule when it expires.
    Unknown,
    /// It cannot be said to this agent any more.
    Failed { reason: FailReason, detail: String },
}

/// Whether an outcome could be said to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    Yes,
    No(String),
}

/// The way to one source's agent.
#[async_trait]
pub trait Mouth: Send + Sync {
    fn redeliver(&self) -> Redeliver;

    /// Whether the roads that there are now can carry this outcome at all; why not, for a person. Asked before anything is stored.
    async fn carries(&self, question: &Question, settlement: &Settlement) -> Result<Carried, StoreError> {
        let _ = (question, settlement);
        Ok(Carried::Yes)
    }

    async fn speak(&self, delivery: &ClaimedDelivery) -> Said;

    /// A question of this source is over without a word to its agent.
    fn over(&self, question: &QuestionId) {
        let _ = question;
    }

    /// Whether this delivery was written before a crash, where that can be found out.
    async fn was_written(&self, delivery: &ClaimedDelivery) -> Option<bool>;
}

#[derive(Default)]
pub(super) struct Mouths {
    connected: Mutex<HashMap<SourceId, Arc<dyn Mouth>>>,
    wake: Notify,
}

impl Mouths {
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) fn remove(&self, source: &SourceId) {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner).remove(source);
    }

    fn get(&self, source: &SourceId) -> Option<Arc<dyn Mouth>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner).get(source).cloned()
    }

    fn sources(&self) -> Vec<SourceId> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

impl Engine {
    /// A source can be spoken to from now on.
    pub fn connect_mouth(&self, source: SourceId, mouth: Arc<dyn Mouth>) {
        self.inner.mouths.connected.lock().unwrap_or_else(PoisonError::into_inner).insert(source, mouth);
        self.inner.mouths.wake();
    }

    /// A source cannot be spoken to for now; its deliveries wait.
    pub fn disconnect_mouth(&self, source: &SourceId) {
        self.inner.mouths.remove(source);
    }

    /// Refuses an outcome that no road to its agent can carry: the question stays open, and nothing is stored.
    pub(super) async fn refuse_uncarried(
        &self,
        record: &Record,
        settlement: Settlement,
    ) -> Result<(), EngineError> {
        if !record.question.is_open() {
            return Ok(());
        }
        self.refuse_no_result(&record.question, &settlement).await?;
        let mouth = record.source.as_ref().and_then(|source| self.inner.mouths.get(source));
        let Some(mouth) = mouth else { return Ok(()) };
        match mouth.carries(&record.question, &settlement).await? {
            Carried::Yes => Ok(()),
            Carried::No(why) => Err(EngineError::Uncarried(why)),
        }
    }

    /// Tells the way to an agent that nothing will come for a question.
    pub(super) async fn tell_over(&self, question: &QuestionId) -> Result<(), StoreError> {
        let record = self.store().question(question).await?;
        let source = record.and_then(|record| record.source);
        if let Some(mouth) = source.and_then(|source| self.inner.mouths.get(&source)) {
            mouth.over(question);
        }
        Ok(())
    }

    pub(super) async fn run_deliveries(self) {
        loop {
            let woken = self.inner.mouths.wake.notified();
            let pause = self.deliver_and_look_ahead().await.unwrap_or_else(|error| {
                tracing::error!(%error, "cannot deliver; trying again");
                TRY_AGAIN
            });
            tokio::select! { () = woken => (), () = tokio::time::sleep(pause) => () }
        }
    }

    /// Delivers what is due and says how long nothing will be.
    async fn deliver_and_look_ahead(&self) -> Result<Duration, StoreError> {
        let sources = self.inner.mouths.sources();
        if sources.is_empty() {
            return Ok(LONGEST_SLEEP);
        }
        self.deliver_what_is_due(&sources).await?;
        let Some(next) = self.store().next_delivery(&sources).await? else { return Ok(LONGEST_SLEEP) };
        let left = u64::try_from(next.millis() - now().millis()).unwrap_or(0);
        Ok(Duration::from_millis(left).clamp(SHORTEST_SLEEP, LONGEST_SLEEP))
    }

    async fn deliver_what_is_due(&self, sources: &[SourceId]) -> Result<(), StoreError> {
        self.settle_lost_claims().await?;
        loop {
            let at = now();
            let claim = Claim {
                owner: self.inner.owner.clone(),
                sources: sources.to_vec(),
                now: at,
                until: at.plus_millis(CLAIM_MS),
                limit: CLAIM_LIMIT,
            };
            let claimed = self.store().claim(claim).await?;
            if claimed.is_empty() {
                return Ok(());
            }
            claimed.into_iter().for_each(|delivery| self.deliver_at_once(delivery));
        }
    }

    /// This hub takes the delivery of an outcome in the very transaction that stores it: one fsync less on its way.
    pub(super) fn claim_holder(&self) -> ClaimHolder {
        ClaimHolder { owner: self.inner.owner.clone(), until: now().plus_millis(CLAIM_MS) }
    }

    /// In a task of its own: a slow agent does not hold up others.
    pub(super) fn deliver_at_once(&self, delivery: ClaimedDelivery) {
        let engine = self.clone();
        self.inner.tasks.spawn(async move { engine.deliver(delivery).await });
    }

    async fn deliver(&self, delivery: ClaimedDelivery) {
        let input = match self.inner.mouths.get(&delivery.source) {
            None => DeliveryInput::NotWritten { detail: "the source is not connected".to_owned() },
            Some(mouth) => match mouth.speak(&delivery).await {
                Said::Written => {
                    tokio::time::sleep(PROOF_SOON).await;
                    DeliveryInput::Written
                }
                Said::Confirmed => DeliveryInput::Confirmed,
                Said::Unknown => return,
                Said::NotNow(detail) => DeliveryInput::NotWritten { detail },
                Said::Failed { reason, detail } => DeliveryInput::Failed { reason, detail: Some(detail) },
            },
        };
        let again = matches!(input, DeliveryInput::NotWritten { .. });
        if let Err(error) = self.store().step(&delivery.question.id, input, now()).await {
            tracing::error!(%error, question = %delivery.question.id, "cannot note what became of a delivery");
        }
        if again {
            self.inner.mouths.wake();
        }
    }

    /// Claims of a hub that is gone, or that took too long: never a second copy by guessing.
    async fn settle_lost_claims(&self) -> Result<(), StoreError> {
        let mut silent = HashSet::new();
        for delivery in self.store().lost_claims(&self.inner.owner, now()).await? {
            let Some(mouth) = self.inner.mouths.get(&delivery.source) else { continue };
            if silent.contains(&delivery.source) {
                continue;
            }
            let Ok(written) = tokio::time::timeout(PROBE_PATIENCE, mouth.was_written(&delivery)).await else {
                tracing::warn!(source = %delivery.source, "an agent's holder does not say what it has written; asking again later");
                silent.insert(delivery.source);
                continue;
            };
            let input = DeliveryInput::ClaimLost { redeliver: mouth.redeliver(), written };
            self.store().step(&delivery.question.id, input, now()).await?;
        }
        Ok(())
    }
}
