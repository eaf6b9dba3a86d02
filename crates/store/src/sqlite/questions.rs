//! Questions in SQLite.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use askd_core::{
    Ask, EventType, Outcome, Question, QuestionId, Resolution, Seq, SessionId, Settlement, SourceId, Status,
    Timestamp,
};

use super::keys::{KeyUse, key_use, remember_key};
use super::rows::{ENDED_LAST, QUESTION, by_name, load, parsed, record, rows, text, to_json};
use super::transcripts::{self, Ends};
use super::writer::Tx;
use super::{SqliteStore, lists, retention, settle};
use crate::StoreResult;
use crate::questions::{
    Asked, Expired, MAX_ENDED_LAST, MAX_OPEN_QUESTIONS, NewQuestion, Order, Origin, QuestionFilter,
    QuestionPage, Questions, Record, Resolve, Resolved, Retention, SECRET_RETRY_MS,
};
use crate::transcripts::NewEntry;

/// Stores a question; `json` is its `ask`.
fn ask(tx: &mut Tx<'_>, new: NewQuestion, json: &str) -> StoreResult<Asked> {
    match key_use(tx, new.idempotency.as_ref())? {
        KeyUse::Fresh => {}
        KeyUse::Repeated(found) => return Ok(Asked::Known(found.question)),
        KeyUse::Reused => return Ok(Asked::KeyReused),
    }
    let (asker, source, native_id, is_new, native, road) = match new.origin {
        Origin::Api { asker } => (Some(asker), None, None, true, None, None),
        Origin::Agent { source, native_id, is_new, road, native } => {
            (None, Some(source), Some(native_id), is_new, Some(native), Some(road))
        }
    };
    if let (Some(session), Some(native_id), false) = (&new.ask.session_id, &native_id, is_new)
        && let Some(id) = by_name(tx.conn, session, native_id)?
        && let Some(known) = tx.record(&id)?
    {
        return Ok(Asked::Known(known.question));
    }
    if tx.open_questions >= MAX_OPEN_QUESTIONS {
        return Ok(Asked::TooManyOpen);
    }
    let mut question = Question {
        id: new.id,
        ask: new.ask.into(),
        status: Status::Requested,
        outcome: None,
        delivery: None,
        created_at: new.at,
        seq: 0,
        failed_tries: Vec::new(),
        road: None,
        agent_times_out_at: None,
    };
    tx.log_question(EventType::QuestionRequested, new.at, &mut question, json)?;
    let sql = "INSERT INTO questions (seq, id, status, agent, session_id, source_id, call_id, native_id, asker, created_at, \
               deadline, ask, native) VALUES (?1, ?2, 'requested', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let session = question.ask.session_id.as_ref().map(SessionId::as_str);
    tx.change(
        sql,
        params![
            question.seq,
            question.id.as_str(),
            question.ask.agent,
            session,
            source.as_ref().map(|id| id.as_str()),
            question.ask.call_id(),
            native_id,
            asker.as_ref().map(|id| id.as_str()),
            new.at.millis(),
            question.ask.deadline.map(Timestamp::millis),
            json,
            native,
        ],
    )?;
    if let (Some(session), Some(native_id), Some(road)) = (session, &native_id, &road) {
        sight(tx, session, native_id, road, &question.id)?;
    }
    remember_key(tx, new.idempotency.as_ref(), &question.id, new.at)?;
    tx.open_questions += 1;
    Ok(Asked::New(question))
}

fn sight(
    tx: &mut Tx<'_>,
    session: &str,
    native_id: &str,
    road: &str,
    question: &QuestionId,
) -> StoreResult<()> {
    let sql =
        "INSERT OR IGNORE INTO sightings (session_id, native_id, question_id, road) VALUES (?1, ?2, ?3, ?4)";
    tx.change(sql, params![session, native_id, question.as_str(), road])?;
    Ok(())
}

