//! Opens the store: settings of SQLite, numbered migrations, identity.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, RwLock};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use askd_core::Timestamp;

use crate::seal::Sealer;
use crate::tokens::TokenRecord;
use crate::{StoreError, StoreResult};

use super::journal;
use super::memory::Memory;
use super::readers::Readers;
use super::writer::{Scope, Tx, Writer};
use super::{events, tokens};

/// The migrations in order; the place in this list is the schema's number.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_start.sql"),
    include_str!("../../migrations/0002_transcripts.sql"),
    include_str!("../../migrations/0003_streams.sql"),
    include_str!("../../migrations/0004_tmux.sql"),
    include_str!("../../migrations/0005_together.sql"),
    include_str!("../../migrations/0006_redo.sql"),
    include_str!("../../migrations/0007_two_logs.sql"),
    include_str!("../../migrations/0008_failed_tries.sql"),
];
/// The first schema with a redo log.
const WITH_REDO: u32 = 6;
/// Prepared statements that each connection keeps.
const STATEMENTS: usize = 64;

pub struct SqliteStore {
    pub(super) writer: tokio::sync::RwLock<Option<Writer>>,
    readers: Readers,
    pub(super) memory: Arc<Memory>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) tokens: Arc<RwLock<HashMap<[u8; 32], TokenRecord>>>,
    pub(super) identity: String,
    /// When the last question ended, before this store was opened.
    pub(super) last_end: Option<Timestamp>,
}

impl SqliteStore {
    /// Opens or makes the store in `path`. `key` seals secret answers.
    pub fn open(path: &Path, key: &[u8; 32]) -> StoreResult<Self> {
        keep_private(path)?;
        let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Asked first, so that a store of a newer askd is left as it is.
        let schema = schema(&conn)?;
        // Every acknowledged change survives a power cut: the redo log is synced at each commit, SQLite's log at each fold. What is
        // deleted is overwritten. Changes that wait for a fold stay in memory, so that they can be read where the disk is full.
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; \
             PRAGMA secure_delete = ON; PRAGMA cache_spill = OFF;",
        )?;
        let redo = path.with_extension("redo");
        if schema >= WITH_REDO {
            // It was written for the schema of its time.
            journal::recover(&conn, &redo)?;
        }
        migrate(&conn, schema)?;
        let redo = journal::recover(&conn, &redo)?;
        let identity = identity(&conn)?;
        let memory = Arc::new(Memory::starting_after(events::newest(&conn)?));
        let tokens = tokens::load(&conn)?;
        let open =
            conn.query_row("SELECT count(*) FROM questions WHERE status = 'requested'", [], |row| {
                row.get(0)
            })?;
        let last_end = "SELECT max(settled_at) FROM questions WHERE settled_at IS NOT NULL";
        let last_end = conn.query_row(last_end, [], |row| row.get::<_, Option<i64>>(0))?;
        let sealer = Arc::new(Sealer::new(key));
        let writer = Writer::start(conn, Arc::clone(&memory), Arc::clone(&sealer), open, redo)?;
        let readers = Readers::new(path.to_owned());
        Ok(Self {
            writer: tokio::sync::RwLock::new(Some(writer)),
            readers,
            memory,
            sealer,
            tokens: Arc::new(RwLock::new(tokens)),
            identity,
            last_end: last_end.map(Timestamp::from_millis),
        })
    }

    /// Runs `work` on a snapshot that has all that anybody was told before.
    pub(super) async fn read<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        if !self.memory.is_folded()
            && let Some(writer) = &*self.writer.read().await
            && writer.fold().await.is_err()
        {
            // A full disk: only the writer's own connection has everything.
            return writer.read(work).await;
        }
        self.readers.read(work).await
    }

    /// Runs `work` in the next group commit; if it fails, it undoes only itself.
    pub(super) async fn write<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> StoreResult<T> + Send + 'static,
    {
        self.write_in(Scope::Own, work).await
    }

    pub(super) async fn write_in<T, F>(&self, scope: Scope, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> StoreResult<T> + Send + 'static,
    {
        match &*self.writer.read().await {
            Some(writer) => writer.run(scope, work).await,
            None => Err(StoreError::Closed),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one door to SQLite")]
pub(super) fn connect(path: &Path, flags: OpenFlags) -> StoreResult<Connection> {
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement is planned once: by default SQLite plans it anew for each value that it is carried out with.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(conn)
}

/// Makes the file for its owner only; SQLite gives the files beside it the same mode.
fn keep_private(path: &Path) -> StoreResult<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let made = std::fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    made.map(drop).map_err(|error| StoreError::Unavailable(error.to_string()))
}

/// The schema's number, if it is one that this askd knows.
fn schema(conn: &Connection) -> StoreResult<u32> {
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let found = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > known { Err(StoreError::TooNew { found, known }) } else { Ok(found) }
}

pub(super) fn migrate(conn: &Connection, from: u32) -> StoreResult<()> {
    for (number, sql) in (1..).zip(MIGRATIONS).skip(from as usize) {
        conn.execute_batch(&format!("BEGIN IMMEDIATE; {sql}\n PRAGMA user_version = {number}; COMMIT;"))
            .inspect_err(|_| drop(conn.execute_batch("ROLLBACK")))?;
    }
    Ok(())
}

/// A random name, made once, so that a cursor of another store is recognised.
fn identity(conn: &Connection) -> StoreResult<String> {
    let stored =
        conn.query_row("SELECT value FROM meta WHERE key = 'identity'", [], |row| row.get(0)).optional()?;
    if let Some(identity) = stored {
        return Ok(identity);
    }
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let identity: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    conn.execute("INSERT INTO meta (key, value) VALUES ('identity', ?1)", params![identity])?;
    Ok(identity)
}
