//! Tokens, stored as hashes: the database alone gives access to nothing.

use async_trait::async_trait;

use askd_core::{Rights, Timestamp, TokenId};

use crate::StoreResult;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    pub id: TokenId,
    pub name: String,
    pub rights: Rights,
    pub hash: [u8; 32],
    pub created_at: Timestamp,
}

#[async_trait]
pub trait Tokens: Send + Sync {
    async fn add_token(&self, record: TokenRecord) -> StoreResult<()>;

    /// Looked up on every request, so it must be answered from memory.
    fn token_by_hash(&self, hash: &[u8; 32]) -> Option<TokenRecord>;

    /// All tokens, oldest first.
    fn tokens(&self) -> Vec<TokenRecord>;

    /// True if there was one.
    async fn revoke_token(&self, id: &TokenId) -> StoreResult<bool>;
}
