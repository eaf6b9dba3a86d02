//! Copies of the database by SQLite's own backup, in one step: a snapshot, beside readers and the writer.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::database::{connect, schema};
use super::{SqliteStore, identity};
use crate::maintenance::Maintenance;
use crate::{StoreError, StoreResult};

/// The path of a copy in progress; the file is removed as soon as it is open.
fn beside(database: &Path) -> PathBuf {
    database.with_extension("backup")
}

/// Removes the file of a backup that a kill interrupted.
pub(super) fn remove_leftover(database: &Path) {
    let beside = beside(database);
    drop(std::fs::remove_file(beside.with_extension("backup-journal")));
    drop(std::fs::remove_file(beside));
}

/// Copies the present state of `from` into a new file for its owner alone, and marks it as a copy.
fn copy(from: &Connection, to: &Path) -> StoreResult<()> {
    File::options().write(true).create_new(true).mode(0o600).open(to)?;
    let mut copied = connect(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let backup = Backup::new(from, &mut copied)?;
    if backup.step(-1)? != StepResult::Done {
        return Err(StoreError::Unavailable("the database is locked by another program".to_owned()));
    }
    drop(backup);
    // One file, without SQLite's log beside it.
    copied.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    identity::mark_copy(&copied)?;
    copied.close().map_err(|(_, error)| error)?;
    File::open(to)?.sync_all()?;
    Ok(())
}

/// Puts a copy of a store into `to`, which must not exist. A file of another kind, or of a newer askd, is
/// refused.
pub fn restore(from: &Path, to: &Path) -> StoreResult<()> {
    let source = connect(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found = schema(&source)?;
    let is_whole: String = source.query_row("PRAGMA quick_check", [], |row| row.get(0))?;
    if found == 0 || is_whole != "ok" {
        return Err(StoreError::Corrupt(format!("{} is no whole store of askd", from.display())));
    }
    let made = copy(&source, to);
    if made.is_err() {
        drop(std::fs::remove_file(to));
    }
    made
}

#[async_trait]
impl Maintenance for SqliteStore {
    async fn backup(&self) -> StoreResult<File> {
        // One at a time: each needs as much of the disk as the store has.
        let turn = std::sync::Arc::clone(&self.backups).lock_owned().await;
        let database = self.path.clone();
        let made = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            remove_leftover(&database);
            let from = connect(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let to = beside(&database);
            let copied = copy(&from, &to).and_then(|()| Ok(File::open(&to)?));
            remove_leftover(&database);
            copied
        });
        made.await.map_err(|error| StoreError::Unavailable(error.to_string()))?
    }
}
