//! What can go wrong with the memory itself. Not found is `Ok(None)`; a lost race is a value.

use std::path::PathBuf;

#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, read-only or broken: nothing was changed, and it may work later.
    #[error("store cannot write: {0}")]
    Unavailable(String),
    /// What is stored cannot be understood.
    #[error("store holds something unreadable: {0}")]
    Corrupt(String),
    /// The store was made by a newer askd.
    #[error("store has schema {found}, this askd knows schemas up to {known}; use a newer askd")]
    TooNew { found: u32, known: u32 },
    /// The last version's redo log has changes that only that version can bring into the database.
    #[error(
        "{} has changes that the database has not: start the last version of askd once on this data folder and stop it \
         cleanly, then start this one",
        .0.display()
    )]
    OldRedoLog(PathBuf),
    /// Where SQLite has another journal, a reader would wait for the writer and the writer for readers.
    #[error(
        "the file system of the store cannot have SQLite's write-ahead log (journal mode is {mode:?}): put the data folder on \
         a local disk"
    )]
    NoWal { mode: String },
    /// The store is being closed.
    #[error("store is closed")]
    Closed,
}

pub type StoreResult<T> = Result<T, StoreError>;
