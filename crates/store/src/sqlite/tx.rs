//! The transaction of one job.
//!
//! In: reads and changes of the database, and events. Out: [`Done`], what becomes true outside the database once the job is durable.

use std::sync::Arc;

use rusqlite::{Connection, ToSql};

use askd_core::{EventType, Question, QuestionId, Seq, Session, SessionId, Timestamp};

use super::events;
use super::heads::Heads;
use super::journal::Journal;
use super::memory::{Change, Known, Memory, News};
use super::rows::{by_name, load, to_json};
use crate::log::{EventHead, LoggedEvent, QuestionTold};
use crate::seal::Sealer;
use crate::transcripts::Entry;
use crate::{Record, StoreResult};

/// What a job sees: the database inside its transaction, and what it has done so far.
pub(super) struct Tx<'a> {
    pub(super) journal: &'a mut Journal,
    pub(super) sealer: &'a Sealer,
    pub(super) memory: &'a Arc<Memory>,
    pub(super) heads: &'a mut Heads,
    /// Open questions, this transaction's changes included.
    pub(super) open_questions: i64,
    /// The number of the newest event, this transaction's included.
    pub(super) newest: Seq,
    pub(super) done: Done,
}

/// What becomes true outside the database once a job is durable.
#[derive(Default)]
pub(super) struct Done {
    pub(super) events: Vec<LoggedEvent>,
    pub(super) questions: Vec<Change>,
    pub(super) effects: Vec<Box<dyn FnOnce() + Send>>,
}

impl Done {
    pub(super) fn append(&mut self, mut later: Self) {
        self.events.append(&mut later.events);
        self.questions.append(&mut later.questions);
        self.effects.append(&mut later.effects);
    }
}

impl Tx<'_> {
    /// The database as this transaction sees it, for reading only.
    pub(super) fn conn(&mut self) -> StoreResult<&Connection> {
        self.journal.read()
    }

    /// Changes the database, by a statement that SQLite can certainly carry out: that is left for when the caller has been told.
    pub(super) fn write(&mut self, sql: &str, values: &[&dyn ToSql]) -> StoreResult<()> {
        self.journal.write(sql, values)
    }

    /// Changes the database at once; gives how many rows.
    pub(super) fn change(&mut self, sql: &str, values: &[&dyn ToSql]) -> StoreResult<usize> {
        self.journal.change(sql, values)
    }

    /// Runs `effect` once the job is durable, whether or not its caller still waits; never if it is undone.
    pub(super) fn after_commit(&mut self, effect: impl FnOnce() + Send + 'static) {
        self.done.effects.push(Box::new(effect));
    }

    /// Tells the readers of a transcript, once the job is durable.
    pub(super) fn transcript_grew(&mut self, transcript: SessionId, entries: Vec<Entry>) {
        let memory = Arc::clone(self.memory);
        self.after_commit(move || memory.growth.grew(&transcript, entries));
    }

    /// A question of an agent is known without a look at the disk, once it is durable.
    pub(super) fn remember(&mut self, known: Known) {
        self.done.questions.push((known.record.question.id.clone(), News::Stands(Box::new(known))));
    }

    /// A question is asked at another place.
    pub(super) fn asked_again(&mut self, id: &QuestionId) {
        self.memory.under_way.forget_places(id);
        self.done.questions.push((id.clone(), News::AskedAgain));
    }

    /// A question has another name.
    pub(super) fn named_too(&mut self, id: &QuestionId, session: SessionId, native_id: String) {
        self.memory.under_way.forget_places(id);
        self.done.questions.push((id.clone(), News::Named((session, native_id))));
    }

    /// A question as this transaction sees it.
    pub(super) fn record(&mut self, id: &QuestionId) -> StoreResult<Option<Record>> {
        match self.memory.under_way.record(id) {
            Some(known) => Ok(Some(known)),
            None => load(self.conn()?, id),
        }
    }

    /// The question that a session calls so.
    pub(super) fn named(&mut self, session: &SessionId, native_id: &str) -> StoreResult<Option<QuestionId>> {
        match self.memory.under_way.named(session, native_id) {
            Some(id) => Ok(Some(id)),
            None => by_name(self.journal.peek()?, session, native_id),
        }
    }

    /// Appends an event about a question whose `ask` is written down in `json`; a requested question learns its own place in
    /// the log by it.
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
        self.done.events.push(LoggedEvent::of_question(head, told)?);
        Ok(())
    }

    /// Appends an event about a question that was asked before.
    pub(super) fn log_change(
        &mut self,
        kind: EventType,
        at: Timestamp,
        question: &mut Question,
    ) -> StoreResult<()> {
        let Some(known) = self.forget(&question.id) else {
            let json = to_json(&question.ask)?;
            return self.log_question(kind, at, question, &json);
        };
        self.log_question(kind, at, question, &known.json)?;
        let record = Record { question: question.clone(), ..known.record };
        self.remember(Known { record, ..known });
        Ok(())
    }

    /// A question changes: at once, for readers of the disk that see the commit before its effects; and then, if it was asked or
    /// changed in the same commit before.
    pub(super) fn forget(&mut self, id: &QuestionId) -> Option<Known> {
        self.done.questions.push((id.clone(), News::Stored));
        self.memory.under_way.take(id)
    }

    pub(super) fn log_session(
        &mut self,
        kind: EventType,
        at: Timestamp,
        session: &Session,
    ) -> StoreResult<Seq> {
        let head = self.next_event(kind, at);
        events::insert(self, head, None, Some(&session.id), &to_json(session)?)?;
        self.done.events.push(LoggedEvent::of_session(head, session.clone())?);
        Ok(head.seq)
    }

    fn next_event(&mut self, kind: EventType, at: Timestamp) -> EventHead {
        self.newest += 1;
        EventHead { seq: self.newest, kind, at }
    }
}
