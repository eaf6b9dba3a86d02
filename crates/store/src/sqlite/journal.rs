//! SQLite with a redo log before it.
//!
//! In: changes. Out: they are durable by one record of the log and one fsync, and SQLite carries them out afterwards, in a transaction
//! that stays open for many commits. To **fold** is to end it: then the database has them, for other connections too. Where nobody waits for
//! it, that is done beside the commits that follow, in a thread of its own; a commit waits for it only if it needs the database itself.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ToSql};

use super::changes;
use super::fold::{Fold, note_folded};
use super::redo::{REDO_BYTES, Redo};
use super::rows::{corrupt, parsed};
use crate::{StoreError, StoreResult};

/// A commit that is quick enough for a thread that has other things to do.
const QUICK: Duration = Duration::from_millis(1);

pub(super) struct Journal {
    /// None while it is given to the thread that folds.
    conn: Option<Connection>,
    folds: Sender<Fold>,
    folded: Receiver<Fold>,
    redo: Redo,
    /// The changes since the last fold began, in their order: first those that are durable, then those of the commit that is being made.
    changes: Vec<u8>,
    durable: usize,
    /// How many of these bytes SQLite has carried out.
    carried_out: usize,
    /// Room for the changes after those that are being folded.
    spare: Vec<u8>,
    /// The rows that this has changed, by SQLite's count.
    rows_changed: u64,
    /// After a fold that is known to have failed no commit is begun until one succeeds.
    last_fold: StoreResult<()>,
    /// Up to where the database has everything, until somebody asks for it.
    newly_folded: Option<u64>,
}

/// A place among the changes of a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(usize);

impl Journal {
    pub(super) fn new(conn: Connection, redo: Redo) -> StoreResult<Self> {
        let rows_changed = conn.total_changes();
        let (folds, to_fold) = channel::<Fold>();
        let (done, folded) = channel();
        // Whoever gave it may have gone.
        let run = move || to_fold.into_iter().map(Fold::carry_out).for_each(|fold| drop(done.send(fold)));
        thread::Builder::new().name("askd-folder".to_owned()).spawn(run)?;
        Ok(Self {
            conn: Some(conn),
            folds,
            folded,
            redo,
            changes: Vec::new(),
            durable: 0,
            carried_out: 0,
            spare: Vec::new(),
            rows_changed,
            last_fold: Ok(()),
            newly_folded: None,
        })
    }

    /// The connection. If it is being folded, that is waited for.
    fn conn(&mut self) -> StoreResult<&Connection> {
        if self.conn.is_none() {
            match self.folded.recv() {
                Ok(fold) => self.end_fold(fold),
                Err(_) => self.last_fold = Err(StoreError::Closed),
            }
        }
        self.conn.as_ref().ok_or(StoreError::Closed)
    }

    /// The database with all changes so far. To be read only: what is not written here is lost in a crash.
    pub(super) fn read(&mut self) -> StoreResult<&Connection> {
        self.look_back()?;
        if self.carried_out < self.changes.len() {
            self.begin()?;
            let conn = self.conn.as_ref().ok_or(StoreError::Closed)?;
            let changed = changes::carry_out(conn, &self.changes[self.carried_out..]);
            let changed = changed.or_else(|error| self.roll_back().and(Err(error)))?;
            self.rows_changed += changed as u64;
            self.carried_out = self.changes.len();
        }
        self.conn()
    }

    /// What SQLite has carried out is nothing once its transaction has ended: by a fold, or because SQLite has undone it by itself.
    fn look_back(&mut self) -> StoreResult<()> {
        if self.conn()?.is_autocommit() {
            self.carried_out = 0;
        }
        Ok(())
    }

    /// The database, perhaps without durable changes that wait.
    pub(super) fn peek(&mut self) -> StoreResult<&Connection> {
        self.look_back()?;
        if self.changes.len() > self.durable.max(self.carried_out) { self.read() } else { self.conn() }
    }

