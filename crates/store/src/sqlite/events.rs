//! The log in SQLite. An event's row holds what changed; what was asked is read from the question, which never changes.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use askd_core::delivery::Delivery;
use askd_core::{Event, EventType, Outcome, Question, QuestionId, Seq, SessionId, Status, Timestamp};

use super::SqliteStore;
use super::rows::{at, corrupt, from_json, parsed, to_json};
use crate::StoreResult;
use crate::log::{EventLog, LOG_PAGE, LoggedEvent};

/// What an event says about its question, beside what was asked.
#[derive(Serialize, Deserialize)]
struct Detail {
    status: Status,
    outcome: Option<Outcome>,
    delivery: Option<Delivery>,
}

pub(super) fn question_detail(question: &Question) -> StoreResult<String> {
    to_json(&Detail {
        status: question.status,
        outcome: question.outcome.clone(),
        delivery: question.delivery.clone(),
    })
}

pub(super) fn insert(
    conn: &Connection,
    kind: EventType,
    at: Timestamp,
    question: Option<&QuestionId>,
    session: Option<&SessionId>,
    detail: &str,
) -> StoreResult<Seq> {
    let sql = "INSERT INTO events (kind, at, question_id, session_id, detail) VALUES (?1, ?2, ?3, ?4, ?5)";
    let (question, session) = (question.map(QuestionId::as_str), session.map(SessionId::as_str));
    conn.prepare_cached(sql)?.execute(params![kind.as_str(), at.millis(), question, session, detail])?;
    Ok(conn.last_insert_rowid().unsigned_abs())
}

/// The newest number ever given; a number is not given again, whatever the retention deletes.
pub(super) fn newest(conn: &Connection) -> StoreResult<Seq> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'events'";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
}

fn read(row: &Row<'_>) -> StoreResult<LoggedEvent> {
    let kind: String = row.get(1)?;
    let kind = EventType::parse(&kind).ok_or_else(|| corrupt(format!("event {kind:?}")))?;
    let detail: String = row.get(3)?;
    let question_id: Option<String> = row.get(4)?;
    let mut event = Event { seq: row.get(0)?, kind, at: at(row.get(2)?), question: None, session: None };
    if let Some(id) = question_id {
        let detail: Detail = from_json(&detail)?;
        let ask: String = row.get(7)?;
        event.question = Some(Question {
            id: parsed(&id)?,
            ask: from_json(&ask)?,
            status: detail.status,
            outcome: detail.outcome,
            delivery: detail.delivery,
            created_at: at(row.get(6)?),
            seq: row.get(5)?,
            road: None,
        });
    } else {
        event.session = Some(from_json(&detail)?);
    }
    LoggedEvent::new(&event)
}

#[async_trait]
impl EventLog for SqliteStore {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn newest(&self) -> Seq {
        self.tail.newest()
    }

    fn watch(&self) -> watch::Receiver<Seq> {
        self.tail.watch()
    }

    async fn events_after(&self, after: Seq) -> StoreResult<Vec<Arc<LoggedEvent>>> {
        if let Some(page) = self.tail.page(after) {
            return Ok(page);
        }
        // Not beyond what is published, so that no cursor is ever ahead of `newest`.
        let newest = self.tail.newest();
        let work = move |conn: &Connection| {
            let sql = "SELECT e.seq, e.kind, e.at, e.detail, e.question_id, q.seq, q.created_at, q.ask \
                       FROM events e LEFT JOIN questions q ON q.id = e.question_id \
                       WHERE e.seq > ?1 AND e.seq <= ?3 ORDER BY e.seq LIMIT ?2";
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query(params![after, LOG_PAGE, newest])?;
            let mut page = Vec::new();
            while let Some(row) = rows.next()? {
                page.push(Arc::new(read(row)?));
            }
            Ok(page)
        };
        self.readers.read(work).await
    }

    async fn trimmed_through(&self) -> StoreResult<Seq> {
        let work = |conn: &Connection| {
            let sql = "SELECT value FROM meta WHERE key = 'trimmed_through'";
            let stored: Option<String> = conn.query_row(sql, [], |row| row.get(0)).optional()?;
            stored.as_deref().map_or(Ok(0), parsed)
        };
        self.readers.read(work).await
    }
}
