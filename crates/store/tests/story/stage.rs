//! Where the story is played: a store that can be made fresh and opened again. One `impl` per store, and
//! nothing else of it.

use std::sync::Arc;

use askd_store::Store;
use askd_store::sqlite::SqliteStore;
use tempfile::TempDir;

/// The key that seals secret answers on every stage.
pub(crate) const KEY: [u8; 32] = [7; 32];

pub(crate) trait Stage: Sized + Send + Sync + 'static {
    type Store: Store + 'static;

    /// A new, empty store.
    fn fresh() -> impl Future<Output = Self> + Send;

    /// Closes the store and opens the same one again.
    fn reopen(&mut self) -> impl Future<Output = ()> + Send;

    fn store(&self) -> &Arc<Self::Store>;

    /// Everything that the store has kept, as raw bytes.
    fn bytes(&self) -> impl Future<Output = Vec<u8>> + Send;
}

pub(crate) struct SqliteStage {
    folder: TempDir,
    store: Arc<SqliteStore>,
}

impl SqliteStage {
    fn open(folder: &TempDir) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(&folder.path().join("askd.db"), &KEY).unwrap())
    }
}

impl Stage for SqliteStage {
    type Store = SqliteStore;

    async fn fresh() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Self::open(&folder);
        Self { folder, store }
    }

    async fn reopen(&mut self) {
        askd_store::Questions::close(&*self.store).await;
        self.store = Self::open(&self.folder);
    }

    fn store(&self) -> &Arc<SqliteStore> {
        &self.store
    }

    async fn bytes(&self) -> Vec<u8> {
        let mut files: Vec<_> =
            std::fs::read_dir(self.folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files.iter().flat_map(|file| std::fs::read(file).unwrap()).collect()
    }
}
