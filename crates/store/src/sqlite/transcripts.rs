//! Transcripts in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::watch;

use askd_core::SessionId;

use super::SqliteStore;
use super::rows::{at, rows, text};
use crate::StoreResult;
use crate::transcripts::{
    Entry, MAX_TRANSCRIPT_BYTES, NewEntry, TRANSCRIPT_PAGE, TranscriptPage, Transcripts,
};

/// The counters of one transcript.
#[derive(Default)]
struct Head {
    next_number: u64,
    last_line: u64,
    bytes: u64,
    trimmed_through: u64,
}

fn head(conn: &Connection, session: &str) -> StoreResult<Head> {
    let sql = "SELECT next_number, last_line, bytes, trimmed_through FROM transcripts WHERE session_id = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Head {
            next_number: row.get(0)?,
            last_line: row.get(1)?,
            bytes: row.get(2)?,
            trimmed_through: row.get(3)?,
        })
    };
    let stored = conn.prepare_cached(sql)?.query_row([session], read).optional()?;
    Ok(stored.unwrap_or(Head { next_number: 1, ..Head::default() }))
}

fn weight(text: Option<&str>, raw: Option<&str>) -> u64 {
    (text.map_or(0, str::len) + raw.map_or(0, str::len)) as u64
}

fn append(conn: &Connection, session: &str, entries: &[NewEntry]) -> StoreResult<()> {
    let mut head = head(conn, session)?;
    let sql = "INSERT INTO transcript_entries (session_id, number, at, voice, text, raw) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = conn.prepare_cached(sql)?;
    // One line may say several things; they come in one call.
    let stored_through = head.last_line;
    for entry in entries {
        if entry.line.is_some_and(|line| line <= stored_through) {
            continue;
        }
        insert.execute(params![
            session,
            head.next_number,
            entry.at.millis(),
            entry.voice,
            entry.text,
            entry.raw
        ])?;
        head.next_number += 1;
        head.last_line = head.last_line.max(entry.line.unwrap_or(0));
        head.bytes += weight(entry.text.as_deref(), entry.raw.as_deref());
    }
    trim(conn, session, &mut head)?;
    let sql = "INSERT OR REPLACE INTO transcripts (session_id, next_number, last_line, bytes, trimmed_through) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    conn.prepare_cached(sql)?.execute(params![
        session,
        head.next_number,
        head.last_line,
        head.bytes,
        head.trimmed_through
    ])?;
    Ok(())
}

/// Deletes the oldest entries until the rest fits.
fn trim(conn: &Connection, session: &str, head: &mut Head) -> StoreResult<()> {
    while head.bytes > MAX_TRANSCRIPT_BYTES {
        let sql = "SELECT number, coalesce(length(CAST(text AS BLOB)), 0) + coalesce(length(CAST(raw AS BLOB)), 0) \
                   FROM transcript_entries WHERE session_id = ?1 ORDER BY number LIMIT 256";
        let oldest: Vec<(u64, u64)> =
            rows(conn, sql, &[text(session)], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut through = None;
        for (number, bytes) in oldest {
            if head.bytes <= MAX_TRANSCRIPT_BYTES {
                break;
            }
            head.bytes = head.bytes.saturating_sub(bytes);
            through = Some(number);
        }
        let Some(through) = through else { break };
        let sql = "DELETE FROM transcript_entries WHERE session_id = ?1 AND number <= ?2";
        conn.prepare_cached(sql)?.execute(params![session, through])?;
        head.trimmed_through = through;
    }
    Ok(())
}

#[async_trait]
impl Transcripts for SqliteStore {
    async fn append(&self, session: &SessionId, entries: Vec<NewEntry>) -> StoreResult<()> {
        let (session, grew) = (session.clone(), self.transcripts_grew.clone());
        self.write(move |tx| {
            tx.after_commit(move || grew.send_modify(|count| *count += 1));
            append(tx.conn, session.as_str(), &entries)
        })
        .await
    }

    async fn entries_after(&self, session: &SessionId, after: u64) -> StoreResult<TranscriptPage> {
        let session = session.clone();
        self.readers
            .read(move |conn| {
                let head = head(conn, session.as_str())?;
                let sql = format!(
                    "SELECT number, at, voice, text, raw FROM transcript_entries WHERE session_id = ?1 AND number > {after} \
                     ORDER BY number LIMIT {TRANSCRIPT_PAGE}"
                );
                let entries = rows(conn, &sql, &[text(&session)], |row| {
                    Ok(Entry {
                        number: row.get(0)?,
                        at: at(row.get(1)?),
                        voice: row.get(2)?,
                        text: row.get(3)?,
                        raw: row.get(4)?,
                    })
                })?;
                Ok(TranscriptPage { entries, trimmed_through: head.trimmed_through, newest: head.next_number - 1 })
            })
            .await
    }

    fn watch_transcripts(&self) -> watch::Receiver<u64> {
        self.transcripts_grew.subscribe()
    }
}
