//! Sources and sessions in SQLite.

use async_trait::async_trait;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};

use askd_core::delivery::DeliveryInput;
use askd_core::{
    By, Cause, EventType, Resolution, Session, SessionId, Source, SourceId, SourceState, Timestamp,
};

use super::rows::{
    DELIVERY, PENDING, QUESTION, at, corrupt, optional_json, parsed, record, rows, text, to_json,
};
use super::transcripts::Ends;
use super::writer::Tx;
use super::{SqliteStore, settle, transcripts};
use crate::sessions::{SessionSeen, Sessions, SourceRecord};
use crate::{NewEntry, StoreResult};

const SESSION: &str = "SELECT id, source_id, agent, native_id, cwd, title, parent_id, live, pid, managed, started_at, \
     ended_at, ending, tmux FROM sessions";
const SOURCE: &str = "SELECT id, kind, agent, label, state, since, last_error, settings FROM sources";

fn state_text(state: SourceState) -> &'static str {
    match state {
        SourceState::Connecting => "connecting",
        SourceState::Connected => "connected",
        SourceState::Lost => "lost",
        SourceState::Ended => "ended",
    }
}

fn state_of(text: &str) -> StoreResult<SourceState> {
    [SourceState::Connecting, SourceState::Connected, SourceState::Lost, SourceState::Ended]
        .into_iter()
        .find(|state| state_text(*state) == text)
        .ok_or_else(|| corrupt(format!("source state {text:?}")))
}

fn read_source(row: &Row<'_>) -> StoreResult<SourceRecord> {
    let source = Source {
        id: parsed(&row.get::<_, String>(0)?)?,
        kind: row.get(1)?,
        agent: row.get(2)?,
        label: row.get(3)?,
        state: state_of(&row.get::<_, String>(4)?)?,
        since: at(row.get(5)?),
        last_error: row.get(6)?,
    };
    Ok(SourceRecord { source, settings: row.get(7)? })
}

fn read_session(row: &Row<'_>) -> StoreResult<Session> {
    Ok(Session {
        id: parsed(&row.get::<_, String>(0)?)?,
        source_id: parsed(&row.get::<_, String>(1)?)?,
        agent: row.get(2)?,
        native_id: row.get(3)?,
        cwd: row.get(4)?,
        title: row.get(5)?,
        parent_id: row.get::<_, Option<String>>(6)?.as_deref().map(parsed).transpose()?,
        live: row.get(7)?,
        pid: row.get(8)?,
        managed: row.get(9)?,
        started_at: at(row.get(10)?),
        ended_at: row.get::<_, Option<i64>>(11)?.map(at),
        end: optional_json(row.get(12)?)?,
        tmux: row.get(13)?,
        activity: None,
    })
}

fn one<T>(
    conn: &Connection,
    sql: &str,
    values: &[Value],
    read: fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Option<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    statement.query_row(rusqlite::params_from_iter(values), |row| Ok(read(row))).optional()?.transpose()
}

fn load_source(conn: &Connection, id: &SourceId) -> StoreResult<Option<SourceRecord>> {
    one(conn, &format!("{SOURCE} WHERE id = ?1"), &[text(id)], read_source)
}

fn load_session(conn: &Connection, id: &SessionId) -> StoreResult<Option<Session>> {
    one(conn, &format!("{SESSION} WHERE id = ?1"), &[text(id)], read_session)
}

fn set_state(
    tx: &mut Tx<'_>,
    id: &SourceId,
    state: SourceState,
    error: Option<&str>,
    at: Timestamp,
) -> StoreResult<Option<Source>> {
    // Gone for good is for good: the last task of a source may speak after it was ended.
    let sql = "UPDATE sources SET state = ?2, since = iif(state = ?2, since, ?3), last_error = coalesce(?4, last_error) \
               WHERE id = ?1 AND state <> 'ended'";
    tx.change(sql, params![id.as_str(), state_text(state), at.millis(), error])?;
    Ok(load_source(tx.conn, id)?.map(|record| record.source))
}