    fn begin(&mut self) -> StoreResult<()> {
        let conn = self.conn()?;
        if conn.is_autocommit() { execute(conn, "BEGIN IMMEDIATE") } else { Ok(()) }
    }

    /// Changes the database. It must be certain that SQLite can carry it out.
    pub(super) fn write(&mut self, sql: &str, values: &[&dyn ToSql]) -> StoreResult<()> {
        changes::write(&mut self.changes, sql, values)
    }

    /// Changes the database at once, and says how many rows.
    pub(super) fn change(&mut self, sql: &str, values: &[&dyn ToSql]) -> StoreResult<usize> {
        self.read()?;
        self.begin()?;
        let changed = self.conn()?.prepare_cached(sql)?.execute(values)?;
        if changed > 0 {
            changes::write(&mut self.changes, sql, values)?;
            self.rows_changed += changed as u64;
            self.carried_out = self.changes.len();
        }
        Ok(changed)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.changes.len() - self.durable)
    }

    /// Begins a part that can be undone by itself, whatever of it was carried out.
    pub(super) fn begin_part(&mut self) -> StoreResult<Mark> {
        self.read()?;
        self.begin()?;
        execute(self.conn()?, "SAVEPOINT part")?;
        Ok(self.mark())
    }

    pub(super) fn end_part(&mut self) -> StoreResult<()> {
        execute(self.conn()?, "RELEASE part")
    }

    pub(super) fn undo_part(&mut self, since: Mark) -> StoreResult<()> {
        self.changes.truncate(self.durable + since.0);
        let conn = self.conn()?;
        let undone = execute(conn, "ROLLBACK TO part").and_then(|()| execute(conn, "RELEASE part"));
        if undone.is_err() {
            // SQLite may have undone its whole transaction by itself.
            return self.roll_back();
        }
        self.rows_changed = conn.total_changes();
        self.carried_out = self.changes.len();
        Ok(())
    }

    /// Whether everything that SQLite has changed is written down.
    fn is_written_down(&self) -> bool {
        self.conn.as_ref().is_none_or(|conn| conn.total_changes() == self.rows_changed)
    }

    /// Whether a commit may be begun.
    pub(super) fn ready(&self) -> StoreResult<()> {
        self.last_fold.clone()
    }

    /// Makes the changes of this commit durable.
    pub(super) fn commit(&mut self) -> StoreResult<()> {
        if !self.is_written_down() {
            return Err(StoreError::Unavailable("a change was made that is not written down".to_owned()));
        }
        if self.changes.is_empty() {
            // A transaction that was only read in.
            return self.roll_back();
        }
        if self.durable == self.changes.len() {
            return Ok(());
        }
        self.redo.append(&self.changes[self.durable..])?;
        self.durable = self.changes.len();
        Ok(())
    }

    /// Undoes the changes of a commit that did not become durable.
    pub(super) fn undo(&mut self) -> StoreResult<()> {
        self.changes.truncate(self.durable);
        let is_clean = self.carried_out <= self.durable && self.is_written_down();
        if is_clean && !self.changes.is_empty() { Ok(()) } else { self.roll_back() }
    }

    fn roll_back(&mut self) -> StoreResult<()> {
        self.carried_out = 0;
        if let Some(conn) = &self.conn {
            if !conn.is_autocommit()
                && let Err(error) = execute(conn, "ROLLBACK")
            {
                // What SQLite has now is not known: nothing is committed before it is undone.
                self.last_fold = Err(error.clone());
                return Err(error);
            }
            self.rows_changed = conn.total_changes();
        }
        Ok(())
    }

    pub(super) fn is_folded(&self) -> bool {
        self.changes.is_empty() && !self.is_folding() && !self.redo.has_ghost()
    }

    pub(super) fn is_folding(&self) -> bool {
        self.conn.is_none()
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.last_fold.is_err()
    }

    /// Whether so much waits that the next thing to do is a fold.
    pub(super) fn is_full(&self) -> bool {
        self.redo.is_full()
    }

    /// Whether a commit takes about as long as waking another thread twice.
    pub(super) fn is_quick(&self) -> bool {
        !self.is_stuck() && self.redo.last_took() < QUICK
    }

    /// Folds SQLite's own log into the database, too.
    pub(super) fn close(&mut self) {
        let checkpoint = |conn: &Connection| Ok(conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?);
        if let Err(error) = self.conn().and_then(checkpoint) {
            tracing::warn!(%error, "could not fold the write-ahead log into the store");
        }
    }

    /// Begins to give all durable changes to the database, after a fold that is under way. Nothing but durable changes must be there.
    /// `place` is for `newly_folded`.
    pub(super) fn begin_fold(&mut self, place: u64) -> StoreResult<()> {
        self.conn()?;
        if self.is_stuck() {
            self.roll_back()?;
        }
        if self.is_folded() {
            self.last_fold = Ok(());
            return Ok(());
        }
        let Some(conn) = self.conn.take() else { return Ok(()) };
        let fold = Fold {
            conn,
            changes: std::mem::replace(&mut self.changes, std::mem::take(&mut self.spare)),
            carried_out: self.carried_out,
            through: self.redo.through(),
            place,
            part: self.redo.turn_over(),
            result: Ok(()),
        };
        (self.durable, self.carried_out) = (0, 0);
        let has_own_part = fold.part.is_some();
        self.folds.send(fold).map_err(|_| StoreError::Closed)?;
        // Without a file of its own nothing may be stored beside it: that would be overwritten with it.
        if has_own_part { Ok(()) } else { self.conn().map(drop) }
    }

    fn end_fold(&mut self, fold: Fold) {
        let Fold { conn, mut changes, part, result, place, through, .. } = fold;
        self.rows_changed = conn.total_changes();
        self.conn = Some(conn);
        let has_own_part = part.is_some();
        part.into_iter().for_each(|part| self.redo.give_back(part));
        if result.is_ok() {
            self.newly_folded = Some(place);
            self.redo.folded(through);
            changes.clear();
            changes.shrink_to(2 * REDO_BYTES);
            self.spare = changes;
            if !has_own_part && let Err(error) = self.redo.restart() {
                tracing::warn!(%error, "could not overwrite what is folded");
            }
        } else {
            tracing::error!(?result, "what is stored could not be folded; trying again");
            // It still waits, before all that came since.
            self.durable += changes.len();
            changes.append(&mut self.changes);
            self.changes = changes;
        }
        self.last_fold = result;
    }

    /// Up to which place a fold has given the database everything, if one has ended since this was last asked.
    pub(super) fn newly_folded(&mut self) -> Option<u64> {
        if self.conn.is_none() {
            match self.folded.try_recv() {
                Ok(fold) => self.end_fold(fold),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => {
                    if !self.is_stuck() {
                        tracing::error!("nothing can be folded any more: start the hub again");
                    }
                    self.last_fold = Err(StoreError::Closed);
                }
            }
        }
        self.newly_folded.take()
    }

    /// Gives all durable changes to the database, and waits for it.
    pub(super) fn fold(&mut self, place: u64) -> StoreResult<()> {
        self.begin_fold(place)?;
        self.conn()?;
        self.last_fold.clone()
    }
}

pub(super) fn execute(conn: &Connection, sql: &str) -> StoreResult<()> {
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
        let failed = |error| {
            corrupt(format!("{} and the file beside it cannot be carried out: {error}", path.display()))
        };
        changes::carry_out(conn, &changes).map_err(failed)?;
        note_folded(conn, redo.through())?;
        execute(conn, "COMMIT")?;
    }
    redo.restart()?;
    redo.sync()?;
    Ok(redo)
}

#[cfg(test)]
mod tests;
