//! SQLite with a redo log before it.
//!
//! In: changes. Out: they are durable by one record of the log and one fsync, and SQLite carries them out afterwards, in a transaction
//! that stays open for many commits. To **fold** is to end it: then the database has them, for other connections too.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ToSql, params};

use super::changes;
use super::redo::{REDO_BYTES, Redo};
use super::rows::{corrupt, parsed};
use crate::{StoreError, StoreResult};

/// A commit that is quick enough for a thread that has other things to do.
const QUICK: Duration = Duration::from_millis(1);

pub(super) struct Journal {
    conn: Connection,
    redo: Redo,
    /// The changes since the last fold, in their order: first those that are durable, then those of the commit that is being made.
    changes: Vec<u8>,
    durable: usize,
    /// How many of these bytes SQLite has carried out.
    carried_out: usize,
    /// The rows that this has changed, by SQLite's count.
    rows_changed: u64,
    /// After a fold that failed nothing more is taken until one succeeds.
    last_fold: StoreResult<()>,
}

/// A place among the changes of a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(usize);

impl Journal {
    pub(super) fn new(conn: Connection, redo: Redo) -> Self {
        let rows_changed = conn.total_changes();
        Self { conn, redo, changes: Vec::new(), durable: 0, carried_out: 0, rows_changed, last_fold: Ok(()) }
    }

    /// The database with all changes so far. To be read only: what is not written here is lost in a crash.
    pub(super) fn read(&mut self) -> StoreResult<&Connection> {
        if self.carried_out > 0 && self.conn.is_autocommit() {
            // SQLite has undone its transaction by itself.
            self.carried_out = 0;
        }
        if self.carried_out < self.changes.len() {
            self.begin()?;
            let changed = changes::carry_out(&self.conn, &self.changes[self.carried_out..]);
            let changed = changed.or_else(|error| self.roll_back().and(Err(error)))?;
            self.rows_changed += changed as u64;
            self.carried_out = self.changes.len();
        }
        Ok(&self.conn)
    }

    /// The database, perhaps without durable changes that wait.
    pub(super) fn peek(&mut self) -> StoreResult<&Connection> {
        if self.changes.len() > self.durable.max(self.carried_out) { self.read() } else { Ok(&self.conn) }
    }

    fn begin(&self) -> StoreResult<()> {
        if self.conn.is_autocommit() {
            execute(&self.conn, "BEGIN IMMEDIATE")?;
        }
        Ok(())
    }

    /// Changes the database. It must be certain that SQLite can carry it out.
    pub(super) fn write(&mut self, sql: &str, values: &[&dyn ToSql]) -> StoreResult<()> {
        changes::write(&mut self.changes, sql, values)
    }

