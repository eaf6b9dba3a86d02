//! Lists of questions: filters and words to the SQL of one page.

use rusqlite::Connection;
use rusqlite::types::Value;

use askd_core::search::Wanted;
use askd_core::{Question, Seq, Status};

use super::events;
use super::rows::{QUESTION, record, rows, text};
use crate::StoreResult;
use crate::questions::{Order, QuestionFilter, QuestionPage};

/// The first questions with the words. SQLite itself knows capitals of ASCII only and ends a text at its
/// first NUL.
fn holding(
    conn: &Connection,
    sql: &str,
    values: &[Value],
    wanted: &Wanted,
    enough: usize,
) -> StoreResult<Vec<Question>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let mut found = Vec::new();
    while found.len() < enough
        && let Some(row) = rows.next()?
    {
        let question = record(row)?.question;
        if wanted.is_in(&question.ask, question.outcome.as_ref()) {
            found.push(question);
        }
    }
    Ok(found)
}

pub(super) fn list(
    conn: &Connection,
    filter: &QuestionFilter,
    order: Order,
    after: Option<Seq>,
    limit: usize,
) -> StoreResult<QuestionPage> {
    let mut conditions = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let mut add = |condition: &str, value: Value| {
        values.push(value);
        conditions.push(format!("{condition} ?{}", values.len()));
    };
    if let Some(status) = filter.status {
        add("q.status =", text(status.as_str()));
    }
    if let Some(agent) = &filter.agent {
        // An agent's open questions are few in a long history: they are found by their status.
        let open = filter.status == Some(Status::Requested);
        add(if open { "+q.agent =" } else { "q.agent =" }, text(agent));
    }
    if let Some(session) = &filter.session {
        add("q.session_id =", text(session));
    }
    if let Some(call_id) = &filter.call_id {
        add("q.call_id =", text(call_id));
    }
    if let Some(settled) = filter.settled {
        add(if settled { "q.status <>" } else { "q.status =" }, text(Status::Requested.as_str()));
    }
    if let Some(project) = &filter.project {
        add("q.ask ->> '$.context.cwd' =", text(project));
    }
    if let Some(since) = filter.since {
        add("q.created_at >=", Value::Integer(since.millis()));
    }
    if let Some(until) = filter.until {
        add("q.created_at <", Value::Integer(until.millis()));
    }
    let (compare, direction) = match order {
        Order::Desc => ("q.seq <", "DESC"),
        Order::Asc => ("q.seq >", "ASC"),
    };
    if let Some(after) = after {
        add(compare, Value::Integer(i64::try_from(after).unwrap_or(i64::MAX)));
    }
    let sql = format!("{QUESTION} WHERE {} ORDER BY q.seq {direction}", conditions.join(" AND "));
    // One row more than the page shows whether there is another page.
    let enough = limit.saturating_add(1);
    let mut questions = match &filter.text {
        Some(words) => holding(conn, &sql, &values, &Wanted::new(words), enough)?,
        None => rows(conn, &format!("{sql} LIMIT {enough}"), &values, |row| Ok(record(row)?.question))?,
    };
    let more = questions.len() > limit;
    questions.truncate(limit);
    let next = questions.last().filter(|_| more).map(|question| question.seq);
    Ok(QuestionPage { questions, next, seq: events::newest(conn)? })
}
