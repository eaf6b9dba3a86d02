//! Reading beside the writer: a few connections, each used by one blocking task at a time.
//!
//! A read holds its turn until it has ended, whether or not its caller still waits, so that there are never
//! more reads, connections and threads than turns. A read whose caller has gone is interrupted. Searches,
//! which may look through the whole history, have a turn of their own and an end: they hold up each other,
//! never a list.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, InterruptHandle, OpenFlags};
use tokio::sync::Semaphore;

use super::database::connect;
use crate::{StoreError, StoreResult};

/// Reads at the same time; more would only share the same two cores and page cache.
const READERS: usize = 3;
/// Searches at the same time: one keeps a processor busy.
const SEARCHES: usize = 1;
/// When a search gives up: it has looked through some hundred thousand questions by then, and others wait for
/// its turn.
const SEARCH_END: Duration = Duration::from_secs(10);

pub(super) struct Readers {
    path: PathBuf,
    /// At most as many as there are turns.
    idle: Arc<Mutex<Vec<Connection>>>,
    turns: Arc<Semaphore>,
    searches: Arc<Semaphore>,
    search_end: Duration,
}

/// What a caller can still do about its read.
enum Running {
    NotYet,
    Now(InterruptHandle),
    /// It has ended, or its caller has gone.
    Over,
}

/// The caller's side of a read: when it goes away, the read ends.
struct Caller(Arc<Mutex<Running>>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut running = locked(&self.0);
        if let Running::Now(handle) = &*running {
            handle.interrupt();
        }
        *running = Running::Over;
    }
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        let (turns, searches) = (Arc::new(Semaphore::new(READERS)), Arc::new(Semaphore::new(SEARCHES)));
        Self { path, idle: Arc::default(), turns, searches, search_end: SEARCH_END }
    }

    /// Runs `work` on a connection with one consistent snapshot.
    pub(super) async fn read<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        self.run(&self.turns, work).await
    }

    /// The same for work that may look through everything.
    pub(super) async fn search<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        let search = self.run(&self.searches, work);
        tokio::time::timeout(self.search_end, search).await.unwrap_or(Err(StoreError::SearchTooLong))
    }

    async fn run<T, F>(&self, turns: &Arc<Semaphore>, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        let turn = Arc::clone(turns).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let (path, idle) = (self.path.clone(), Arc::clone(&self.idle));
        let running = Arc::new(Mutex::new(Running::NotYet));
        let caller = Caller(Arc::clone(&running));
        let blocking = move || {
            // Given back last, after the connection.
            let _turn = turn;
            let kept = locked(&idle).pop();
            let conn = match kept {
                Some(conn) => conn,
                None => connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
            };
            let result = observed(&conn, &running, work);
            locked(&idle).push(conn);
            result
        };
        let result = tokio::task::spawn_blocking(blocking).await;
        drop(caller);
        result.map_err(|error| StoreError::Unavailable(error.to_string()))?
    }
}

/// Runs `work` where its caller can interrupt it.
fn observed<T>(
    conn: &Connection,
    running: &Mutex<Running>,
    work: impl FnOnce(&Connection) -> StoreResult<T>,
) -> StoreResult<T> {
    let snapshot = conn.unchecked_transaction()?;
    // SQLite forgets an interruption that comes while no statement runs: this one runs until the work has
    // ended.
    let mut pending = snapshot.prepare_cached("SELECT 1 UNION ALL SELECT 2")?;
    let mut pending = pending.query([])?;
    pending.next()?;
    {
        let mut running = locked(running);
        if let Running::Over = &*running {
            return Err(StoreError::Closed);
        }
        *running = Running::Now(conn.get_interrupt_handle());
    }
    let result = work(&snapshot);
    // From here on the connection is another's.
    *locked(running) = Running::Over;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: &str =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    fn endless(conn: &Connection) -> StoreResult<i64> {
        Ok(conn.query_row(ENDLESS, [], |row| row.get(0))?)
    }

    fn readers(folder: &tempfile::TempDir) -> Arc<Readers> {
        let path = folder.path().join("db");
        connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
            .unwrap()
            .execute_batch("CREATE TABLE x (n)")
            .unwrap();
        Arc::new(Readers::new(path))
    }

    #[tokio::test]
    async fn a_read_whose_caller_has_gone_ends_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let readers = readers(&folder);
        for _ in 0..20 {
            let (started, begun) = tokio::sync::oneshot::channel();
            let reading = Arc::clone(&readers);
            let abandoned = tokio::spawn(async move {
                let work = move |conn: &Connection| {
                    started.send(()).unwrap();
                    endless(conn)
                };
                reading.read(work).await
            });
            begun.await.unwrap();
            abandoned.abort();
        }
        // All turns come back, with no more connections than turns.
        let all = readers.turns.acquire_many(u32::try_from(READERS).unwrap()).await.unwrap();
        assert!(locked(&readers.idle).len() <= READERS);
        drop(all);
        assert_eq!(
            readers
                .read(|conn| Ok(conn.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?))
                .await
                .unwrap(),
            1
        );
    }

    #[tokio::test]
    async fn a_search_has_an_end_and_holds_up_no_other_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut readers = readers(&folder);
        Arc::get_mut(&mut readers).unwrap().search_end = Duration::from_millis(50);
        let searches: Vec<_> = (0..6)
            .map(|_| {
                let readers = Arc::clone(&readers);
                tokio::spawn(async move { readers.search(endless).await })
            })
            .collect();
        let one = readers.read(|conn| Ok(conn.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?)).await;
        assert_eq!(one.unwrap(), 1);
        for search in searches {
            assert!(matches!(search.await.unwrap(), Err(StoreError::SearchTooLong)));
        }
        // The last of them is interrupted, and gives its turn back.
        drop(readers.searches.acquire().await.unwrap());
    }
}
