//! The transaction of one job.
//!
//! In: reads and changes of the database, and events. Out: [`AfterCommit`], what becomes true outside the
//! database once the job is durable.

use std::sync::Arc;

use rusqlite::{Connection, ToSql};

use askd_core::{EventType, Question, QuestionId, Seq, Session, SessionId, Timestamp};

use super::events;
use super::growth::Growth;
use super::rows::{load, to_json};
use crate::log::{EventHead, LoggedEvent, QuestionTold, Tail};
use crate::seal::Sealer;
use crate::transcripts::Entry;
use crate::{Record, StoreResult};

/// The caches of the store: durable data for readers that are nearly up to date.
pub(super) struct Tails {
    pub(super) log: Tail,
    pub(super) growth: Growth,
}

impl Tails {
    pub(super) fn starting_after(newest: Seq) -> Self {
        Self { log: Tail::starting_after(newest), growth: Growth::default() }
    }
}

/// A job's view: the database inside its transaction, and the job's effects so far.
pub(super) struct Tx<'a> {
    pub(super) conn: &'a Connection,
    pub(super) sealer: &'a Sealer,
    pub(super) tails: &'a Arc<Tails>,
    /// Open questions, this transaction's changes included.
    pub(super) open_questions: i64,
    /// The number of the newest event, this transaction's included.
    pub(super) newest: Seq,
    pub(super) after: AfterCommit,
}

/// The effects outside the database of a durable job.
#[derive(Default)]
pub(super) struct AfterCommit {
    pub(super) events: Vec<LoggedEvent>,
    pub(super) effects: Vec<Box<dyn FnOnce() + Send>>,
}

impl AfterCommit {
    pub(super) fn append(&mut self, mut later: Self) {
        self.events.append(&mut later.events);
        self.effects.append(&mut later.effects);
    }
}

impl Tx<'_> {
    /// Changes the database; gives how many rows.
    pub(super) fn change(&self, sql: &str, values: &[&dyn ToSql]) -> StoreResult<usize> {
        Ok(self.conn.prepare_cached(sql)?.execute(values)?)
    }

    /// Runs `effect` once the job is durable, whether or not its caller still waits; never if the job is
    /// undone.
    pub(super) fn after_commit(&mut self, effect: impl FnOnce() + Send + 'static) {
        self.after.effects.push(Box::new(effect));
    }

    /// Tells the readers of a transcript, once the job is durable.
    pub(super) fn transcript_grew(&mut self, transcript: SessionId, entries: Vec<Entry>) {
        let tails = Arc::clone(self.tails);
        self.after_commit(move || tails.growth.grew(&transcript, entries));
    }

    /// A question as this transaction sees it.
    pub(super) fn record(&self, id: &QuestionId) -> StoreResult<Option<Record>> {
        load(self.conn, id)
    }

    /// Appends an event about a question; `json` is its `ask`. A requested question takes its position in the
    /// log from it.
    pub(super) fn log_question(
        &mut self,
        kind: EventType,
        at: Timestamp,
        question: &mut Question,
        json: &str,
    ) -> StoreResult<()> {
        let head = self.next_event(kind, at);
        if kind == EventType::QuestionRequested {
            question.seq = head.seq;
        }
        let detail = events::question_detail(question)?;
        let session = question.ask.session_id.clone();
        events::insert(self, head, Some(&question.id), session.as_ref(), &detail)?;
        let told = QuestionTold {
            id: question.id.clone(),
            seq: question.seq,
            created_at: question.created_at,
            session,
            agent: question.ask.agent.clone(),
            call_id: question.ask.call_id().map(str::to_owned),
            status: question.status,
            ask: json,
            detail: &detail,
        };
        self.after.events.push(LoggedEvent::of_question(head, told)?);
        Ok(())
    }

    /// Appends an event about an earlier question.
    pub(super) fn log_change(
        &mut self,
        kind: EventType,
        at: Timestamp,
        question: &mut Question,
    ) -> StoreResult<()> {
        let json = to_json(&question.ask)?;
        self.log_question(kind, at, question, &json)
    }

    pub(super) fn log_session(
        &mut self,
        kind: EventType,
        at: Timestamp,
        session: &Session,
    ) -> StoreResult<Seq> {
        let head = self.next_event(kind, at);
        events::insert(self, head, None, Some(&session.id), &to_json(session)?)?;
        self.after.events.push(LoggedEvent::of_session(head, session.clone())?);
        Ok(head.seq)
    }

    fn next_event(&mut self, kind: EventType, at: Timestamp) -> EventHead {
        self.newest += 1;
        EventHead { seq: self.newest, kind, at }
    }
}
