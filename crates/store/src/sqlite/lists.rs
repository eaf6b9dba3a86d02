//! Lists of questions: filters and words to the SQL of one page.

use rusqlite::Connection;
use rusqlite::types::Value;

use askd_core::{Seq, Status};

use super::events;
use super::rows::{QUESTION, record, rows, text};
use crate::StoreResult;
use crate::questions::{Order, QuestionFilter, QuestionPage};

/// What people wrote or read, in question and outcome; names of fields, ids and words of the protocol do not count.
const SAYS: &str = "(SELECT group_concat(t.value, char(10)) FROM (SELECT key, value, type, path FROM json_tree(q.ask) \
     UNION ALL SELECT key, value, type, path FROM json_tree(q.outcome)) t WHERE t.type = 'text' AND t.path <> '$.rejectModes' AND \
     t.key NOT IN ('sessionId', 'kind', 'format', 'input', 'status', 'surface', 'type', 'mode', 'at', 'deadline', 'messageId', \
     'callId')) LIKE";

/// Makes `%`, `_` and the escape itself ordinary characters.
fn escape_like(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
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
    if let Some(wanted) = &filter.text {
        values.push(text(format!("%{}%", escape_like(wanted))));
        conditions.push(format!("{SAYS} ?{} ESCAPE '\\'", values.len()));
    }
    let sql = format!(
        "{} WHERE {} ORDER BY q.seq {direction} LIMIT {}",
        QUESTION,
        conditions.join(" AND "),
        limit.saturating_add(1)
    );
    let mut questions = rows(conn, &sql, &values, |row| Ok(record(row)?.question))?;
    let more = questions.len() > limit;
    questions.truncate(limit);
    let next = questions.last().filter(|_| more).map(|question| question.seq);
    Ok(QuestionPage { questions, next, seq: events::newest(conn)? })
}
