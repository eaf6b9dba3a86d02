//! Opens the store: settings of SQLite, numbered migrations, identity.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use askd_core::Timestamp;

use crate::seal::Sealer;
use crate::tokens::TokenRecord;
use crate::{StoreError, StoreResult};

use super::identity::Identity;
use super::readers::Readers;
use super::transaction::Tails;
use super::writer::{Tx, Writer};
use super::{backup, events, identity, tokens};

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
    include_str!("../../migrations/0009_plain.sql"),
    include_str!("../../migrations/0010_copies.sql"),
    include_str!("../../migrations/0011_retention.sql"),
    include_str!("../../migrations/0012_session_names.sql"),
];
/// The endings of files in which the last version kept changes for its database.
const REDO_LOG: [&str; 2] = ["redo", "redo2"];
/// Settings of the writer's connection, each with its reason.
const SETTINGS: &str = "
    -- Every commit is synced before a caller is told of it.
    PRAGMA synchronous = FULL;
    -- About 4 MB of log: a checkpoint is short, and a disk that is nearly full is not filled by the log.
    PRAGMA wal_autocheckpoint = 1000;
    -- After a burst, or a long read that held up the checkpoints, the log's file gets smaller again.
    PRAGMA journal_size_limit = 16777216;
    -- What is deleted, sealed secrets among it, is overwritten.
    PRAGMA secure_delete = ON;
    -- The savepoints of jobs are in memory, and the pages of a transaction are written by its COMMIT: so a full disk fails a COMMIT,
    -- never a statement in the middle of a transaction.
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_spill = OFF;
";
/// Prepared statements of each connection.
const STATEMENTS: usize = 64;

pub struct SqliteStore {
    pub(super) writer: tokio::sync::RwLock<Option<Writer>>,
    pub(super) readers: Readers,
    pub(super) tails: Arc<Tails>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) tokens: Arc<RwLock<HashMap<[u8; 32], TokenRecord>>>,
    pub(super) identity: Identity,
    pub(super) path: PathBuf,
    pub(super) backups: Arc<tokio::sync::Mutex<()>>,
    /// When the last question ended, before this store was opened.
    pub(super) last_end: Option<Timestamp>,
}

impl SqliteStore {
    /// Opens or makes the store in `path`. `key` seals secret answers.
    pub fn open(path: &Path, key: &[u8; 32]) -> StoreResult<Self> {
        keep_private(path)?;
        let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // This comes first, so that a newer askd's store stays unchanged.
        let schema = schema(&conn)?;
        refuse_redo_log(path)?;
        give_back_pages(&conn, schema)?;
        use_wal(&conn)?;
        conn.execute_batch(SETTINGS)?;
        migrate(&conn, schema)?;
        remove_redo_log(path);
        backup::remove_leftover(path);
        let identity = identity::establish(&conn, path)?;
        let tails = Arc::new(Tails::starting_after(events::newest(&conn)?));
        let tokens = tokens::load(&conn)?;
        let open =
            conn.query_row("SELECT count(*) FROM questions WHERE status = 'requested'", [], |row| {
                row.get(0)
            })?;
        let last_end = "SELECT max(settled_at) FROM questions WHERE settled_at IS NOT NULL";
        let last_end = conn.query_row(last_end, [], |row| row.get::<_, Option<i64>>(0))?;
        let sealer = Arc::new(Sealer::new(key));
        let leave = {
            let path = path.to_owned();
            move |conn: &Connection| identity::leave(conn, &path)
        };
        let writer = Writer::start(conn, Arc::clone(&tails), Arc::clone(&sealer), open, leave)?;
        let readers = Readers::new(path.to_owned());
        Ok(Self {
            writer: tokio::sync::RwLock::new(Some(writer)),
            readers,
            tails,
            sealer,
            tokens: Arc::new(RwLock::new(tokens)),
            identity,
            path: path.to_owned(),
            backups: Arc::default(),
            last_end: last_end.map(Timestamp::from_millis),
        })
    }

    /// Runs `work` on a snapshot with everything that any caller was told before.
    pub(super) async fn read<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        self.readers.read(work).await
    }

    /// Runs `work` in the next group commit; if it fails, it undoes only itself.
    pub(super) async fn write<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> StoreResult<T> + Send + 'static,
    {
        match &*self.writer.read().await {
            Some(writer) => writer.run(work).await,
            None => Err(StoreError::Closed),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one door to SQLite")]
pub(super) fn connect(path: &Path, flags: OpenFlags) -> StoreResult<Connection> {
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement is planned once: by default SQLite plans it anew for each value that it is carried out
    // with.
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

/// The last version kept its newest changes in a redo log of its own, which this version cannot read. It
/// overwrites the log with zeros when it stops.
fn refuse_redo_log(path: &Path) -> StoreResult<()> {
    for ending in REDO_LOG {
        let log = path.with_extension(ending);
        match std::fs::read(&log) {
            Ok(bytes) if bytes.iter().any(|byte| *byte != 0) => return Err(StoreError::OldRedoLog(log)),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Only after the migration: from then on the last version does not open this store.
fn remove_redo_log(path: &Path) {
    for ending in REDO_LOG {
        // Without records the file means nothing, so a remaining one does no harm.
        drop(std::fs::remove_file(path.with_extension(ending)));
    }
}

/// Free pages can be given back to the disk only by a database that was made so, or made anew.
fn give_back_pages(conn: &Connection, schema: u32) -> StoreResult<()> {
    const INCREMENTAL: u32 = 2;
    let mode: u32 = conn.query_row("PRAGMA auto_vacuum", [], |row| row.get(0))?;
    if mode != INCREMENTAL {
        conn.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
        if schema > 0 {
            conn.execute_batch("VACUUM")?;
        }
    }
    Ok(())
}

/// If SQLite cannot use WAL, it returns its present journal mode without an error.
fn use_wal(conn: &Connection) -> StoreResult<()> {
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" { Ok(()) } else { Err(StoreError::NoWal { mode }) }
}

/// The schema's number, if this askd knows it.
pub(super) fn schema(conn: &Connection) -> StoreResult<u32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_cannot_have_a_write_ahead_log_is_refused() {
        // A database in memory cannot have one; neither can one on a file system without shared memory.
        let conn = Connection::open_in_memory().unwrap();
        let error = use_wal(&conn).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the file system of the store cannot have SQLite's write-ahead log (journal mode is \"memory\"): \
             put the data folder on a local disk"
        );
    }
}
