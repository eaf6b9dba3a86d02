//! Idempotency keys in SQLite: the request of each key.

use rusqlite::{OptionalExtension, params};

use askd_core::{QuestionId, Timestamp};

use super::rows::{load, parsed};
use super::writer::Tx;
use crate::StoreResult;
use crate::questions::{Idempotency, Record};

/// The earlier use of a key.
pub(super) enum KeyUse {
    Fresh,
    Repeated(Box<Record>),
    Reused,
}

pub(super) fn key_use(tx: &mut Tx<'_>, idempotency: Option<&Idempotency>) -> StoreResult<KeyUse> {
    let Some(given) = idempotency else { return Ok(KeyUse::Fresh) };
    let sql = "SELECT digest, question_id FROM idempotency WHERE token_id = ?1 AND key = ?2";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?));
    let found =
        tx.conn.prepare_cached(sql)?.query_row(params![given.token.as_str(), given.key], read).optional()?;
    match found {
        None => Ok(KeyUse::Fresh),
        Some((digest, _)) if digest != kept_digest(tx, given) => Ok(KeyUse::Reused),
        // The question may have been pruned since; then the key is as good as new.
        Some((_, id)) => {
            Ok(load(tx.conn, &parsed(&id)?)?.map_or(KeyUse::Fresh, |found| KeyUse::Repeated(Box::new(found))))
        }
    }
}

/// A request may contain a secret answer; with a plain digest, a reader of the file could try answers.
fn kept_digest(tx: &Tx<'_>, given: &Idempotency) -> [u8; 32] {
    tx.sealer.mac(&given.key, &given.digest)
}

pub(super) fn remember_key(
    tx: &mut Tx<'_>,
    idempotency: Option<&Idempotency>,
    id: &QuestionId,
    at: Timestamp,
) -> StoreResult<()> {
    let Some(given) = idempotency else { return Ok(()) };
    let sql = "INSERT OR REPLACE INTO idempotency (token_id, key, digest, question_id, at) VALUES (?1, ?2, ?3, ?4, ?5)";
    let (token, id) = (given.token.as_str(), id.as_str());
    let digest = kept_digest(tx, given);
    tx.change(sql, params![token, given.key, digest, id, at.millis()])?;
    Ok(())
}
