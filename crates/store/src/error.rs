//! Failures of the store itself. Not found is `Ok(None)`; a lost race is a value.

use std::path::PathBuf;

#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, read-only or broken: nothing was changed, and it may work later.
    #[error("store cannot write: {0}")]
    Unavailable(String),
    /// Stored data cannot be parsed.
    #[error("store holds something unreadable: {0}")]
    Corrupt(String),
    /// The store was made by a newer askd.
    #[error("store has schema {found}, this askd knows schemas up to {known}; use a newer askd")]
    TooNew { found: u32, known: u32 },
    /// The last version's redo log has changes for the database that only that version can apply.
    #[error(
        "{} has changes that the database has not: start the last version of askd once on this data folder and stop it \
         cleanly, then start this one",
        .0.display()
    )]
    OldRedoLog(PathBuf),
    /// With another journal mode, readers and the writer would wait for each other.
    #[error(
        "the file system of the store cannot have SQLite's write-ahead log (journal mode is {mode:?}): put the data folder on \
         a local disk"
    )]
    NoWal { mode: String },
    #[error("the search did not come to its end in time; narrow it by agent, project or days")]
    SearchTooLong,
    /// The store is being closed.
    #[error("store is closed")]
    Closed,
}

pub type StoreResult<T> = Result<T, StoreError>;
