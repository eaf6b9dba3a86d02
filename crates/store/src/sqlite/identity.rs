//! The identity of a store: recognises a database that is a copy in the place of another.
//!
//! In: the database, and a small file beside it. Out: the store's identity. A copy gets a new one, and its
//! event log and transcripts continue far behind every number that the original may have given since: it
//! recognises a client's old cursor, and that reader misses nothing of the new life.
//!
//! The database and the file share a random word, which changes at each start and each clean stop. A database
//! that was copied before the last change has an older word, one that was moved alone has no file beside it,
//! and a copy by askd has a mark. Two copies are not recognised: the whole folder with its file, and a copy
//! that returns after a crash of the very run in which it was made.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use askd_core::Seq;

use super::events;
use super::rows::rows;
use crate::{StoreError, StoreResult};

/// More events than any store has ever given, and so small that thousands of copies of copies still count in
/// 53 bits.
const SKIP_AT_LEAST: u64 = 1 << 40;
/// Two stores opened from one copy must not give the same numbers either: each skips as many again, at
/// random.
const SKIP_AT_RANDOM: u64 = 1 << 40;

pub(super) struct Identity {
    pub(super) name: String,
    /// The skipped numbers: after the first, before the second.
    pub(super) skipped: Vec<(Seq, Seq)>,
}

fn get(conn: &Connection, key: &str) -> StoreResult<Option<String>> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    Ok(conn.query_row(sql, [key], |row| row.get(0)).optional()?)
}

fn set(conn: &Connection, key: &str, value: &str) -> StoreResult<()> {
    let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
    conn.execute(sql, params![key, value])?;
    Ok(())
}

fn random<const BYTES: usize>() -> StoreResult<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    Ok(bytes)
}

fn random_word() -> StoreResult<String> {
    Ok(random::<6>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Marks a copy for the hub that opens it.
pub(super) fn mark_copy(conn: &Connection) -> StoreResult<()> {
    set(conn, "copied", "1")
}

/// Gives the database its identity, a new one if it is a copy.
pub(super) fn establish(conn: &Connection, database: &Path) -> StoreResult<Identity> {
    let file = database.with_extension("identity");
    let kept = match std::fs::read_to_string(&file) {
        Ok(words) => words,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    let known = get(conn, "identity")?;
    let opening = get(conn, "opening")?;
    let is_other = opening.is_some_and(|opening| kept.lines().all(|word| word != opening));
    let is_copy = known.is_some() && (is_other || get(conn, "copied")?.is_some());
    let transaction = conn.unchecked_transaction()?;
    let name = match known.filter(|_| !is_copy) {
        Some(name) => name,
        None => random_word()?,
    };
    if is_copy {
        tracing::warn!("the store is a copy of another moment: clients that knew it then begin anew");
        skip(conn)?;
    }
    set(conn, "identity", &name)?;
    conn.execute("DELETE FROM meta WHERE key = 'copied'", [])?;
    transaction.commit()?;
    new_word(conn, &file)?;
    let skipped =
        rows(conn, "SELECT after, through FROM skipped", &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Identity { name, skipped })
}

fn skip(conn: &Connection) -> StoreResult<()> {
    let newest = events::newest(conn)?;
    let skip = SKIP_AT_LEAST + u64::from_le_bytes(random()?) % SKIP_AT_RANDOM;
    conn.execute("INSERT INTO skipped (after, through) VALUES (?1, ?2)", params![newest, newest + skip])?;
    conn.execute("UPDATE transcripts SET next_number = next_number + ?1", params![skip])?;
    Ok(())
}

/// A new word for the database and its file: every copy that was made before is found out. The file has both
/// words until the database has the new one, so that a crash between the two changes nothing.
fn new_word(conn: &Connection, file: &Path) -> StoreResult<()> {
    let (word, before) = (random_word()?, get(conn, "opening")?.unwrap_or_default());
    write_file(file, &format!("{word}\n{before}\n"))?;
    set(conn, "opening", &word)?;
    write_file(file, &format!("{word}\n"))
}

fn write_file(file: &Path, words: &str) -> StoreResult<()> {
    let beside = file.with_extension("identity-new");
    let mut options = File::options();
    let mut new = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    new.write_all(words.as_bytes())?;
    new.sync_all()?;
    std::fs::rename(&beside, file)?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}

/// At a clean stop: a copy that was made while this run lasted is another moment from now on.
pub(super) fn leave(conn: &Connection, database: &Path) -> StoreResult<()> {
    new_word(conn, &database.with_extension("identity"))
}