fn resolve(tx: &mut Tx<'_>, wanted: Resolve) -> StoreResult<Resolved> {
    match key_use(tx, wanted.idempotency.as_ref())? {
        KeyUse::Fresh => {}
        KeyUse::Repeated(found) if found.question.id == wanted.id => {
            return Ok(Resolved::Same(found.question));
        }
        KeyUse::Repeated(_) | KeyUse::Reused => return Ok(Resolved::KeyReused),
    }
    let Some(record) = tx.record(&wanted.id)? else { return Ok(Resolved::NotFound) };
    let resolved =
        settle::resolve(tx, record, &wanted.resolution, wanted.by, wanted.at, wanted.claim.as_ref())?;
    if matches!(resolved, Resolved::Settled(..) | Resolved::Same(_)) {
        remember_key(tx, wanted.idempotency.as_ref(), &wanted.id, wanted.at)?;
    }
    Ok(resolved)
}

/// The native ids of a question: all its names but those that begin with `kept`.
fn call_names(tx: &mut Tx<'_>, id: &QuestionId, kept: &str) -> StoreResult<Vec<(SessionId, String)>> {
    let sql = "SELECT session_id, native_id FROM sightings WHERE question_id = ?1";
    let mut names = rows(tx.conn, sql, &[text(id)], |row| {
        Ok((parsed(&row.get::<_, String>(0)?)?, row.get::<_, String>(1)?))
    })?;
    names.retain(|(_, name)| !name.starts_with(kept));
    Ok(names)
}

fn exchange(
    tx: &mut Tx<'_>,
    one: &QuestionId,
    other: &QuestionId,
    kept: &str,
    at: Timestamp,
) -> StoreResult<()> {
    let names = [call_names(tx, one, kept)?, call_names(tx, other, kept)?];
    let (Some(first), Some(second)) = (load(tx.conn, one)?, load(tx.conn, other)?) else {
        return Ok(());
    };
    let tools = [first.question.ask.tool.clone(), second.question.ask.tool.clone()];
    let [of_one, of_other] = names;
    let [tool_of_one, tool_of_other] = tools;
    for (record, names, tool) in [(first, of_other, tool_of_other), (second, of_one, tool_of_one)] {
        let mut question = record.question;
        // The only change of an ask: its call.
        let ask = Ask { tool, ..(*question.ask).clone() };
        question.ask = ask.into();
        let json = to_json(&question.ask)?;
        // Without a native id it keeps its first name, if that is a kept one.
        let named = names.first().map(|(_, name)| name.clone());
        let native_id = named.or(record.native_id.filter(|name| name.starts_with(kept)));
        let native_id = native_id.unwrap_or_else(|| question.id.to_string());
        let sql = "UPDATE questions SET ask = ?2, call_id = ?3, native_id = ?4 WHERE id = ?1";
        tx.change(sql, params![question.id.as_str(), json, question.ask.call_id(), native_id])?;
        for (session, name) in names {
            let sql = "UPDATE sightings SET question_id = ?3 WHERE session_id = ?1 AND native_id = ?2";
            tx.change(sql, params![session.as_str(), name, question.id.as_str()])?;
        }
        tx.log_change(EventType::QuestionUpdated, at, &mut question)?;
    }
    Ok(())
}

#[async_trait]
impl Questions for SqliteStore {
    async fn ask(&self, new: NewQuestion) -> StoreResult<Asked> {
        let json = to_json(&new.ask)?;
        self.write(move |tx| ask(tx, new, &json)).await
    }

    async fn ask_in(
        &self,
        new: NewQuestion,
        transcript: &SessionId,
        said: Vec<NewEntry>,
    ) -> StoreResult<Asked> {
        let (json, transcript) = (to_json(&new.ask)?, transcript.clone());
        self.write(move |tx| {
            let asked = ask(tx, new, &json)?;
            match asked {
                Asked::New(_) => transcripts::append(tx, transcript, said, Ends::NoneYet)?,
                Asked::Known(_) => transcripts::append(tx, transcript, said, Ends::Perhaps)?,
                // A question that is not stored must not be visible.
                Asked::KeyReused | Asked::TooManyOpen => {}
            }
            Ok(asked)
        })
        .await
    }

    async fn resolve(&self, wanted: Resolve) -> StoreResult<Resolved> {
        self.write(move |tx| resolve(tx, wanted)).await
    }

    async fn sight(
        &self,
        session: &SessionId,
        native_id: &str,
        road: &str,
        question: &QuestionId,
    ) -> StoreResult<()> {
        let (session, native_id, road, question) =
            (session.clone(), native_id.to_owned(), road.to_owned(), question.clone());
        self.write(move |tx| {
            if by_name(tx.conn, &session, &native_id)?.is_none() {
                sight(tx, session.as_str(), &native_id, &road, &question)?;
            }
            Ok(())
        })
        .await
    }

