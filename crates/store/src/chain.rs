//! A sequence of changes that one caller gives to the store without waiting for each.
//!
//! In: work that writes. Out: the same work; after a failed change, no later one is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

tokio::task_local! {
    static CURRENT: Chain;
}

/// The changes of one chain are stored in their order up to the first that fails; all later ones are refused.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    failed: Arc<AtomicBool>,
}

impl Chain {
    /// Runs `work`; its changes belong to this chain.
    pub fn with<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self.clone(), work)
    }

    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }
}
