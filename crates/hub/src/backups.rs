//! The service `Backups`: copies of the store.

use std::fs::File;
use std::sync::Arc;

use askd_core::Right;
use askd_store::Store;

use super::{Caller, EngineError};

#[derive(Clone)]
pub struct Backups {
    store: Arc<dyn Store>,
}

impl Backups {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// A consistent copy of the store, made in one step. It goes with its last reader.
    pub async fn make(&self, caller: &Caller) -> Result<File, EngineError> {
        caller.needs(Right::Manage)?;
        Ok(self.store.backup().await?)
    }
}
