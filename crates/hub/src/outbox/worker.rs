//! The service `Outbox`: brings outcomes to agents. How a delivery is claimed, handed over, noted and
//! retried.
//!
//! In: outcomes that are stored, the targets of connected sources, and a wake when there is a new one. Out:
//! `sent` when the bytes were written, and `confirmed` or `failed` by evidence; before an outcome is stored,
//! whether it can be carried at all. A claim that a dead hub left behind is settled by the adapter's own
//! rule.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use askd_agents::acp::{carries_raw, is_raw};
use askd_core::delivery::DeliveryInput;
use askd_core::{Question, QuestionId, Settlement, SourceId, Surface, Timestamp};
use askd_store::{Claim, ClaimHolder, ClaimedDelivery, Record, Store, StoreError};
use serde_json::value::RawValue;

use super::claims::{CLAIM_LIFE, Claims, Hold};
use super::speller::Speller;
use super::targets::{Carried, DeliveryTargets, Said};
use crate::catalog::AgentCatalog;
use crate::sources::{ACP, HOOK};
use crate::tasks::Tasks;
use crate::{EngineError, new_bits, now};

/// Deliveries in one claim.
const CLAIM_LIMIT: usize = 64;
/// Looks again at least this often, in case the system's clock was set, and at most this often, whatever
/// seems due.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
const SHORTEST_SLEEP: Duration = Duration::from_millis(100);
/// The most time to find out whether a delivery was written; deliveries of other sources wait for it.
const PROBE_PATIENCE: Duration = Duration::from_secs(2);
/// Pause after the store has failed.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// Many agents confirm within this time; then `sent` needs no commit of its own.
const PROOF_SOON: Duration = Duration::from_millis(5);

#[derive(Clone)]
pub struct Outbox {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    targets: DeliveryTargets,
    catalog: AgentCatalog,
    tasks: Tasks,
    claims: Arc<Claims>,
    /// Names this process in claims of deliveries.
    owner: String,
}

/// The end of a claim that is made now.
fn claim_end(at: Timestamp) -> Timestamp {
    at.plus_millis(i64::try_from(CLAIM_LIFE.as_millis()).unwrap_or(i64::MAX))
}

