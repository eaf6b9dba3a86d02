//! The counters of transcripts. The writer knows those it used lately and writes each once for a commit, however many entries the
//! commit has.
//!
//! In: entries that come and go. Out: their numbers and what is kept. Whoever undoes changes in the database forgets these too.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::journal::Journal;
use crate::StoreResult;

/// Transcripts whose counters are known: more than a busy hub writes to in one commit.
const MAX_KNOWN: usize = 1024;

#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) next_number: u64,
    pub(super) last_line: u64,
    pub(super) bytes: u64,
    pub(super) trimmed_through: u64,
}

#[derive(Default)]
pub(super) struct Heads {
    known: HashMap<String, Head>,
    changed: HashSet<String>,
}

impl Heads {
    /// The counters of a transcript as this transaction sees them.
    pub(super) fn get(&mut self, journal: &mut Journal, transcript: &str) -> StoreResult<Head> {
        if let Some(head) = self.known.get(transcript) {
            return Ok(head.clone());
        }
        let head = read(journal.read()?, transcript)?;
        self.known.insert(transcript.to_owned(), head.clone());
        Ok(head)
    }

    pub(super) fn set(&mut self, transcript: &str, head: Head) {
        self.known.insert(transcript.to_owned(), head);
        self.changed.insert(transcript.to_owned());
    }

    /// Writes what changed.
    pub(super) fn store(&mut self, journal: &mut Journal) -> StoreResult<()> {
        let sql = "INSERT OR REPLACE INTO transcripts (session_id, next_number, last_line, bytes, trimmed_through) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        for transcript in self.changed.drain() {
            let Some(head) = self.known.get(&transcript) else { continue };
            let Head { next_number, last_line, bytes, trimmed_through } = head;
            journal.write(sql, params![transcript, next_number, last_line, bytes, trimmed_through])?;
        }
        if self.known.len() > MAX_KNOWN {
            self.forget();
        }
        Ok(())
    }

    /// What is known may not be true any more.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.changed.clear();
    }
}

pub(super) fn read(conn: &Connection, transcript: &str) -> StoreResult<Head> {
    let sql = "SELECT next_number, last_line, bytes, trimmed_through FROM transcripts WHERE session_id = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Head {
            next_number: row.get(0)?,
            last_line: row.get(1)?,
            bytes: row.get(2)?,
            trimmed_through: row.get(3)?,
        })
    };
    let stored = conn.prepare_cached(sql)?.query_row([transcript], read).optional()?;
    Ok(stored.unwrap_or(Head { next_number: 1, last_line: 0, bytes: 0, trimmed_through: 0 }))
}
