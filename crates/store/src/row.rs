//! Changes that one caller gives to the store in a row, without waiting for each.
//!
//! In: work that writes. Out: the same work, of which nothing is stored after something before it could not be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

tokio::task_local! {
    static CURRENT: Row;
}

/// The changes of one row are stored in their order up to the first that fails; all later ones are refused.
#[derive(Debug, Clone, Default)]
pub struct Row {
    failed: Arc<AtomicBool>,
}

impl Row {
    /// What `work` changes belongs to this row.
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
