//! Transcripts in SQLite.

use async_trait::async_trait;
use rusqlite::{params, params_from_iter};
use serde_json::value::RawValue;
use tokio::sync::watch;

use askd_core::{Question, QuestionId, SessionId, Status, Timestamp};

use super::SqliteStore;
use super::rows::{at, by_name, corrupt, parsed, rows, text, to_json};
use super::transcript_head::Head;
use super::writer::Tx;
use crate::transcripts::{
    AskedIn, Entry, MAX_TRANSCRIPT_BYTES, NewEntry, RESOLVED, TRANSCRIPT_PAGE, TRANSCRIPT_PAGE_BYTES, TURN,
    TranscriptPage, Transcripts,
};
use crate::{Record, StoreResult};

/// Bytes by which a transcript may exceed its retention, so that one trim serves many entries.
const TRIM_AFTER: u64 = 1 << 20;

/// Entries `e` of open questions.
const ASKS_WHAT_IS_OPEN: &str = "EXISTS (SELECT 1 FROM sightings s JOIN questions q ON q.id = s.question_id \
     WHERE s.session_id = e.about AND s.native_id = e.asks AND q.status = 'requested')";

/// Whether the questions of new entries may have ended before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Perhaps,
    /// They were asked just now.
    NoneYet,
}

pub(super) fn append(
    tx: &mut Tx<'_>,
    transcript: SessionId,
    entries: Vec<NewEntry>,
    ends: Ends,
) -> StoreResult<()> {
    let name = transcript.as_str();
    let mut head = Head::read(tx.conn, name)?;
    let watched = tx.tails.growth.is_watched(&transcript);
    let mut grown = Vec::new();
    // One line may say several things; they come in one call.
    let stored_through = head.last_line;
    let mut new = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().filter(|entry| entry.line.is_none_or(|line| line > stored_through)) {
        let end = if ends == Ends::Perhaps { ended_before(tx, &entry)? } else { None };
        new.extend(std::iter::once(entry).chain(end));
    }
    for entry in new {
        let number = insert(tx, name, &mut head, &entry)?;
        if watched {
            grown.push(entry.numbered(number));
        }
    }
    trim(tx, name, &mut head)?;
    head.write(tx, name)?;
    tx.transcript_grew(transcript, grown);
    Ok(())
}

/// Stores one entry and gives its number.
fn insert(tx: &mut Tx<'_>, transcript: &str, head: &mut Head, entry: &NewEntry) -> StoreResult<u64> {
    let sql = "INSERT INTO transcript_entries (session_id, number, at, voice, text, raw, about, asks, request) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        transcript,
        head.next_number,
        entry.at.millis(),
        entry.voice,
        entry.text,
        entry.raw,
        entry.about.as_ref().map(SessionId::as_str),
        entry.asks.as_ref().map(|asks| &asks.native_id),
        entry.asks.as_ref().map(|asks| &asks.request),
    ];
    tx.change(sql, values)?;
    head.next_number += 1;
    head.last_line = head.last_line.max(entry.line.unwrap_or(0));
    head.bytes += [&entry.text, &entry.raw].into_iter().flatten().map(|text| text.len() as u64).sum::<u64>();
    Ok(head.next_number - 1)
}

/// The end of an entry's question, if it was faster than the entry.
fn ended_before(tx: &mut Tx<'_>, entry: &NewEntry) -> StoreResult<Option<NewEntry>> {
    let (Some(asks), Some(about)) = (&entry.asks, &entry.about) else { return Ok(None) };
    let Some(question) = by_name(tx.conn, about, &asks.native_id)? else { return Ok(None) };
    match tx.record(&question)? {
        Some(Record { question, .. }) if !question.is_open() => {
            end(&asks.request, about.clone(), &question, entry.at).map(Some)
        }
        _ => Ok(None),
    }
}

fn end(request: &str, about: SessionId, question: &Question, at: Timestamp) -> StoreResult<NewEntry> {
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    struct End<'a> {
        request_id: &'a RawValue,
        question_id: &'a QuestionId,
        status: Status,
        outcome: Option<&'a askd_core::Outcome>,
    }
    let end = End {
        request_id: serde_json::from_str(request).map_err(corrupt)?,
        question_id: &question.id,
        status: question.status,
        outcome: question.outcome.as_ref(),
    };
    Ok(NewEntry { raw: Some(to_json(&end)?), about: Some(about), ..NewEntry::new(at, RESOLVED) })
}

/// A position of a question in a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AskedAt {
    transcript: SessionId,
    about: SessionId,
    request: String,
}

/// All positions of a question.
pub(super) fn places(tx: &mut Tx<'_>, question: &QuestionId) -> StoreResult<Vec<AskedAt>> {
    let sql = "SELECT DISTINCT e.session_id, e.about, e.request FROM sightings s CROSS JOIN transcript_entries e \
               ON e.about = s.session_id AND e.asks = s.native_id WHERE s.question_id = ?1";
    rows(tx.conn, sql, &[text(question)], |row| {
        let text = |column| row.get::<_, String>(column);
        Ok(AskedAt { transcript: parsed(&text(0)?)?, about: parsed(&text(1)?)?, request: text(2)? })
    })
}

/// Tells the end of a question wherever it was asked.
pub(super) fn tell_end(
    tx: &mut Tx<'_>,
    places: Vec<AskedAt>,
    question: &Question,
    now: Timestamp,
) -> StoreResult<()> {
    for AskedAt { transcript, about, request } in places {
        let mut head = Head::read(tx.conn, transcript.as_str())?;
        let end = end(&request, about, question, now)?;
        let number = insert(tx, transcript.as_str(), &mut head, &end)?;
        head.write(tx, transcript.as_str())?;
        tx.transcript_grew(transcript, vec![end.numbered(number)]);
    }
    Ok(())
}

