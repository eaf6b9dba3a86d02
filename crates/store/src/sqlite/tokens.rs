//! Tokens in SQLite, with all of them in memory: this process is the only writer. Memory follows each commit
//! in the writer's order, so it always equals the store, even if the caller has disconnected.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use rusqlite::{Connection, params};

use askd_core::TokenId;

use super::SqliteStore;
use super::rows::{at, corrupt, from_json, parsed, rows, to_json};
use crate::StoreResult;
use crate::tokens::{TokenRecord, Tokens};

pub(super) fn load(conn: &Connection) -> StoreResult<HashMap<[u8; 32], TokenRecord>> {
    let all = rows(conn, "SELECT id, name, rights, hash, created_at FROM tokens", &[], |row| {
        let hash: Vec<u8> = row.get(3)?;
        Ok(TokenRecord {
            id: parsed(&row.get::<_, String>(0)?)?,
            name: row.get(1)?,
            rights: from_json(&row.get::<_, String>(2)?)?,
            hash: hash.try_into().map_err(|_| corrupt("the hash of a token"))?,
            created_at: at(row.get(4)?),
        })
    })?;
    Ok(all.into_iter().map(|record| (record.hash, record)).collect())
}

#[async_trait]
impl Tokens for SqliteStore {
    async fn add_token(&self, record: TokenRecord) -> StoreResult<()> {
        let tokens = Arc::clone(&self.tokens);
        self.write(move |tx| {
            let sql = "INSERT INTO tokens (id, name, rights, hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
            let (id, rights) = (record.id.as_str(), to_json(&record.rights)?);
            tx.change(sql, params![id, record.name, rights, record.hash, record.created_at.millis()])?;
            tx.after_commit(move || {
                tokens.write().unwrap_or_else(PoisonError::into_inner).insert(record.hash, record);
            });
            Ok(())
        })
        .await
    }

    fn token_by_hash(&self, hash: &[u8; 32]) -> Option<TokenRecord> {
        self.tokens.read().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    fn tokens(&self) -> Vec<TokenRecord> {
        let mut all: Vec<_> =
            self.tokens.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    async fn revoke_token(&self, id: &TokenId) -> StoreResult<bool> {
        let (id, tokens) = (id.clone(), Arc::clone(&self.tokens));
        self.write(move |tx| {
            let removed = tx.change("DELETE FROM tokens WHERE id = ?1", params![id.as_str()])? > 0;
            tx.after_commit(move || {
                tokens.write().unwrap_or_else(PoisonError::into_inner).retain(|_, record| record.id != id);
            });
            Ok(removed)
        })
        .await
    }
}
