//! What keeps a store for years: copies of it.

use std::fs::File;

use async_trait::async_trait;

use crate::StoreResult;

#[async_trait]
pub trait Maintenance: Send + Sync {
    /// A copy of everything that was acknowledged before, made in one step beside those who read and write. The file has no name: it
    /// goes with its last reader.
    async fn backup(&self) -> StoreResult<File>;
}