    async fn exchange_calls(
        &self,
        one: &QuestionId,
        other: &QuestionId,
        kept: &'static str,
        at: Timestamp,
    ) -> StoreResult<()> {
        let (one, other) = (one.clone(), other.clone());
        self.write(move |tx| exchange(tx, &one, &other, kept, at)).await
    }

    async fn sighted(&self, questions: &[QuestionId], road: &str) -> StoreResult<HashSet<QuestionId>> {
        let (questions, road) = (questions.to_vec(), road.to_owned());
        let sql = "SELECT EXISTS (SELECT 1 FROM sightings WHERE question_id = ?1 AND road = ?2)";
        let read = move |conn: &Connection| {
            let mut sight = conn.prepare_cached(sql)?;
            let mut sighted = HashSet::new();
            for question in questions {
                if sight.query_row(params![question.as_str(), road], |row| row.get(0))? {
                    sighted.insert(question);
                }
            }
            Ok(sighted)
        };
        self.read(read).await
    }

    async fn question(&self, id: &QuestionId) -> StoreResult<Option<Record>> {
        let id = id.clone();
        self.read(move |conn| load(conn, &id)).await
    }

    async fn question_by_native(&self, session: &SessionId, native_id: &str) -> StoreResult<Option<Record>> {
        let (session, native_id) = (session.clone(), native_id.to_owned());
        self.read(move |conn| match by_name(conn, &session, &native_id)? {
            Some(id) => load(conn, &id),
            None => Ok(None),
        })
        .await
    }

    async fn ended_last(&self, source: &SourceId, within: Duration) -> StoreResult<Vec<Question>> {
        let within = i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
        let Some(last) = self.last_end.map(Timestamp::millis) else { return Ok(Vec::new()) };
        let values = [text(source), Value::Integer(last.saturating_sub(within)), Value::Integer(last)];
        let sql = format!("{ENDED_LAST} LIMIT {MAX_ENDED_LAST}");
        self.read(move |conn| rows(conn, &sql, &values, |row| Ok(record(row)?.question))).await
    }

    async fn open_of_source(&self, source: &SourceId) -> StoreResult<Vec<Record>> {
        let sql = format!("{QUESTION} WHERE q.source_id = ?1 AND q.status = 'requested' ORDER BY q.seq");
        let source = text(source);
        self.read(move |conn| rows(conn, &sql, &[source], record)).await
    }

    async fn native(&self, id: &QuestionId) -> StoreResult<Option<String>> {
        let id = id.clone();
        self.read(move |conn| settle::native(conn, &id)).await
    }

    async fn reveal(&self, id: &QuestionId, at: Timestamp) -> StoreResult<Option<Outcome>> {
        let id = id.clone();
        self.write(move |tx| {
            let Some(question) = load(tx.conn, &id)?.map(|record| record.question) else {
                return Ok(None);
            };
            let (asked, Some(outcome)) = (question.ask, question.outcome) else { return Ok(None) };
            let sealer = tx.sealer;
            let Settlement::Answered(answer) = settle::settlement(tx.conn, sealer, &id, &outcome)? else {
                return Ok(Some(outcome));
            };
            let sql = "UPDATE secrets SET read_at = coalesce(read_at, ?2) WHERE question_id = ?1 \
                       AND (read_at IS NULL OR read_at >= ?3)";
            let oldest = at.plus_millis(-SECRET_RETRY_MS).millis();
            let kept = tx.change(sql, params![id.as_str(), at.millis(), oldest])? > 0;
            if !kept {
                return Ok(Some(outcome));
            }
            let items = asked.questions.iter().map(Some).chain(std::iter::repeat(None));
            let whole = answer.answers.iter().zip(items).map(|(answer, item)| answer.shown(item)).collect();
            let notes = Some(answer.notes).filter(|notes| notes.iter().any(Option::is_some));
            Ok(Some(Outcome { answers: Some(whole), notes, withheld: Vec::new(), ..outcome }))
        })
        .await
    }

