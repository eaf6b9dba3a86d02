//! The service `Health`: whether the store can write. The store is tried at most once a second, however many
//! ask.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use askd_store::{Store, StoreError, StoreResult};

/// A probe writes with an `fsync`, and every client may ask for health.
const PROBE_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct Health {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    last: Mutex<Option<(Instant, StoreResult<()>)>>,
}

impl Health {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { inner: Arc::new(Inner { store, last: Mutex::default() }) }
    }

    pub async fn check(&self) -> StoreResult<()> {
        {
            let mut last = self.inner.last.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *last {
                Some((at, result)) if at.elapsed() < PROBE_EVERY => return result.clone(),
                // Other callers receive the old result until this probe ends.
                Some((at, _)) => *at = Instant::now(),
                None => {
                    *last = Some((Instant::now(), Err(StoreError::Unavailable("not yet known".to_owned()))))
                }
            }
        }
        let result = self.inner.store.probe().await;
        let mut last = self.inner.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), result.clone()));
        result
    }
}
