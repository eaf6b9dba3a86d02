//! Brings outcomes to agents: claims the outbox, lets the source's mouth speak, notes what is true.
//!
//! In: mouths of connected sources, and a wake whenever an outcome was stored. Out: `sent` when the bytes were written, and
//! `confirmed` or `failed` by evidence. A claim that a dead hub left behind is settled by the adapter's own rule.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;

use askd_core::delivery::{DeliveryInput, FailReason, Redeliver};
use askd_core::{Question, QuestionId, Settlement, SourceId, Surface, Timestamp};
use askd_store::{Claim, ClaimHolder, ClaimedDelivery, Expired, Record, StoreError};

use super::managed::ACP;
use super::observed::HOOK;
use super::{Engine, EngineError, now};

/// Deliveries taken at once.
const CLAIM_LIMIT: usize = 64;
/// How long a worker may take to write one answer before its claim counts as lost.
const CLAIM_LIFE: Duration = Duration::from_secs(60);
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
    /// It was not said; the agent has decided nothing and still waits: the question is opened again, with this reason.
    Undecided(String),
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

    /// Whether the channels that there are now can carry this outcome, given at this surface; why not, for a person. Asked before
    /// anything is stored.
    async fn carries(
        &self,
        question: &Question,
        settlement: &Settlement,
        surface: Surface,
    ) -> Result<Carried, StoreError> {
        let _ = (question, settlement, surface);
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

/// When a claim that is made now is over.
fn claim_end(at: Timestamp) -> Timestamp {
    at.plus_millis(i64::try_from(CLAIM_LIFE.as_millis()).unwrap_or(i64::MAX))
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

/// Which claims of this hub a task of it holds, by this process's own clock. One that no task holds, or that is held too long, is lost.
#[derive(Default)]
pub(super) struct Claims(Mutex<Held>);

#[derive(Default)]
struct Held {
    by_question: HashMap<QuestionId, Holding>,
    /// Batches that are being claimed: of which questions is known only afterwards.
    batches: usize,
}

struct Holding {
    tasks: usize,
    until: Instant,
    /// What was written is not known: the claim stays until its time is over.
    outlives_tasks: bool,
}

/// That a task holds the claim of one question.
pub(super) struct Hold {
    claims: Arc<Claims>,
    question: QuestionId,
}

/// That a batch is being claimed.
struct Batch(Arc<Claims>);

impl Claims {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(self: &Arc<Self>, question: &QuestionId) -> Hold {
        let now = Instant::now();
        let fresh = || Holding { tasks: 0, until: now + CLAIM_LIFE, outlives_tasks: false };
        let mut held = self.held();
        let holding = held.by_question.entry(question.clone()).or_insert_with(fresh);
        if !holding.outlives_tasks || holding.until <= now {
            *holding = Holding { tasks: holding.tasks, ..fresh() };
        }
        holding.tasks += 1;
        Hold { claims: Arc::clone(self), question: question.clone() }
    }

    fn batch(self: &Arc<Self>) -> Batch {
        self.held().batches += 1;
        Batch(Arc::clone(self))
    }

    /// The questions whose claims are held at this moment.
    fn questions(&self) -> Vec<QuestionId> {
        let now = Instant::now();
        let mut held = self.held();
        held.by_question.retain(|_, holding| holding.tasks > 0 || now < holding.until);
        let in_time = held.by_question.iter().filter(|(_, holding)| now < holding.until);
        in_time.map(|(question, _)| question.clone()).collect()
    }

    fn is_held(&self, question: &QuestionId) -> bool {
        let held = self.held();
        let holding = held.by_question.get(question);
        held.batches > 0 || holding.is_some_and(|holding| Instant::now() < holding.until)
    }
}

impl Hold {
    /// The claim stays, also without a task, until its time is over.
    fn leave(self) {
        if let Some(holding) = self.claims.held().by_question.get_mut(&self.question) {
            holding.outlives_tasks = true;
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.claims.held();
        if let Some(holding) = held.by_question.get_mut(&self.question) {
            holding.tasks -= 1;
            if holding.tasks == 0 && !holding.outlives_tasks {
                held.by_question.remove(&self.question);
            }
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.0.held().batches -= 1;
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

    /// Refuses an outcome that no channel to its agent can carry: the question stays open, and nothing is stored.
    pub(super) async fn refuse_uncarried(
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
        let carried = match self.inner.mouths.get(source) {
            Some(mouth) => mouth.carries(&record.question, &settlement, surface).await?,
            None => self.carries_unconnected(source, &record.question, &settlement).await?,
        };
        match carried {
            Carried::Yes => Ok(()),
            Carried::No(why) => Err(EngineError::Uncarried(why)),
        }
    }

    /// The same where the agent is not connected, as just after a restart of the hub. A terminal's own hook says by itself what it
    /// can carry.
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

    /// Tells the way to an agent that nothing will come for a question. Waits for nothing: others have expired at the same moment.
    pub(super) fn tell_over(&self, expired: &Expired) {
        let source = expired.source.as_ref();
        if let Some(mouth) = source.and_then(|source| self.inner.mouths.get(source)) {
            mouth.over(&expired.question.id);
        }
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
                self.deliver_at_once(delivery, held);
            }
            drop(batch);
        }
    }

    /// This hub takes the delivery of an outcome in the very transaction that stores it: one fsync less on its way.
    pub(super) fn claim_holder(&self) -> ClaimHolder {
        ClaimHolder { owner: self.inner.owner.clone(), until: claim_end(now()) }
    }

    /// That the calling task holds the claim of this question, or is about to make it.
    pub(super) fn hold_claim(&self, question: &QuestionId) -> Hold {
        self.inner.claims.hold(question)
    }

    /// In a task of its own: a slow agent does not hold up others.
    pub(super) fn deliver_at_once(&self, delivery: ClaimedDelivery, held: Hold) {
        let engine = self.clone();
        self.inner.tasks.spawn(async move { engine.deliver(delivery, held).await });
    }

    async fn deliver(&self, delivery: ClaimedDelivery, held: Hold) {
        let input = match self.inner.mouths.get(&delivery.source) {
            None => DeliveryInput::NotWritten { detail: "the source is not connected".to_owned() },
            Some(mouth) => match mouth.speak(&delivery).await {
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
            self.inner.mouths.wake();
        }
    }

    /// Claims of a hub that is gone, of this one that no task of it holds, or that took too long.
    pub(super) async fn lost_claims(&self) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let held = self.inner.claims.questions();
        let mut lost = self.store().lost_claims(&self.inner.owner, &held).await?;
        // Some may have been claimed since then.
        lost.retain(|delivery| !self.inner.claims.is_held(&delivery.question.id));
        Ok(lost)
    }

    /// What became of lost claims: never a second copy by guessing.
    async fn settle_lost_claims(&self) -> Result<(), StoreError> {
        let mut silent = HashSet::new();
        for delivery in self.lost_claims().await? {
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
            self.store().step_claimed(&delivery, input, now()).await?;
        }
        Ok(())
    }
}
