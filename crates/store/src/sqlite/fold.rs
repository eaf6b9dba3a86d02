//! One fold: durable changes that are given to the database.
//!
//! In: the changes, the connection, and the file of the redo log that has nothing but them. Out: the same with the result. The file is
//! overwritten only after the database has them.

use rusqlite::{Connection, params};

use super::changes;
use super::journal::execute;
use super::redo;
use super::rows::corrupt;
use crate::StoreResult;

/// Durable changes on their way into the database.
pub(super) struct Fold {
    pub(super) conn: Connection,
    pub(super) changes: Vec<u8>,
    pub(super) carried_out: usize,
    /// The number of the last record of the redo log that they are, and what its writer calls this place.
    pub(super) through: u64,
    pub(super) place: u64,
    /// The file that has nothing but them, if there is one.
    pub(super) part: Option<redo::Part>,
    pub(super) result: StoreResult<()>,
}

impl Fold {
    pub(super) fn carry_out(mut self) -> Self {
        self.result = self.try_carry_out();
        if self.result.is_ok() {
            if let Some(Err(error)) = self.part.as_mut().map(redo::Part::restart) {
                tracing::warn!(%error, "could not overwrite what is folded");
            }
        } else if !self.conn.is_autocommit() {
            self.result = execute(&self.conn, "ROLLBACK").and(self.result);
        }
        self
    }

    fn try_carry_out(&self) -> StoreResult<()> {
        let from = if self.conn.is_autocommit() { 0 } else { self.carried_out };
        if self.conn.is_autocommit() {
            execute(&self.conn, "BEGIN IMMEDIATE")?;
        }
        let left =
            self.changes.get(from..).ok_or_else(|| corrupt("changes that are carried out and not there"))?;
        changes::carry_out(&self.conn, left)?;
        note_folded(&self.conn, self.through)?;
        execute(&self.conn, "COMMIT")
    }
}

/// The database has the changes of every record up to this one.
pub(super) fn note_folded(conn: &Connection, through: u64) -> StoreResult<()> {
    let sql = "UPDATE meta SET value = ?1 WHERE key = 'folded_through'";
    match conn.prepare_cached(sql)?.execute(params![through.to_string()])? {
        1 => Ok(()),
        _ => Err(corrupt("a store that does not know what is folded")),
    }
}
