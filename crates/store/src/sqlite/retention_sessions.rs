//! Deletes sessions that ended long ago, their events and what was said in them, a batch at a time.

use rusqlite::params;
use rusqlite::types::Value;

use askd_core::{Seq, Timestamp};

use super::rows::rows;
use super::writer::Tx;
use crate::StoreResult;

/// Sessions deleted in one transaction.
const SESSIONS: i64 = 200;
/// Entries deleted in one transaction, so that the retention never holds up an answer for long.
const ENTRIES: usize = 2000;

/// What one transaction did.
#[derive(Default)]
pub(super) struct Deleted {
    /// The newest event that went.
    pub(super) trimmed: Option<Seq>,
    /// There is more to delete.
    pub(super) more: bool,
}

pub(super) fn prune(tx: &Tx<'_>, before: Timestamp) -> StoreResult<Deleted> {
    let sessions = ended(tx, before)?;
    let mut deleted = Deleted { more: sessions.len() as i64 == SESSIONS, ..Deleted::default() };
    for session in sessions {
        let newest = "SELECT max(seq) FROM events WHERE session_id = ?1 AND question_id IS NULL";
        let newest: Option<Seq> = tx.conn.prepare_cached(newest)?.query_row([&session], |row| row.get(0))?;
        deleted.trimmed = deleted.trimmed.max(newest);
        tx.change("DELETE FROM events WHERE session_id = ?1 AND question_id IS NULL", params![session])?;
        tx.change("DELETE FROM sessions WHERE id = ?1", params![session])?;
    }
    deleted.more |= prune_transcripts(tx, before)?;
    Ok(deleted)
}

/// Sessions that ended before this moment and have no question that is kept.
fn ended(tx: &Tx<'_>, before: Timestamp) -> StoreResult<Vec<String>> {
    let sql = "SELECT id FROM sessions s WHERE live = 0 AND ended_at < ?1 \
               AND NOT EXISTS (SELECT 1 FROM questions WHERE session_id = s.id) LIMIT ?2";
    rows(tx.conn, sql, &[before.millis().into(), SESSIONS.into()], |row| Ok(row.get(0)?))
}

/// Deletes transcripts without a kept session or a live source after their last entry is old enough. Returns
/// true if there is more to delete.
fn prune_transcripts(tx: &Tx<'_>, before: Timestamp) -> StoreResult<bool> {
    // The settings of a source name the stream that its sessions share.
    let sql = "SELECT session_id FROM transcripts t \
               WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = t.session_id) \
               AND NOT EXISTS (SELECT 1 FROM sources WHERE state <> 'ended' AND instr(settings, t.session_id) > 0) \
               AND coalesce((SELECT at FROM transcript_entries e WHERE e.session_id = t.session_id \
                             ORDER BY number DESC LIMIT 1), 0) < ?1 LIMIT ?2";
    let old =
        rows(tx.conn, sql, &[before.millis().into(), SESSIONS.into()], |row| Ok(row.get::<_, String>(0)?))?;
    let mut room = ENTRIES;
    for transcript in old {
        let sql = "DELETE FROM transcript_entries WHERE session_id = ?1 AND number IN \
                   (SELECT number FROM transcript_entries WHERE session_id = ?1 ORDER BY number LIMIT ?2)";
        let limit = Value::Integer(i64::try_from(room).unwrap_or(i64::MAX));
        room -= tx.change(sql, params![transcript, limit])?.min(room);
        if room == 0 {
            return Ok(true);
        }
        tx.change("DELETE FROM transcripts WHERE session_id = ?1", params![transcript])?;
    }
    Ok(false)
}
