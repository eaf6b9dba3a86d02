//! Changes of the database, written down so that they can be carried out later, and again.
//!
//! In: statements with their values. Out: the same statements, carried out on a connection in their order. A statement depends on
//! nothing but the database and its values, so the same changes lead to the same database.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use super::rows::corrupt;
use crate::StoreResult;

/// What stands before a value.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const INTEGER: u8 = 1;
    pub(super) const REAL: u8 = 2;
    pub(super) const TEXT: u8 = 3;
    pub(super) const BLOB: u8 = 4;
}

/// Writes a statement and its values down.
pub(super) fn write(changes: &mut Vec<u8>, sql: &str, values: &[&dyn ToSql]) -> StoreResult<()> {
    put(changes, sql.as_bytes())?;
    changes.push(u8::try_from(values.len()).map_err(corrupt)?);
    for value in values {
        match value.to_sql()? {
            ToSqlOutput::Borrowed(value) => put_value(changes, value)?,
            ToSqlOutput::Owned(value) => put_value(changes, (&value).into())?,
            _ => return Err(corrupt("a value that cannot be written down")),
        }
    }
    Ok(())
}

fn put(changes: &mut Vec<u8>, bytes: &[u8]) -> StoreResult<()> {
    changes.extend(u32::try_from(bytes.len()).map_err(corrupt)?.to_le_bytes());
    changes.extend(bytes);
    Ok(())
}

fn put_value(changes: &mut Vec<u8>, value: ValueRef<'_>) -> StoreResult<()> {
    match value {
        ValueRef::Null => changes.push(tag::NULL),
        ValueRef::Integer(value) => {
            changes.push(tag::INTEGER);
            changes.extend(value.to_le_bytes());
        }
        ValueRef::Real(value) => {
            changes.push(tag::REAL);
            changes.extend(value.to_le_bytes());
        }
        ValueRef::Text(text) => {
            changes.push(tag::TEXT);
            put(changes, text)?;
        }
        ValueRef::Blob(bytes) => {
            changes.push(tag::BLOB);
            put(changes, bytes)?;
        }
    }
    Ok(())
}

/// Carries changes out, in their order; gives how many rows they changed.
pub(super) fn carry_out(conn: &Connection, changes: &[u8]) -> StoreResult<usize> {
    let mut left = Left(changes);
    let mut changed = 0;
    while !left.0.is_empty() {
        let mut statement = conn.prepare_cached(std::str::from_utf8(left.bytes()?).map_err(corrupt)?)?;
        for place in 1..=usize::from(left.array::<1>()?[0]) {
            statement.raw_bind_parameter(place, ToSqlOutput::Borrowed(left.value()?))?;
        }
        changed += statement.raw_execute()?;
    }
    Ok(changed)
}

/// Changes that have not been read yet.
struct Left<'a>(&'a [u8]);

impl<'a> Left<'a> {
    fn take(&mut self, count: usize) -> StoreResult<&'a [u8]> {
        let (taken, left) =
            self.0.split_at_checked(count).ok_or_else(|| corrupt("changes that end too early"))?;
        self.0 = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> StoreResult<[u8; N]> {
        self.take(N)?.try_into().map_err(corrupt)
    }

    fn bytes(&mut self) -> StoreResult<&'a [u8]> {
        let count = u32::from_le_bytes(self.array()?);
        self.take(usize::try_from(count).map_err(corrupt)?)
    }

    fn value(&mut self) -> StoreResult<ValueRef<'a>> {
        Ok(match self.array::<1>()?[0] {
            tag::NULL => ValueRef::Null,
            tag::INTEGER => ValueRef::Integer(i64::from_le_bytes(self.array()?)),
            tag::REAL => ValueRef::Real(f64::from_le_bytes(self.array()?)),
            tag::TEXT => ValueRef::Text(self.bytes()?),
            tag::BLOB => ValueRef::Blob(self.bytes()?),
            other => return Err(corrupt(format!("a value of the kind {other}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::params;

    use super::*;

    fn database() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE t (a, b, c, d, e)").unwrap();
        conn
    }

    #[test]
    fn what_was_written_down_is_carried_out() {
        let mut changes = Vec::new();
        let insert = "INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5)";
        write(&mut changes, insert, params![None::<i64>, i64::MIN, 0.1, "w\u{f6}rd\0s", [0_u8, 255]])
            .unwrap();
        write(&mut changes, insert, params!["", "", "", "", ""]).unwrap();
        write(&mut changes, "DELETE FROM t WHERE a = ?1", params![""]).unwrap();
        let conn = database();
        assert_eq!(carry_out(&conn, &changes).unwrap(), 3);
        let found: (Option<i64>, i64, f64, String, Vec<u8>) = conn
            .query_row("SELECT * FROM t", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .unwrap();
        assert_eq!(found, (None, i64::MIN, 0.1, "w\u{f6}rd\0s".to_owned(), vec![0, 255]));
    }

    #[test]
    fn anything_else_is_an_error() {
        let mut changes = Vec::new();
        write(&mut changes, "INSERT INTO t (a) VALUES (?1)", params!["value"]).unwrap();
        for cut in 1..changes.len() {
            assert!(carry_out(&database(), &changes[..cut]).is_err(), "{cut}");
        }
        for place in 0..changes.len() {
            let mut other = changes.clone();
            other[place] ^= 0x80;
            // Must not panic; most are errors.
            drop(carry_out(&database(), &other));
        }
    }
}