    async fn list(
        &self,
        filter: QuestionFilter,
        order: Order,
        after: Option<Seq>,
        limit: usize,
    ) -> StoreResult<QuestionPage> {
        let is_search = filter.text.is_some();
        let work = move |conn: &Connection| lists::list(conn, &filter, order, after, limit);
        let page = if is_search { self.readers.search(work).await } else { self.readers.read(work).await }?;
        // A commit can be read a moment before it is published; a stream from here on must not be ahead of
        // the log.
        self.tails.log.published(page.seq).await;
        Ok(page)
    }

    async fn next_deadline(&self) -> StoreResult<Option<Timestamp>> {
        let sql = "SELECT min(deadline) FROM questions WHERE deadline IS NOT NULL AND status = 'requested'";
        let read = move |conn: &Connection| Ok(conn.query_row(sql, [], |row| row.get::<_, Option<i64>>(0))?);
        Ok(self.read(read).await?.map(Timestamp::from_millis))
    }

    async fn expire_due(&self, now: Timestamp) -> StoreResult<Vec<Expired>> {
        self.write(move |tx| {
            let sql = format!(
                "{QUESTION} WHERE q.deadline <= ?1 AND q.status = 'requested' ORDER BY q.deadline, q.seq"
            );
            let due = rows(tx.conn, &sql, &[Value::Integer(now.millis())], record)?;
            let mut expired = Vec::new();
            for record in due {
                let source = record.source.clone();
                if let Resolved::Settled(question, _) =
                    settle::resolve(tx, record, &Resolution::Expire, askd_core::By::hub(), now, None)?
                {
                    expired.push(Expired { question, source });
                }
            }
            Ok(expired)
        })
        .await
    }

    async fn prune(&self, retained: Retention) -> StoreResult<u64> {
        let mut removed = 0;
        loop {
            let pruned = self.write(move |tx| retention::prune(tx, &retained)).await?;
            removed += pruned.questions;
            if !pruned.more {
                break;
            }
        }
        while self.write(retention::give_back).await? {}
        Ok(removed)
    }

    async fn probe(&self) -> StoreResult<()> {
        self.write(|tx| {
            let sql = "INSERT INTO meta (key, value) VALUES ('probe', '1') ON CONFLICT (key) DO UPDATE SET value = value + 1";
            tx.change(sql, params![])?;
            Ok(())
        })
        .await
    }

    async fn close(&self) {
        if let Some(writer) = self.writer.write().await.take() {
            writer.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use askd_core::{AskInput, TokenId};

    use super::super::{database::migrate, transaction::Tails, writer::Writer};
    use super::*;
    use crate::seal::Sealer;

    #[tokio::test]
    async fn no_more_than_the_limit_are_open() {
        let conn = Connection::open_in_memory().unwrap();
        migrate(&conn, 0).unwrap();
        let tails = Arc::new(Tails::starting_after(0));
        let sealer = Arc::new(Sealer::new(&[7; 32]));
        // As if all others had been asked before.
        let writer =
            Writer::start(conn, Arc::clone(&tails), sealer, MAX_OPEN_QUESTIONS - 1, |_| Ok(())).unwrap();
        let asking = |n| {
            let input: AskInput = serde_json::from_str(r#"{"questions":[{"question":"Which?"}]}"#).unwrap();
            let new = NewQuestion {
                id: QuestionId::from_bits(n),
                ask: input.complete().unwrap(),
                at: Timestamp::from_millis(0),
                origin: Origin::Api { asker: TokenId::from_bits(1) },
                idempotency: None,
            };
            let json = to_json(&new.ask).unwrap();
            writer.run(move |tx| ask(tx, new, &json))
        };
        assert!(matches!(asking(1).await.unwrap(), Asked::New(_)));
        assert_eq!(asking(2).await.unwrap(), Asked::TooManyOpen);
        assert_eq!(tails.log.newest(), 1, "what was refused is not in the log");
        let withdraw = Resolve {
            id: QuestionId::from_bits(1),
            resolution: Resolution::Expire,
            by: askd_core::By::hub(),
            at: Timestamp::from_millis(1),
            idempotency: None,
            claim: None,
        };
        writer.run(move |tx| resolve(tx, withdraw)).await.unwrap();
        assert!(matches!(asking(3).await.unwrap(), Asked::New(_)));
    }
}
