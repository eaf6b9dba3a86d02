//! Whether the store can write, tried at most once a second whoever asks.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use askd_store::{StoreError, StoreResult};

use super::Engine;

/// A probe is a write with an fsync, and anybody may ask for health.
const PROBE_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Health {
    last: Mutex<Option<(Instant, StoreResult<()>)>>,
}

impl Engine {
    pub async fn health(&self) -> StoreResult<()> {
        {
            let mut last = self.inner.health.last.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *last {
                Some((at, result)) if at.elapsed() < PROBE_EVERY => return result.clone(),
                // Others are told the old result until the new one is known.
                Some((at, _)) => *at = Instant::now(),
                None => {
                    *last = Some((Instant::now(), Err(StoreError::Unavailable("not yet known".to_owned()))))
                }
            }
        }
        let result = self.store().probe().await;
        let mut last = self.inner.health.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), result.clone()));
        result
    }
}
