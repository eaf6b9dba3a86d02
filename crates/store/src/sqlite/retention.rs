//! Deletes data beyond the retention, one batch at a time.

use rusqlite::params;
use rusqlite::types::Value;

use askd_core::Seq;

use super::retention_sessions;
use super::rows::rows;
use super::writer::Tx;
use crate::StoreResult;
use crate::questions::Retention;

/// Questions deleted in one transaction, so that the retention never delays an answer for long.
const PRUNE_BATCH: i64 = 500;

/// Pages that are given back to the disk in one transaction.
const VACUUM_BATCH: i64 = 512;
/// Free pages that are kept for what comes next: 1 MiB is no loss, and saves giving and taking.
const KEPT_PAGES: i64 = 256;

/// What one transaction did.
pub(super) struct Pruned {
    pub(super) questions: u64,
    /// There is more to delete.
    pub(super) more: bool,
}

/// Deletes one batch.
pub(super) fn prune(tx: &mut Tx<'_>, retention: &Retention) -> StoreResult<Pruned> {
    if let Some(before) = retention.secrets_read_before {
        tx.change("DELETE FROM secrets WHERE read_at < ?1", params![before.millis()])?;
    }
    if let Some(before) = retention.keys_before {
        let sql = "DELETE FROM idempotency WHERE at < ?1 AND NOT EXISTS (SELECT 1 FROM questions \
                   WHERE id = question_id AND (status = 'requested' OR settled_at >= ?1))";
        tx.change(sql, params![before.millis()])?;
    }
    if let Some(before) = retention.sources_ended_before {
        let sql = "DELETE FROM sources WHERE state = 'ended' AND since < ?1 \
                   AND NOT EXISTS (SELECT 1 FROM sessions WHERE source_id = sources.id)";
        tx.change(sql, params![before.millis()])?;
    }
    let Some(before) = retention.settled_before else { return Ok(Pruned { questions: 0, more: false }) };
    let sql = "SELECT q.id FROM questions q LEFT JOIN deliveries d ON d.question_id = q.id \
               WHERE q.settled_at < ?1 AND (d.state IS NULL OR d.state IN ('confirmed', 'failed')) ORDER BY q.settled_at LIMIT ?2";
    let old = rows(tx.conn, sql, &[Value::Integer(before.millis()), Value::Integer(PRUNE_BATCH)], |row| {
        Ok(row.get::<_, String>(0)?)
    })?;
    let mut trimmed: Option<Seq> = None;
    for id in &old {
        let newest: Option<Seq> = tx
            .conn
            .prepare_cached(
                "SELECT max(seq) FROM events WHERE question_id = ?1 AND kind <> 'question.requested'",
            )?
            .query_row([id], |row| row.get(0))?;
        trimmed = trimmed.max(newest);
        for sql in [
            "DELETE FROM events WHERE seq = (SELECT seq FROM questions WHERE id = ?1)",
            "DELETE FROM events WHERE question_id = ?1 AND kind <> 'question.requested'",
            "DELETE FROM deliveries WHERE question_id = ?1",
            "DELETE FROM secrets WHERE question_id = ?1",
            "DELETE FROM sightings WHERE question_id = ?1",
            "DELETE FROM questions WHERE id = ?1",
        ] {
            tx.change(sql, params![id])?;
        }
    }
    let sessions = retention_sessions::prune(tx, before)?;
    if let Some(trimmed) = trimmed.max(sessions.trimmed) {
        let sql = "INSERT INTO meta (key, value) VALUES ('trimmed_through', ?1) ON CONFLICT (key) DO UPDATE \
                   SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))";
        tx.change(sql, params![trimmed.to_string()])?;
    }
    let questions = old.len() as u64;
    Ok(Pruned { questions, more: sessions.more || questions >= PRUNE_BATCH.unsigned_abs() })
}

/// Gives one batch of free pages back to the disk; says whether there are more.
pub(super) fn give_back(tx: &mut Tx<'_>) -> StoreResult<bool> {
    let free = |tx: &Tx<'_>| -> StoreResult<i64> {
        Ok(tx.conn.prepare_cached("PRAGMA freelist_count")?.query_row([], |row| row.get(0))?)
    };
    let batch = VACUUM_BATCH.min(free(tx)? - KEPT_PAGES);
    if batch <= 0 {
        return Ok(false);
    }
    // Each step of the statement gives one page back.
    tx.conn.execute_batch(&format!("PRAGMA incremental_vacuum({batch})"))?;
    Ok(free(tx)? > KEPT_PAGES)
}
