//! The task `Deadlines`: ends questions whose askers set a deadline, when it is over. No other clock ends a question, and this one
//! only as `expired`.
//!
//! In: the store's next deadline, and a sign that an earlier one may have come. Out: expired questions, and the word to their
//! delivery targets that nothing will come.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use askd_store::{Store, StoreError};

use super::now;
use super::outbox::DeliveryTargets;

/// Looks again at least this often, in case the system's clock was set.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

pub(super) struct Deadlines {
    store: Arc<dyn Store>,
    targets: DeliveryTargets,
    changed: Arc<Notify>,
}

impl Deadlines {
    /// `changed` comes when a question with a deadline was stored.
    pub(super) fn new(store: Arc<dyn Store>, targets: DeliveryTargets, changed: Arc<Notify>) -> Self {
        Self { store, targets, changed }
    }

    pub(super) async fn run(self) {
        loop {
            let changed = self.changed.notified();
            let pause = match self.expire_and_look_ahead().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(%error, "cannot look after deadlines; trying again");
                    LONGEST_SLEEP
                }
            };
            tokio::select! { () = changed => (), () = tokio::time::sleep(pause) => () }
        }
    }

    /// Ends the questions that are due, and says how long no other will be.
    async fn expire_and_look_ahead(&self) -> Result<Duration, StoreError> {
        let Some(next) = self.store.next_deadline().await? else { return Ok(LONGEST_SLEEP) };
        let left = next.millis() - now().millis();
        if left <= 0 {
            for expired in self.store.expire_due(now()).await? {
                self.targets.over(&expired);
            }
            return Ok(Duration::ZERO);
        }
        Ok(Duration::from_millis(left.unsigned_abs()).min(LONGEST_SLEEP))
    }
}
