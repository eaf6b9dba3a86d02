//! The tasks of one hub, and the word that ends them.
//!
//! In: work of the services. Out: tasks that end with the hub; and changes, for whose end a hub that stops waits a while.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long a stopping hub waits for answers that are just being written, and for changes that clients asked for.
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

    /// Runs a change that a client asked for to its end, whatever becomes of the client. A hub that stops waits for it.
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

    /// Tells all tasks to end, and waits for those that do not end at once.
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
