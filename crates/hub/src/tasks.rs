//! The tasks of one hub, and the signal that ends them.
//!
//! In: work of the services. Out: tasks that end with the hub; and changes that a stopping hub waits for.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The time that a stopping hub gives to answers that are being written, and to running changes.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Default)]
pub struct Tasks {
    stop: CancellationToken,
    running: TaskTracker,
}

impl Tasks {
    /// Runs a task until its end or that of the hub.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.running.spawn(async move {
            tokio::select! { () = stop.cancelled() => (), () = task => () }
        });
    }

    /// Runs a client's change to its end, even if the client disconnects. A stopping hub waits for it.
    pub fn run_change<T: Send + 'static>(
        &self,
        change: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.running.spawn(change)
    }

    /// Is cancelled when the hub is told to stop.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Ends all tasks, and waits for those that need a moment.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        self.running.close();
        if tokio::time::timeout(STOP_PATIENCE, self.running.wait()).await.is_err() {
            tracing::warn!(
                "an answer is still being written, or a change is under way; the next start settles the claim"
            );
        }
    }
}
