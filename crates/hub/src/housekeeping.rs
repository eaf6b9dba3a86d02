//! The task `Housekeeping`: deletes read secrets, old idempotency keys, sources that came and went and, if
//! the user wished it, old history. No service calls it.

use std::sync::Arc;
use std::time::Duration;

use askd_store::{Retention, SECRET_RETRY_MS, Store};

use super::now;

const EVERY: Duration = Duration::from_secs(300);
/// How long an idempotency key is remembered after its first use and after the end of its question: the asker
/// that was away when its question was answered asks with the same key again, and must get the answer and no
/// second question.
const KEY_MEMORY_MS: i64 = 7 * DAY_MS;
/// The time for which an ended source without a question is still listed: each terminal with a plugin makes
/// one.
const SOURCE_MEMORY_MS: i64 = DAY_MS;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) struct Housekeeping {
    store: Arc<dyn Store>,
    /// Days that settled questions are kept; unless given, for ever.
    keep_days: Option<u32>,
}

impl Housekeeping {
    pub(super) fn new(store: Arc<dyn Store>, keep_days: Option<u32>) -> Self {
        Self { store, keep_days }
    }

    pub(super) async fn run(self) {
        loop {
            match self.store.prune(self.retention()).await {
                Ok(0) => {}
                Ok(removed) => tracing::info!(removed, "deleted settled questions past their days"),
                Err(error) => tracing::error!(%error, "housekeeping failed"),
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    fn retention(&self) -> Retention {
        let at = now();
        Retention {
            settled_before: self.keep_days.map(|days| at.plus_millis(-DAY_MS * i64::from(days))),
            secrets_read_before: Some(at.plus_millis(-SECRET_RETRY_MS)),
            keys_before: Some(at.plus_millis(-KEY_MEMORY_MS)),
            sources_ended_before: Some(at.plus_millis(-SOURCE_MEMORY_MS)),
        }
    }
}
