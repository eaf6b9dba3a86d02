//! The counters of one transcript, in the row that every append reads and writes.

use rusqlite::{Connection, OptionalExtension, params};

use super::writer::Tx;
use crate::StoreResult;

pub(super) struct Head {
    pub(super) next_number: u64,
    pub(super) last_line: u64,
    pub(super) bytes: u64,
    pub(super) trimmed_through: u64,
}

impl Head {
    pub(super) fn read(conn: &Connection, transcript: &str) -> StoreResult<Self> {
        let sql =
            "SELECT next_number, last_line, bytes, trimmed_through FROM transcripts WHERE session_id = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Self {
                next_number: row.get(0)?,
                last_line: row.get(1)?,
                bytes: row.get(2)?,
                trimmed_through: row.get(3)?,
            })
        };
        let stored = conn.prepare_cached(sql)?.query_row([transcript], read).optional()?;
        Ok(stored.unwrap_or(Self { next_number: 1, last_line: 0, bytes: 0, trimmed_through: 0 }))
    }

    pub(super) fn write(&self, tx: &Tx<'_>, transcript: &str) -> StoreResult<()> {
        let sql = "INSERT OR REPLACE INTO transcripts (session_id, next_number, last_line, bytes, trimmed_through) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let Self { next_number, last_line, bytes, trimmed_through } = self;
        tx.change(sql, params![transcript, next_number, last_line, bytes, trimmed_through])?;
        Ok(())
    }
}