impl Outbox {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        targets: DeliveryTargets,
        catalog: AgentCatalog,
        tasks: Tasks,
    ) -> Self {
        let owner = format!("{}-{:032x}", std::process::id(), new_bits());
        Self { inner: Arc::new(Inner { store, targets, catalog, tasks, claims: Arc::default(), owner }) }
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// The check that an agent of this source can express an outcome.
    pub(crate) fn speller(&self, agent: &str, by_acp: bool) -> Speller {
        Speller::new(self.inner.catalog.registry(), self.inner.store.clone(), agent, by_acp)
    }

    /// Refuses an outcome that no channel to its agent can carry: the question stays open, and nothing is
    /// stored.
    pub(crate) async fn refuse_uncarried(
        &self,
        record: &Record,
        settlement: Settlement,
        surface: Surface,
    ) -> Result<(), EngineError> {
        if !record.question.is_open() {
            return Ok(());
        }
        self.refuse_no_result(&record.question, &settlement).await?;
        let Some(source) = &record.source else { return Ok(()) };
        let carried = match self.inner.targets.get(source) {
            Some(target) => target.can_carry(&record.question, &settlement, surface).await?,
            None => self.carries_unconnected(source, &record.question, &settlement).await?,
        };
        match carried {
            Carried::Yes => Ok(()),
            Carried::No(why) => Err(EngineError::Uncarried(why)),
        }
    }

    /// The same check for an agent that is not connected, as just after a restart of the hub. The hook of a
    /// local agent checks its own limits.
    async fn carries_unconnected(
        &self,
        source: &SourceId,
        question: &Question,
        settlement: &Settlement,
    ) -> Result<Carried, EngineError> {
        match self.store().source(source).await? {
            Some(record) if record.source.kind != HOOK => {
                let speller = self.speller(&record.source.agent, record.source.kind == ACP);
                Ok(speller.carries(question, settlement).await?)
            }
            _ => Ok(Carried::Yes),
        }
    }

    /// Refuses an outcome that is no valid result for a question that is shown as it came, connected or not.
    async fn refuse_no_result(
        &self,
        question: &Question,
        settlement: &Settlement,
    ) -> Result<(), EngineError> {
        if !is_raw(&question.ask) {
            return Ok(());
        }
        let native = self.store().native(&question.id).await?;
        let Some(Ok(native)) = native.map(RawValue::from_string) else { return Ok(()) };
        carries_raw(&native, settlement).map_err(|error| EngineError::Uncarried(error.to_string()))
    }

    /// The worker: delivers what is due, again and again.
    pub(crate) async fn run(self) {
        loop {
            let woken = self.inner.targets.woken();
            let pause = self.deliver_and_look_ahead().await.unwrap_or_else(|error| {
                tracing::error!(%error, "cannot deliver; trying again");
                TRY_AGAIN
            });
            tokio::select! { () = woken => (), () = tokio::time::sleep(pause) => () }
        }
    }

    /// Hands over due deliveries and returns the time until the next one.
    async fn deliver_and_look_ahead(&self) -> Result<Duration, StoreError> {
        let sources = self.inner.targets.sources();
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
                until: claim_end(at),
                limit: CLAIM_LIMIT,
            };
            let batch = self.inner.claims.batch();
            let claimed = self.store().claim(claim).await?;
            if claimed.is_empty() {
                return Ok(());
            }
            for delivery in claimed {
                let held = self.hold_claim(&delivery.question.id);
                self.deliver_now(delivery, held);
            }
            drop(batch);
        }
    }

    /// The owner for claims in the transaction that stores an outcome, which saves one `fsync`.
    pub(crate) fn claim_holder(&self) -> ClaimHolder {
        ClaimHolder { owner: self.inner.owner.clone(), until: claim_end(now()) }
    }

    /// Registers that the calling task holds the claim of this question, or is about to make it.
    pub(crate) fn hold_claim(&self, question: &QuestionId) -> Hold {
        self.inner.claims.hold(question)
    }

    /// In a task of its own: a slow agent does not hold up others.
    pub(crate) fn deliver_now(&self, delivery: ClaimedDelivery, held: Hold) {
        let outbox = self.clone();
        drop(self.inner.tasks.run_change(async move { outbox.deliver(delivery, held).await }));
    }

    #[tracing::instrument(level = "error", skip_all, fields(question = %delivery.question.id))]
    async fn deliver(&self, delivery: ClaimedDelivery, held: Hold) {
        let input = match self.inner.targets.get(&delivery.source) {
            None => DeliveryInput::NotWritten { detail: "the source is not connected".to_owned() },
            Some(target) => match target.deliver(&delivery).await {
                Said::Written => {
                    tokio::time::sleep(PROOF_SOON).await;
                    DeliveryInput::Written
                }
                Said::Confirmed => DeliveryInput::Confirmed,
                Said::Unknown => return held.leave(),
                Said::NotNow(detail) => DeliveryInput::NotWritten { detail },
                Said::Undecided(detail) => DeliveryInput::Undecided { detail },
                Said::Failed { reason, detail } => DeliveryInput::Failed { reason, detail: Some(detail) },
            },
        };
        let again = matches!(input, DeliveryInput::NotWritten { .. });
        if let Err(error) = self.store().step_claimed(&delivery, input, now()).await {
            tracing::error!(%error, question = %delivery.question.id, "cannot note what became of a delivery");
        }
        drop(held);
        if again {
            self.inner.targets.wake();
        }
    }

    /// Claims of a stopped hub, claims of this hub without a task, and claims that took too long.
    pub(crate) async fn lost_claims(&self) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let held = self.inner.claims.questions();
        let mut lost = self.store().lost_claims(&self.inner.owner, &held).await?;
        // Some may have been claimed since then.
        lost.retain(|delivery| !self.inner.claims.is_held(&delivery.question.id));
        Ok(lost)
    }

    /// Settles lost claims, and never writes a second copy by guessing.
    async fn settle_lost_claims(&self) -> Result<(), StoreError> {
        let mut silent = HashSet::new();
        for delivery in self.lost_claims().await? {
            let Some(target) = self.inner.targets.get(&delivery.source) else { continue };
            if silent.contains(&delivery.source) {
                continue;
            }
            let Ok(written) = tokio::time::timeout(PROBE_PATIENCE, target.was_written(&delivery)).await
            else {
                tracing::warn!(source = %delivery.source, "an agent's holder does not say what it has written; asking again later");
                silent.insert(delivery.source);
                continue;
            };
            let input = DeliveryInput::ClaimLost { redeliver: target.redeliver(), written };
            self.store().step_claimed(&delivery, input, now()).await?;
        }
        Ok(())
    }
}