fn see(tx: &mut Tx<'_>, seen: SessionSeen) -> StoreResult<Session> {
    let find = format!("{SESSION} WHERE source_id = ?1 AND native_id = ?2");
    let known = one(tx.conn, &find, &[text(&seen.source), text(&seen.native_id)], read_session)?;
    let news = known.as_ref().is_none_or(|session| !session.live);
    let id = match known {
        Some(known) => {
            // The process of an ended session is gone, and its number may be another's by now.
            let sql = "UPDATE sessions SET cwd = coalesce(?2, cwd), title = coalesce(?3, title), \
                       parent_id = coalesce(?4, parent_id), pid = coalesce(?5, iif(live, pid, NULL)), live = 1, \
                       ended_at = NULL, ending = NULL WHERE id = ?1";
            let parent = seen.parent.as_ref().map(SessionId::as_str);
            tx.change(sql, params![known.id.as_str(), seen.cwd, seen.title, parent, seen.pid])?;
            known.id
        }
        None => {
            let sql = "INSERT INTO sessions (id, source_id, agent, native_id, cwd, title, parent_id, live, pid, managed, \
                       started_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?9, ?10)";
            tx.change(
                sql,
                params![
                    seen.id.as_str(),
                    seen.source.as_str(),
                    seen.agent,
                    seen.native_id,
                    seen.cwd,
                    seen.title,
                    seen.parent.as_ref().map(SessionId::as_str),
                    seen.pid,
                    seen.managed,
                    seen.at.millis()
                ],
            )?;
            seen.id
        }
    };
    let session = load_session(tx.conn, &id)?.ok_or_else(|| corrupt("a session that was just stored"))?;
    if news {
        tx.log_session(EventType::SessionStarted, seen.at, &session)?;
    }
    Ok(session)
}

/// Open questions end with the cause; answers that are still on their way cannot arrive any more.
fn end_questions(
    tx: &mut Tx<'_>,
    condition: &str,
    id: Value,
    cause: &Cause,
    at: Timestamp,
) -> StoreResult<()> {
    let open = format!("{QUESTION} WHERE {condition} AND q.status = 'requested' ORDER BY q.seq");
    for record in rows(tx.conn, &open, std::slice::from_ref(&id), record)? {
        settle::resolve(tx, record, &Resolution::Cancel(cause.clone()), By::hub(), at, None)?;
    }
    let pending = format!("{DELIVERY} WHERE {condition} AND {PENDING} ORDER BY q.seq");
    let gone = DeliveryInput::AgentGone { detail: Some(describe(cause)) };
    for record in rows(tx.conn, &pending, &[id], record)? {
        settle::step(tx, &record.question, &gone, at)?;
    }
    Ok(())
}

fn describe(cause: &Cause) -> String {
    match cause {
        Cause::AgentExited { code: Some(code), .. } => format!("the agent exited with code {code}"),
        Cause::AgentExited { signal: Some(signal), .. } => format!("the agent was ended by signal {signal}"),
        Cause::AgentExited { .. } => "the agent exited".to_owned(),
        Cause::SourceLost { .. } => "the source was lost".to_owned(),
        _ => "the session ended".to_owned(),
    }
}

fn end_session(
    tx: &mut Tx<'_>,
    id: &SessionId,
    cause: &Cause,
    at: Timestamp,
) -> StoreResult<Option<Session>> {
    let Some(session) = load_session(tx.conn, id)? else { return Ok(None) };
    // Of an ended session too: its last words may have been read after its end was seen.
    end_questions(tx, "q.session_id = ?1", text(id), cause, at)?;
    if !session.live {
        return Ok(Some(session));
    }
    let sql = "UPDATE sessions SET live = 0, ended_at = ?2, ending = ?3 WHERE id = ?1";
    tx.change(sql, params![id.as_str(), at.millis(), to_json(cause)?])?;
    let session = Session { live: false, ended_at: Some(at), end: Some(cause.clone()), ..session };
    tx.log_session(EventType::SessionEnded, at, &session)?;
    Ok(Some(session))
}

#[async_trait]
impl Sessions for SqliteStore {
    async fn add_source(&self, record: SourceRecord) -> StoreResult<()> {
        self.write(move |tx| {
            let sql = "INSERT INTO sources (id, kind, agent, label, state, since, last_error, settings) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            let SourceRecord { source, settings } = record;
            tx.change(
                sql,
                params![
                    source.id.as_str(),
                    source.kind,
                    source.agent,
                    source.label,
                    state_text(source.state),
                    source.since.millis(),
                    source.last_error,
                    settings
                ],
            )?;
            Ok(())
        })
        .await
    }

    async fn set_source_state(
        &self,
        id: &SourceId,
        state: SourceState,
        error: Option<String>,
        at: Timestamp,
    ) -> StoreResult<Option<Source>> {
        let id = id.clone();
        self.write(move |tx| set_state(tx, &id, state, error.as_deref(), at)).await
    }

