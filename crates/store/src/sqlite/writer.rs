//! The one writer thread, with group commit.
//!
//! In: jobs, each a closure over a transaction. Out: their results, after one fsync for all jobs that were waiting.
//! Each job runs in a savepoint of its own, so one that fails undoes only itself. Events are published to the tail after the
//! commit and before any job's caller is told: whoever hears of a change can read it.

use std::sync::Arc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use askd_core::{Event, Question, Session};
use askd_core::{EventType, Seq, Timestamp};

use super::events;
use crate::log::{LoggedEvent, Tail};
use crate::seal::Sealer;
use crate::{StoreError, StoreResult};

/// Jobs of one commit: bounds the time that the first of them waits for the last.
const MAX_BATCH: usize = 512;
/// Jobs waiting for the writer; past it callers wait their turn.
const QUEUE: usize = 4096;

/// What a job sees: the connection inside its savepoint, and the events it has appended so far.
pub(super) struct Tx<'a> {
    pub(super) conn: &'a Connection,
    pub(super) sealer: &'a Sealer,
    /// Open questions, this transaction's changes included.
    pub(super) open_questions: i64,
    events: Vec<LoggedEvent>,
}

impl Tx<'_> {
    /// Appends an event about a question; a requested question learns its own place in the log by it.
    pub(super) fn log_question(
        &mut self,
        kind: EventType,
        at: Timestamp,
        question: &mut Question,
    ) -> StoreResult<()> {
        let detail = events::question_detail(question)?;
        let seq = events::insert(
            self.conn,
            kind,
            at,
            Some(&question.id),
            question.ask.session_id.as_ref(),
            &detail,
        )?;
        if kind == EventType::QuestionRequested {
            question.seq = seq;
        }
        let event = Event { seq, kind, at, question: Some(question.clone()), session: None };
        self.events.push(LoggedEvent::new(&event)?);
        Ok(())
    }

    pub(super) fn log_session(
        &mut self,
        kind: EventType,
        at: Timestamp,
        session: &Session,
    ) -> StoreResult<Seq> {
        let detail =
            serde_json::to_string(session).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let seq = events::insert(self.conn, kind, at, None, Some(&session.id), &detail)?;
        let event = Event { seq, kind, at, question: None, session: Some(session.clone()) };
        self.events.push(LoggedEvent::new(&event)?);
        Ok(seq)
    }
}

/// Tells the caller, once it is known whether the commit went through.
type Finish = Box<dyn FnOnce(StoreResult<()>) + Send>;
/// Does the work and says whether to keep it; without a transaction it does nothing.
type Job = Box<dyn FnOnce(Option<&mut Tx<'_>>) -> (bool, Finish) + Send>;

/// The caller's side of the writer thread.
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    ended: watch::Receiver<bool>,
}

impl Writer {
    pub(super) fn start(
        conn: Connection,
        tail: Arc<Tail>,
        sealer: Arc<Sealer>,
        open_questions: i64,
    ) -> StoreResult<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (end, ended) = watch::channel(false);
        let name = "askd-writer".to_owned();
        let run = move || {
            WriterThread { conn, tail, sealer, open_questions }.run(queue);
            end.send_replace(true);
        };
        thread::Builder::new()
            .name(name)
            .spawn(run)
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { jobs, ended })
    }

    /// Runs `work` in the next commit and returns its result once that is durable.
    pub(super) async fn run<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> StoreResult<T> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            let done = tx.map(work);
            let keep = matches!(done, Some(Ok(_)));
            let finish: Finish = Box::new(move |committed| {
                let result = match done {
                    Some(Err(error)) => Err(error),
                    Some(Ok(value)) => committed.map(|()| value),
                    None => committed.and(Err(StoreError::Closed)),
                };
                // The caller may have gone away; what is stored is stored.
                drop(reply.send(result));
            });
            (keep, finish)
        });
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Waits until the thread has ended, which it does when every sender is gone.
    pub(super) async fn close(self) {
        drop(self.jobs);
        let mut ended = self.ended;
        drop(ended.wait_for(|ended| *ended).await);
    }
}

struct WriterThread {
    conn: Connection,
    tail: Arc<Tail>,
    sealer: Arc<Sealer>,
    open_questions: i64,
}

impl WriterThread {
    fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut batch: Vec<Job> = Vec::new();
        while queue.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
            self.commit(batch.drain(..));
        }
        if let Err(error) = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
            tracing::warn!(%error, "could not fold the write-ahead log into the store");
        }
    }

    fn commit(&mut self, batch: impl Iterator<Item = Job>) {
        let mut begun = self.execute("BEGIN IMMEDIATE");
        let mut finishers = Vec::new();
        let mut events = Vec::new();
        let mut open_questions = self.open_questions;
        for job in batch {
            begun = begun.and_then(|()| self.execute("SAVEPOINT job"));
            if begun.is_err() {
                finishers.push(job(None).1);
                continue;
            }
            let mut tx = Tx { conn: &self.conn, sealer: &self.sealer, open_questions, events: Vec::new() };
            let (keep, finish) = job(Some(&mut tx));
            let Tx { open_questions: open_now, events: appended, .. } = tx;
            let closed = if keep {
                self.execute("RELEASE job")
            } else {
                self.execute("ROLLBACK TO job").and_then(|()| self.execute("RELEASE job"))
            };
            if keep {
                open_questions = open_now;
                events.extend(appended);
            }
            if closed.is_err() {
                begun = closed;
            }
            finishers.push(finish);
        }
        let committed = begun.and_then(|()| self.execute("COMMIT"));
        if committed.is_ok() {
            self.open_questions = open_questions;
            self.tail.publish(events);
        } else if !self.conn.is_autocommit() {
            drop(self.execute("ROLLBACK"));
        }
        for finish in finishers {
            finish(committed.clone());
        }
    }

    fn execute(&self, sql: &'static str) -> StoreResult<()> {
        self.conn.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match &error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Self::Corrupt(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}
