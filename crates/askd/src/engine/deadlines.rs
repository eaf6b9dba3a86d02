//! Deadlines that askers set: the only clock that ends a question, and only as `expired`.

use std::time::Duration;

use super::{Engine, now};

/// Looks again at least this often, in case the system's clock was set.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

impl Engine {
    pub(super) async fn run_deadlines(self) {
        loop {
            let changed = self.inner.deadline_changed.notified();
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

    /// Ends what is due and says how long nothing will be.
    async fn expire_and_look_ahead(&self) -> Result<Duration, askd_store::StoreError> {
        let Some(next) = self.store().next_deadline().await? else { return Ok(LONGEST_SLEEP) };
        let left = next.millis() - now().millis();
        if left <= 0 {
            for expired in self.store().expire_due(now()).await? {
                self.tell_over(&expired);
            }
            return Ok(Duration::ZERO);
        }
        Ok(Duration::from_millis(left.unsigned_abs()).min(LONGEST_SLEEP))
    }
}
