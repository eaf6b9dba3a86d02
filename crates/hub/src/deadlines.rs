//! The task `Deadlines`: expires questions after their asker's deadline. No other clock ends a question.
//!
//! In: the store's next deadline, and a sign of an earlier one. Out: expired questions, and the message to
//! their delivery targets that no answer will come.

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

    /// Expires due questions and returns the time until the next deadline.
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