    /// Changes the database at once, and says how many rows.
    pub(super) fn change(&mut self, sql: &str, values: &[&dyn ToSql]) -> StoreResult<usize> {
        self.read()?;
        self.begin()?;
        let changed = self.conn.prepare_cached(sql)?.execute(values)?;
        if changed > 0 {
            changes::write(&mut self.changes, sql, values)?;
            self.rows_changed += changed as u64;
            self.carried_out = self.changes.len();
        }
        Ok(changed)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.changes.len())
    }

    /// Begins a part that can be undone by itself, whatever of it was carried out.
    pub(super) fn begin_part(&mut self) -> StoreResult<Mark> {
        self.read()?;
        self.begin()?;
        execute(&self.conn, "SAVEPOINT part")?;
        Ok(self.mark())
    }

    pub(super) fn end_part(&self) -> StoreResult<()> {
        execute(&self.conn, "RELEASE part")
    }

    pub(super) fn undo_part(&mut self, since: Mark) -> StoreResult<()> {
        self.changes.truncate(since.0);
        let undone =
            execute(&self.conn, "ROLLBACK TO part").and_then(|()| execute(&self.conn, "RELEASE part"));
        if undone.is_err() {
            // SQLite may have undone its whole transaction by itself.
            return self.roll_back();
        }
        self.carried_out = since.0;
        self.rows_changed = self.conn.total_changes();
        Ok(())
    }

    /// Makes the changes of this commit durable.
    pub(super) fn commit(&mut self) -> StoreResult<()> {
        if self.conn.total_changes() != self.rows_changed {
            return Err(StoreError::Unavailable("a change was made that is not written down".to_owned()));
        }
        if self.changes.is_empty() {
            // A transaction that was only read in.
            return self.roll_back();
        }
        if self.durable == self.changes.len() {
            return Ok(());
        }
        self.last_fold.clone()?;
        self.redo.append(&self.changes[self.durable..])?;
        self.durable = self.changes.len();
        Ok(())
    }

    /// Undoes the changes of a commit that did not become durable.
    pub(super) fn undo(&mut self) -> StoreResult<()> {
        self.changes.truncate(self.durable);
        let is_clean = self.carried_out <= self.durable && self.conn.total_changes() == self.rows_changed;
        if is_clean && !self.changes.is_empty() { Ok(()) } else { self.roll_back() }
    }

    fn roll_back(&mut self) -> StoreResult<()> {
        if !self.conn.is_autocommit() {
            execute(&self.conn, "ROLLBACK")?;
        }
        self.carried_out = 0;
        self.rows_changed = self.conn.total_changes();
        Ok(())
    }

    pub(super) fn is_folded(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.last_fold.is_err()
    }

    /// Whether so much waits that the next thing to do is a fold.
    pub(super) fn is_full(&self) -> bool {
        self.durable > REDO_BYTES
    }

    /// Whether a commit takes about as long as waking another thread twice.
    pub(super) fn is_quick(&self) -> bool {
        !self.is_stuck() && self.redo.last_took() < QUICK
    }

    /// Folds SQLite's own log into the database, too.
    pub(super) fn close(&self) {
        if let Err(error) = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
            tracing::warn!(%error, "could not fold the write-ahead log into the store");
        }
    }

    /// Gives all durable changes to the database. Nothing but durable changes must be there.
    pub(super) fn fold(&mut self) -> StoreResult<()> {
        if self.is_folded() {
            return Ok(());
        }
        self.last_fold = self.try_fold();
        if self.last_fold.is_ok() {
            self.changes.clear();
            (self.durable, self.carried_out) = (0, 0);
            self.redo.restart()?;
        } else {
            self.roll_back()?;
        }
        self.last_fold.clone()
    }

    fn try_fold(&mut self) -> StoreResult<()> {
        self.read()?;
        note_folded(&self.conn, &self.redo)?;
        self.rows_changed = self.conn.total_changes();
        execute(&self.conn, "COMMIT")
    }
}

fn execute(conn: &Connection, sql: &str) -> StoreResult<()> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Opens the redo log, and gives the database what it has not of it.
pub(super) fn recover(conn: &Connection, path: &Path) -> StoreResult<Redo> {
    let sql = "SELECT value FROM meta WHERE key = 'folded_through'";
    let folded_through = conn.query_row(sql, [], |row| row.get::<_, String>(0))?;
    let (mut redo, changes) = Redo::open(path, parsed(&folded_through)?)?;
    if !changes.is_empty() {
        execute(conn, "BEGIN IMMEDIATE")?;
        let failed = |error| corrupt(format!("{} cannot be carried out: {error}", path.display()));
        changes::carry_out(conn, &changes).map_err(failed)?;
        note_folded(conn, &redo)?;
        execute(conn, "COMMIT")?;
    }
    redo.restart()?;
    Ok(redo)
}