    async fn set_source_settings(&self, id: &SourceId, settings: String) -> StoreResult<()> {
        let id = id.clone();
        self.write(move |tx| {
            let sql = "UPDATE sources SET settings = ?2 WHERE id = ?1";
            tx.change(sql, params![id.as_str(), settings])?;
            Ok(())
        })
        .await
    }

    async fn source(&self, id: &SourceId) -> StoreResult<Option<SourceRecord>> {
        let id = id.clone();
        self.read(move |conn| load_source(conn, &id)).await
    }

    async fn sources(&self) -> StoreResult<Vec<SourceRecord>> {
        self.read(|conn| rows(conn, &format!("{SOURCE} ORDER BY id DESC"), &[], read_source)).await
    }

    async fn see_session(&self, seen: SessionSeen) -> StoreResult<Session> {
        self.write(move |tx| see(tx, seen)).await
    }

    async fn name_session(&self, id: &SessionId, native_id: &str) -> StoreResult<Option<Session>> {
        let (id, native_id) = (id.clone(), native_id.to_owned());
        self.write(move |tx| {
            let sql = "UPDATE sessions SET native_id = ?2 WHERE id = ?1";
            tx.change(sql, params![id.as_str(), native_id])?;
            load_session(tx.conn, &id)
        })
        .await
    }

    async fn set_tmux(&self, id: &SessionId, tmux: bool) -> StoreResult<Option<Session>> {
        let id = id.clone();
        self.write(move |tx| {
            tx.change("UPDATE sessions SET tmux = ?2 WHERE id = ?1", params![id.as_str(), tmux])?;
            load_session(tx.conn, &id)
        })
        .await
    }

    async fn sessions_of_source(&self, source: &SourceId) -> StoreResult<Vec<Session>> {
        let source = text(source);
        let sql = format!("{SESSION} WHERE source_id = ?1 ORDER BY number");
        self.read(move |conn| rows(conn, &sql, &[source], read_session)).await
    }

    async fn sessions_called(&self, native_id: &str) -> StoreResult<Vec<Session>> {
        let name = Value::Text(native_id.to_owned());
        let sql = format!("{SESSION} WHERE native_id = ?1 ORDER BY number");
        self.read(move |conn| rows(conn, &sql, &[name], read_session)).await
    }

    async fn sessions_by_id(&self, source: &SourceId, ids: &[SessionId]) -> StoreResult<Vec<Session>> {
        let values = [Value::Text(to_json(&ids)?), text(source)];
        let sql = format!(
            "{SESSION} WHERE id IN (SELECT value FROM json_each(?1)) AND source_id = ?2 ORDER BY number"
        );
        self.read(move |conn| rows(conn, &sql, &values, read_session)).await
    }

    async fn session(&self, id: &SessionId) -> StoreResult<Option<Session>> {
        let id = id.clone();
        self.read(move |conn| load_session(conn, &id)).await
    }

    async fn sessions(&self, live: Option<bool>, limit: usize) -> StoreResult<Vec<Session>> {
        self.read(move |conn| {
            let sql = format!("{SESSION} WHERE ?1 IS NULL OR live = ?1 ORDER BY number DESC LIMIT ?2");
            let live = live.map_or(Value::Null, |live| Value::Integer(i64::from(live)));
            rows(conn, &sql, &[live, Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX))], read_session)
        })
        .await
    }

    async fn end_session(&self, id: &SessionId, cause: Cause, at: Timestamp) -> StoreResult<Option<Session>> {
        let id = id.clone();
        self.write(move |tx| end_session(tx, &id, &cause, at)).await
    }

    async fn end_source(
        &self,
        id: &SourceId,
        cause: Cause,
        at: Timestamp,
        told: Option<(SessionId, NewEntry)>,
    ) -> StoreResult<Option<Source>> {
        let id = id.clone();
        self.write(move |tx| {
            let find = format!("{SESSION} WHERE source_id = ?1 AND live = 1 ORDER BY number");
            for session in rows(tx.conn, &find, &[text(&id)], read_session)? {
                end_session(tx, &session.id, &cause, at)?;
            }
            end_questions(tx, "q.source_id = ?1", text(&id), &cause, at)?;
            if let Some((transcript, entry)) = told {
                transcripts::append(tx, transcript, vec![entry], Ends::NoneYet)?;
            }
            set_state(tx, &id, SourceState::Ended, None, at)
        })
        .await
    }
}
