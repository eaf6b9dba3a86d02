//! Copies of a store.

use std::fs::File;

use async_trait::async_trait;

use crate::StoreResult;

#[async_trait]
pub trait Maintenance: Send + Sync {
    /// A copy of everything that was acknowledged before, made in one step beside readers and the writer. The
    /// file has no name: it ends with its last reader.
    async fn backup(&self) -> StoreResult<File>;
}