/// The database has the changes of every record up to the newest.
fn note_folded(conn: &Connection, redo: &Redo) -> StoreResult<()> {
    let sql = "UPDATE meta SET value = ?1 WHERE key = 'folded_through'";
    match conn.prepare_cached(sql)?.execute(params![redo.newest().to_string()])? {
        1 => Ok(()),
        _ => Err(corrupt("a store that does not know what is folded")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::rows;
    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            let tables = "CREATE TABLE t (n INTEGER PRIMARY KEY); CREATE TABLE meta (key TEXT, value TEXT); \
                          INSERT INTO meta VALUES ('folded_through', '0')";
            place.connect().execute_batch(tables).unwrap();
            place
        }

        #[expect(clippy::disallowed_methods, reason = "a database of its own")]
        fn connect(&self) -> Connection {
            Connection::open(self.0.path().join("db")).unwrap()
        }

        fn open(&self) -> Journal {
            let conn = self.connect();
            let redo = recover(&conn, &self.0.path().join("redo")).unwrap();
            Journal::new(conn, redo)
        }
    }

    fn numbers(conn: &Connection) -> Vec<i64> {
        rows(conn, "SELECT n FROM t ORDER BY n", &[], |row| Ok(row.get(0)?)).unwrap()
    }

    const INSERT: &str = "INSERT INTO t VALUES (?1)";

    fn store(journal: &mut Journal, n: i64) {
        journal.write(INSERT, params![n]).unwrap();
        journal.commit().unwrap();
    }

    #[test]
    fn what_is_durable_is_seen_by_others_once_it_is_folded() {
        let place = Place::new();
        let mut journal = place.open();
        journal.write(INSERT, params![1]).unwrap();
        assert!(numbers(journal.read().unwrap()) == [1]);
        journal.commit().unwrap();
        store(&mut journal, 2);
        assert!(numbers(&place.connect()).is_empty() && !journal.is_folded());
        assert_eq!(numbers(journal.peek().unwrap()), [1], "what is durable may wait");
        assert_eq!(numbers(journal.read().unwrap()), [1, 2]);
        journal.fold().unwrap();
        assert!(numbers(&place.connect()) == [1, 2] && journal.is_folded());
    }

    #[test]
    fn what_is_durable_survives_before_and_after_a_fold() {
        let place = Place::new();
        let mut journal = place.open();
        for n in 1..=3 {
            assert_eq!(journal.change(INSERT, params![n]).unwrap(), 1);
            journal.commit().unwrap();
            if n == 2 {
                journal.fold().unwrap();
            }
        }
        journal.write(INSERT, params![4]).unwrap();
        // Neither closed nor folded, as after a crash; the fourth was not committed.
        drop(journal);
        assert_eq!(numbers(&place.connect()), [1, 2]);
        for _ in 0..2 {
            assert_eq!(numbers(place.open().read().unwrap()), [1, 2, 3]);
        }
        let mut journal = place.open();
        store(&mut journal, 4);
        drop(journal);
        assert_eq!(numbers(place.open().read().unwrap()), [1, 2, 3, 4]);
    }

    #[test]
    fn a_commit_that_is_undone_leaves_what_was_durable() {
        let place = Place::new();
        let mut journal = place.open();
        store(&mut journal, 1);
        journal.change(INSERT, params![2]).unwrap();
        journal.undo().unwrap();
        assert_eq!(numbers(journal.read().unwrap()), [1]);
        let part = journal.begin_part().unwrap();
        journal.change(INSERT, params![3]).unwrap();
        journal.write(INSERT, params![4]).unwrap();
        journal.undo_part(part).unwrap();
        assert_eq!(numbers(journal.read().unwrap()), [1]);
    }

    #[test]
    fn after_a_fold_that_failed_nothing_is_taken_until_one_succeeds() {
        let place = Place::new();
        let mut journal = place.open();
        store(&mut journal, 1);
        // Somebody else writes.
        let other = place.connect();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        journal.conn.busy_timeout(Duration::ZERO).unwrap();
        assert!(journal.fold().is_err() && journal.is_stuck());
        journal.write(INSERT, params![2]).unwrap();
        assert!(journal.commit().is_err());
        journal.undo().unwrap();
        other.execute_batch("ROLLBACK").unwrap();
        journal.fold().unwrap();
        store(&mut journal, 3);
        assert_eq!(numbers(journal.read().unwrap()), [1, 3]);
    }
}
