//! Reading beside the writer: a few connections, each used by one blocking task at a time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::database::connect;
use crate::{StoreError, StoreResult};

/// Reads at the same time; more would only share the same two cores and page cache.
const READERS: usize = 3;

pub(super) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    turns: Semaphore,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Arc::default(), turns: Semaphore::new(READERS) }
    }

    /// Runs `work` on a connection that sees one consistent snapshot.
    pub(super) async fn read<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        let _turn = self.turns.acquire().await.map_err(|_| StoreError::Closed)?;
        let (path, idle) = (self.path.clone(), Arc::clone(&self.idle));
        let blocking = move || {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let conn = match kept {
                Some(conn) => conn,
                None => connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
            };
            let snapshot = conn.unchecked_transaction()?;
            let result = work(&snapshot);
            drop(snapshot);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
            result
        };
        tokio::task::spawn_blocking(blocking)
            .await
            .map_err(|error| StoreError::Unavailable(error.to_string()))?
    }
}