/// Deletes the oldest entries of a transcript that has grown too large, all but those of open questions.
fn trim(tx: &mut Tx<'_>, transcript: &str, head: &mut Head) -> StoreResult<()> {
    if head.bytes <= MAX_TRANSCRIPT_BYTES + TRIM_AFTER {
        return Ok(());
    }
    while head.bytes > MAX_TRANSCRIPT_BYTES {
        let sql = format!(
            "SELECT number, coalesce(length(CAST(text AS BLOB)), 0) + coalesce(length(CAST(raw AS BLOB)), 0) \
             FROM transcript_entries e WHERE session_id = ?1 AND NOT {ASKS_WHAT_IS_OPEN} ORDER BY number LIMIT 256"
        );
        let oldest: Vec<(u64, u64)> =
            rows(tx.conn, &sql, &[text(transcript)], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut through = None;
        for (number, bytes) in oldest {
            if head.bytes <= MAX_TRANSCRIPT_BYTES {
                break;
            }
            head.bytes = head.bytes.saturating_sub(bytes);
            through = Some(number);
        }
        let Some(through) = through else { break };
        let sql = format!(
            "DELETE FROM transcript_entries AS e WHERE session_id = ?1 AND number <= ?2 AND NOT {ASKS_WHAT_IS_OPEN}"
        );
        tx.change(&sql, params![transcript, through])?;
        head.trimmed_through = head.trimmed_through.max(through);
    }
    Ok(())
}

#[async_trait]
impl Transcripts for SqliteStore {
    async fn last_line(&self, transcript: &SessionId) -> StoreResult<u64> {
        let transcript = transcript.clone();
        self.read(move |conn| Ok(Head::read(conn, transcript.as_str())?.last_line)).await
    }

    async fn append(&self, transcript: &SessionId, entries: Vec<NewEntry>) -> StoreResult<()> {
        let transcript = transcript.clone();
        self.write(move |tx| append(tx, transcript, entries, Ends::Perhaps)).await
    }

    async fn entries_after(
        &self,
        transcript: &SessionId,
        about: Option<&SessionId>,
        after: u64,
    ) -> StoreResult<TranscriptPage> {
        if about.is_none()
            && let Some(page) = self.tails.growth.page(transcript, after)
        {
            return Ok(page);
        }
        let (transcript, about) = (transcript.clone(), about.cloned());
        self.read(move |conn| {
                let head = Head::read(conn, transcript.as_str())?;
                let only = if about.is_some() { "AND about = ?3" } else { "" };
                let sql = format!(
                    "SELECT number, at, voice, text, raw FROM transcript_entries WHERE session_id = ?1 AND number > ?2 \
                     {only} ORDER BY number LIMIT {TRANSCRIPT_PAGE}"
                );
                let after = i64::try_from(after).unwrap_or(i64::MAX);
                let given: Vec<_> =
                    [text(&transcript), after.into()].into_iter().chain(about.map(text)).collect();
                let mut statement = conn.prepare_cached(&sql)?;
                let mut rows = statement.query(params_from_iter(given))?;
                let (mut entries, mut bytes) = (Vec::new(), 0);
                while bytes < TRANSCRIPT_PAGE_BYTES
                    && let Some(row) = rows.next()?
                {
                    let entry = Entry {
                        number: row.get(0)?,
                        at: at(row.get(1)?),
                        voice: row.get(2)?,
                        text: row.get(3)?,
                        raw: row.get(4)?,
                    };
                    bytes += entry.bytes();
                    entries.push(entry);
                }
                Ok(TranscriptPage { entries, trimmed_through: head.trimmed_through, newest: head.next_number - 1 })
            })
            .await
    }

    async fn turns_ended(&self, transcript: &SessionId) -> StoreResult<Vec<String>> {
        let transcript = transcript.clone();
        self.read(move |conn| {
            let sql = format!(
                "SELECT raw FROM transcript_entries WHERE session_id = ?1 AND voice = '{TURN}' AND raw IS NOT NULL \
                 ORDER BY number DESC LIMIT {TRANSCRIPT_PAGE}"
            );
            rows(conn, &sql, &[text(&transcript)], |row| Ok(row.get(0)?))
        })
        .await
    }

    async fn asked_in(&self, transcript: &SessionId, before: u64) -> StoreResult<Vec<AskedIn>> {
        let transcript = transcript.clone();
        self.read(move |conn| {
            let sql = format!(
                "SELECT e.number, e.request, s.question_id FROM transcript_entries e CROSS JOIN sightings s \
                 ON s.session_id = e.about AND s.native_id = e.asks \
                 WHERE e.session_id = ?1 AND e.number < ?2 AND e.asks IS NOT NULL ORDER BY e.number DESC LIMIT {TRANSCRIPT_PAGE}"
            );
            let before = i64::try_from(before).unwrap_or(i64::MAX);
            rows(conn, &sql, &[text(&transcript), before.into()], |row| {
                let question = parsed(&row.get::<_, String>(2)?)?;
                Ok(AskedIn { number: row.get(0)?, request: row.get(1)?, question })
            })
        })
        .await
    }

    fn watch_transcript(&self, transcript: &SessionId) -> watch::Receiver<()> {
        self.tails.growth.watch(transcript)
    }
}
