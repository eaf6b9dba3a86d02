//! What can go wrong with the memory itself. Not found is `Ok(None)`; a lost race is a value.

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
    /// The store is being closed.
    #[error("store is closed")]
    Closed,
}

pub type StoreResult<T> = Result<T, StoreError>;
