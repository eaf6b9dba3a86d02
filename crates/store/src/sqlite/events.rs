//! The event log in SQLite. An event's row holds the changed parts; the ask is read from the question, which
//! never changes.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use askd_core::delivery::Delivery;
use askd_core::outcome::FailedTry;
use askd_core::{EventType, Outcome, Question, QuestionId, Seq, SessionId, Status};

use super::SqliteStore;
use super::rows::{at, corrupt, from_json, parsed, to_json};
use super::writer::Tx;
use crate::StoreResult;
use crate::log::{EventHead, EventLog, LOG_PAGE, LOG_PAGE_BYTES, LoggedEvent, QuestionTold};

/// The parts of a question in an event, beside the ask.
#[derive(Serialize)]
struct Detail<'a> {
    status: Status,
    outcome: Option<&'a Outcome>,
    delivery: Option<&'a Delivery>,
    #[serde(rename = "failedTries", skip_serializing_if = "<[FailedTry]>::is_empty")]
    failed_tries: &'a [FailedTry],
}

pub(super) fn question_detail(question: &Question) -> StoreResult<String> {
    to_json(&Detail {
        status: question.status,
        outcome: question.outcome.as_ref(),
        delivery: question.delivery.as_ref(),
        failed_tries: &question.failed_tries,
    })
}

pub(super) fn insert(
    tx: &mut Tx<'_>,
    head: EventHead,
    question: Option<&QuestionId>,
    session: Option<&SessionId>,
    detail: &str,
) -> StoreResult<()> {
    let sql =
        "INSERT INTO events (seq, kind, at, question_id, session_id, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (question, session) = (question.map(QuestionId::as_str), session.map(SessionId::as_str));
    let EventHead { seq, kind, at } = head;
    tx.change(sql, params![seq, kind.as_str(), at.millis(), question, session, detail])?;
    Ok(())
}

/// The newest number ever given; a number is not given again, whatever the retention deletes.
pub(super) fn newest(conn: &Connection) -> StoreResult<Seq> {
    let sql = "SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(through) FROM skipped), 0), \
               coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'trimmed_through'), 0))";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

fn read(row: &Row<'_>) -> StoreResult<LoggedEvent> {
    let text = |column| row.get_ref(column)?.as_str().map_err(corrupt);
    let optional = |column| row.get::<_, Option<String>>(column);
    let kind = text(1)?;
    let kind = EventType::parse(kind).ok_or_else(|| corrupt(format!("event {kind:?}")))?;
    let head = EventHead { seq: row.get(0)?, kind, at: at(row.get(2)?) };
    let detail = text(3)?;
    let Some(id) = optional(4)? else { return LoggedEvent::of_session(head, from_json(detail)?) };
    #[derive(Deserialize)]
    struct Stands {
        status: Status,
    }
    let told = QuestionTold {
        id: parsed(&id)?,
        seq: row.get(5)?,
        created_at: at(row.get(6)?),
        ask: text(7)?,
        agent: row.get(8)?,
        call_id: optional(9)?,
        session: optional(10)?.as_deref().map(parsed).transpose()?,
        status: from_json::<Stands>(detail)?.status,
        detail,
    };
    LoggedEvent::of_question(head, told)
}

#[async_trait]
impl EventLog for SqliteStore {
    fn identity(&self) -> &str {
        &self.identity.name
    }

    fn is_of_another_store(&self, cursor: Seq) -> bool {
        self.identity.skipped.iter().any(|(after, through)| *after < cursor && cursor < *through)
    }

    fn newest(&self) -> Seq {
        self.tails.log.newest()
    }

    fn watch(&self) -> watch::Receiver<Seq> {
        self.tails.log.watch()
    }

    async fn events_after(&self, after: Seq) -> StoreResult<Vec<Arc<LoggedEvent>>> {
        if let Some(page) = self.tails.log.page(after) {
            return Ok(page);
        }
        // Not beyond the published events, so that no cursor is ever ahead of `newest`.
        let newest = self.tails.log.newest();
        let work = move |conn: &Connection| {
            let sql = "SELECT e.seq, e.kind, e.at, e.detail, e.question_id, q.seq, q.created_at, q.ask, q.agent, q.call_id, \
                       q.session_id \
                       FROM events e LEFT JOIN questions q ON q.id = e.question_id \
                       WHERE e.seq > ?1 AND e.seq <= ?3 ORDER BY e.seq LIMIT ?2";
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query(params![after, LOG_PAGE, newest])?;
            let (mut page, mut bytes) = (Vec::new(), 0);
            while bytes < LOG_PAGE_BYTES
                && let Some(row) = rows.next()?
            {
                let event = read(row)?;
                bytes += event.json.len();
                page.push(Arc::new(event));
            }
            Ok(page)
        };
        self.read(work).await
    }

    async fn trimmed_through(&self) -> StoreResult<Seq> {
        let work = |conn: &Connection| {
            let sql = "SELECT value FROM meta WHERE key = 'trimmed_through'";
            let stored: Option<String> = conn.query_row(sql, [], |row| row.get(0)).optional()?;
            stored.as_deref().map_or(Ok(0), parsed)
        };
        self.read(work).await
    }
}
