//! Rows to values. Text columns that hold JSON are read back into core's types here and nowhere else.

use std::str::FromStr;

use rusqlite::{Connection, OptionalExtension, Row, types::Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use askd_core::delivery::Delivery;
use askd_core::{Ask, Question, QuestionId, SessionId, Status, Timestamp};

use crate::{Record, StoreError, StoreResult};

/// The columns of [`record`], in its order.
macro_rules! columns {
    () => {
        "q.seq, q.id, q.status, q.created_at, q.ask, q.outcome, d.body, q.asker, q.source_id, q.native_id, q.failed_tries"
    };
}

/// Questions, with their deliveries if they have one.
pub(super) const QUESTION: &str =
    concat!("SELECT ", columns!(), " FROM questions q LEFT JOIN deliveries d ON d.question_id = q.id");
/// Questions of a source that ended between two times, without a delivery or with one that has failed. The
/// plus keeps the order of the look-up: a few ends are looked through for their source, never a long history.
pub(super) const ENDED_LAST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM questions q LEFT JOIN deliveries d ON d.question_id = q.id \
     WHERE q.settled_at BETWEEN ?2 AND ?3 AND +q.source_id = ?1 AND (d.state IS NULL OR d.state = 'failed') ORDER BY q.settled_at DESC"
);
/// Deliveries with their questions, and what is only needed to deliver. The cross join keeps the order of the
/// two tables: a few deliveries are looked up in a long history, never the other way round.
pub(super) const DELIVERY: &str = concat!(
    "SELECT ",
    columns!(),
    ", q.native FROM deliveries d CROSS JOIN questions q ON q.id = d.question_id"
);
/// Unfinished deliveries, in the terms of their index.
pub(super) const PENDING: &str = "d.state IN ('queued', 'sent')";

pub(super) fn corrupt(error: impl ToString) -> StoreError {
    StoreError::Corrupt(error.to_string())
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> StoreResult<T> {
    serde_json::from_str(text).map_err(corrupt)
}

pub(super) fn to_json<T: Serialize>(value: &T) -> StoreResult<String> {
    serde_json::to_string(value).map_err(corrupt)
}

pub(super) fn optional_json<T: DeserializeOwned>(text: Option<String>) -> StoreResult<Option<T>> {
    text.as_deref().map(from_json).transpose()
}

pub(super) fn parsed<T: FromStr<Err: ToString>>(text: &str) -> StoreResult<T> {
    text.parse().map_err(|error: T::Err| corrupt(error.to_string()))
}

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(super) fn status(text: &str) -> StoreResult<Status> {
    Status::parse(text).ok_or_else(|| corrupt(format!("status {text:?}")))
}

pub(super) fn record(row: &Row<'_>) -> StoreResult<Record> {
    let text = |column| row.get::<_, String>(column);
    let optional = |column| row.get::<_, Option<String>>(column);
    let question = Question {
        seq: row.get(0)?,
        id: parsed(&text(1)?)?,
        status: status(&text(2)?)?,
        created_at: at(row.get(3)?),
        ask: from_json::<Ask>(&text(4)?)?.into(),
        outcome: optional_json(optional(5)?)?,
        delivery: optional_json::<Delivery>(optional(6)?)?,
        failed_tries: optional_json(optional(10)?)?.unwrap_or_default(),
        road: None,
        agent_times_out_at: None,
    };
    Ok(Record {
        question,
        asker: optional(7)?.as_deref().map(parsed).transpose()?,
        source: optional(8)?.as_deref().map(parsed).transpose()?,
        native_id: optional(9)?,
    })
}

pub(super) fn load(conn: &Connection, id: &QuestionId) -> StoreResult<Option<Record>> {
    let mut statement = conn.prepare_cached(&format!("{QUESTION} WHERE q.id = ?1"))?;
    statement.query_row([id.as_str()], |row| Ok(record(row))).optional()?.transpose()
}

/// The question of a session with this name.
pub(super) fn by_name(
    conn: &Connection,
    session: &SessionId,
    native_id: &str,
) -> StoreResult<Option<QuestionId>> {
    let sql = "SELECT question_id FROM sightings WHERE session_id = ?1 AND native_id = ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let found =
        statement.query_row([session.as_str(), native_id], |row| row.get::<_, String>(0)).optional()?;
    found.as_deref().map(parsed).transpose()
}

/// Every row of a query through `read`.
pub(super) fn rows<T>(
    conn: &Connection,
    sql: &str,
    params: &[Value],
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut found = Vec::new();
    let mut rows = statement.query(rusqlite::params_from_iter(params))?;
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

pub(super) fn text(value: impl ToString) -> Value {
    Value::Text(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How SQLite would carry out `sql` on an empty store.
    fn plan(sql: &str) -> String {
        let conn = Connection::open_in_memory().unwrap();
        super::super::database::migrate(&conn, 0).unwrap();
        let steps =
            rows(&conn, &format!("EXPLAIN QUERY PLAN {sql}"), &[], |row| Ok(row.get::<_, String>(3)?));
        steps.unwrap().join("; ")
    }

    #[test]
    fn a_long_history_is_never_searched_for_what_is_under_way() {
        for sql in [
            format!("{DELIVERY} WHERE q.source_id = 'x' AND {PENDING} ORDER BY q.seq"),
            format!("{DELIVERY} WHERE q.session_id = 'x' AND {PENDING} ORDER BY q.seq"),
            format!("{DELIVERY} WHERE d.source_id = 'x' AND {PENDING} AND d.state = 'sent' ORDER BY q.seq"),
            format!("{DELIVERY} WHERE {PENDING} AND d.claim_owner IS NOT NULL ORDER BY q.seq"),
            format!("SELECT min(d.not_before) FROM deliveries d WHERE d.source_id = 'x' AND {PENDING}"),
        ] {
            let plan = plan(&sql);
            assert!(plan.contains("d USING INDEX deliveries_") && !plan.contains("SCAN q"), "{sql}: {plan}");
        }
        let open =
            plan(&format!("{QUESTION} WHERE q.status = 'x' AND +q.agent = 'y' ORDER BY q.seq DESC LIMIT 9"));
        assert!(open.contains("questions_by_status"), "{open}");
        let ended = plan(&ENDED_LAST.replace("?1", "'x'").replace("?2", "1").replace("?3", "2"));
        assert!(ended.contains("q USING INDEX questions_by_settling"), "{ended}");
    }
}
