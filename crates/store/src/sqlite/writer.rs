//! The one writer thread, with group commit.
//!
//! In: jobs, each a closure over a transaction. Out: their results, after one fsync for all jobs that were waiting. Events are
//! published to the tail, and other memory is brought up to date, after the commit and before any job's caller is told: whoever
//! hears of a change can read it.

use std::sync::Arc;
use std::thread;

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot, watch};

use askd_core::{EventType, Question, QuestionId, Seq, Session, SessionId, Timestamp};

use super::events;
use super::heads::Heads;
use super::memory::{Change, Known, Memory};
use super::rows::{load, to_json};
use crate::chain::Chain;
use crate::log::{EventHead, LoggedEvent, QuestionTold};
use crate::seal::Sealer;
use crate::transcripts::Entry;
use crate::{Record, StoreError, StoreResult};

/// Jobs of one commit: bounds the time that the first of them waits for the last.
const MAX_BATCH: usize = 512;
/// Jobs waiting for the writer; past it callers wait their turn.
const QUEUE: usize = 4096;

/// What a job that fails takes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Only itself: it runs in a savepoint, for which SQLite copies every page that the job changes.
    Own,
    /// The whole commit, if it has written something already. For jobs that check everything before they write, so that
    /// afterwards only the disk can fail them, and that fails the commit anyway.
    Commit,
}

/// What a job sees: the connection inside its transaction, and the events it has appended so far.
pub(super) struct Tx<'a> {
    pub(super) conn: &'a Connection,
    pub(super) sealer: &'a Sealer,
    pub(super) memory: &'a Arc<Memory>,
    pub(super) heads: &'a mut Heads,
    /// Open questions, this transaction's changes included.
    pub(super) open_questions: i64,
    /// The number of the newest event, this transaction's included.
    newest: Seq,
    done: Done,
}

/// What becomes true outside the database once a job is durable.
#[derive(Default)]
struct Done {
    events: Vec<LoggedEvent>,
    questions: Vec<Change>,
    effects: Vec<Box<dyn FnOnce() + Send>>,
}

impl Done {
    fn append(&mut self, mut later: Self) {
        self.events.append(&mut later.events);
        self.questions.append(&mut later.questions);
        self.effects.append(&mut later.effects);
    }
}

impl Tx<'_> {
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
        self.done.questions.push((known.record.question.id.clone(), Some(known)));
    }

    /// A question as this transaction sees it.
    pub(super) fn record(&self, id: &QuestionId) -> StoreResult<Option<Record>> {
        match self.memory.under_way.record(id) {
            Some(known) => Ok(Some(known)),
            None => load(self.conn, id),
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
        events::insert(self.conn, head, Some(&question.id), session.as_ref(), &detail)?;
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
        if question.is_under_way() {
            let record = Record { question: question.clone(), ..known.record };
            self.remember(Known { record, ..known });
        }
        Ok(())
    }

    /// A question changes: at once, for readers of the disk that see the commit before its effects; and then, if it was asked or
    /// changed in the same commit before.
    pub(super) fn forget(&mut self, id: &QuestionId) -> Option<Known> {
        self.done.questions.push((id.clone(), None));
        self.memory.under_way.take(id)
    }

    pub(super) fn log_session(
        &mut self,
        kind: EventType,
        at: Timestamp,
        session: &Session,
    ) -> StoreResult<Seq> {
        let head = self.next_event(kind, at);
        events::insert(self.conn, head, None, Some(&session.id), &to_json(session)?)?;
        self.done.events.push(LoggedEvent::of_session(head, session.clone())?);
        Ok(head.seq)
    }

    fn next_event(&mut self, kind: EventType, at: Timestamp) -> EventHead {
        self.newest += 1;
        EventHead { seq: self.newest, kind, at }
    }
}

/// Tells the caller, once it is known whether the commit went through.
type Finish = Box<dyn FnOnce(StoreResult<()>) + Send>;
/// Does the work and says whether to keep it; without a transaction it does nothing.
type Work = Box<dyn FnOnce(Option<&mut Tx<'_>>) -> (bool, Finish) + Send>;

struct Job {
    scope: Scope,
    chain: Option<Chain>,
    work: Work,
}

/// The caller's side of the writer thread.
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    ended: watch::Receiver<bool>,
}

impl Writer {
    pub(super) fn start(
        conn: Connection,
        memory: Arc<Memory>,
        sealer: Arc<Sealer>,
        open_questions: i64,
    ) -> StoreResult<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (end, ended) = watch::channel(false);
        let newest = memory.tail.newest();
        let run = move || {
            let heads = Heads::default();
            WriterThread { conn, memory, sealer, heads, open_questions, newest }.run(queue);
            end.send_replace(true);
        };
        let spawned = thread::Builder::new().name("askd-writer".to_owned()).spawn(run);
        spawned.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { jobs, ended })
    }

    /// Runs `work` in the next commit and returns its result once that is durable.
    pub(super) async fn run<T, F>(&self, scope: Scope, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> StoreResult<T> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let work: Work = Box::new(move |tx| {
            let done = tx.map(work);
            let keep = matches!(done, Some(Ok(_)));
            let finish: Finish = Box::new(move |committed| {
                let result = match done {
                    Some(Err(error)) => Err(error),
                    Some(Ok(value)) => committed.map(|()| value),
                    None => {
                        committed.and(Err(StoreError::Unavailable("a change before it failed".to_owned())))
                    }
                };
                // The caller may have gone away; what is stored is stored.
                drop(reply.send(result));
            });
            (keep, finish)
        });
        self.jobs.send(Job { scope, chain: Chain::current(), work }).await.map_err(|_| StoreError::Closed)?;
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
    memory: Arc<Memory>,
    sealer: Arc<Sealer>,
    heads: Heads,
    open_questions: i64,
    newest: Seq,
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
        let mut chains: Vec<Chain> = Vec::new();
        let mut all = Done::default();
        let (mut open_questions, mut newest) = (self.open_questions, self.newest);
        for job in batch {
            if job.chain.as_ref().is_some_and(Chain::has_failed) {
                finishers.push((job.work)(None).1);
                continue;
            }
            if begun.is_ok() && job.scope == Scope::Own {
                begun = self.heads.store(&self.conn).and_then(|()| self.execute("SAVEPOINT job"));
            }
            if begun.is_err() {
                chains.extend(job.chain);
                finishers.push((job.work)(None).1);
                continue;
            }
            let changes = self.conn.total_changes();
            let mut tx = Tx {
                conn: &self.conn,
                sealer: &self.sealer,
                memory: &self.memory,
                heads: &mut self.heads,
                open_questions,
                newest,
                done: Done::default(),
            };
            let (keep, finish) = (job.work)(Some(&mut tx));
            let Tx { open_questions: open_now, newest: newest_now, done, .. } = tx;
            begun = match (job.scope, keep) {
                (Scope::Own, true) => self.execute("RELEASE job"),
                (Scope::Own, false) => {
                    self.heads.forget();
                    self.execute("ROLLBACK TO job").and_then(|()| self.execute("RELEASE job"))
                }
                // SQLite may have undone the whole transaction by itself, and what follows would be stored on its own.
                (Scope::Commit, false)
                    if self.conn.total_changes() != changes || self.conn.is_autocommit() =>
                {
                    Err(StoreError::Unavailable("another change of the same commit failed".to_owned()))
                }
                (Scope::Commit, _) => Ok(()),
            };
            if keep {
                (open_questions, newest) = (open_now, newest_now);
                all.append(done);
            } else if let Some(chain) = &job.chain {
                chain.fail();
            }
            chains.extend(job.chain);
            finishers.push(finish);
        }
        let stored = begun.and_then(|()| self.heads.store(&self.conn));
        let committed = stored.and_then(|()| self.execute("COMMIT"));
        if committed.is_ok() {
            (self.open_questions, self.newest) = (open_questions, newest);
            self.memory.under_way.change(all.questions);
            self.memory.tail.publish(all.events);
            all.effects.into_iter().for_each(|effect| effect());
        } else {
            chains.iter().for_each(Chain::fail);
            self.heads.forget();
            if !self.conn.is_autocommit() {
                drop(self.execute("ROLLBACK"));
            }
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
            rusqlite::Error::SqliteFailure(code, _)
                if matches!(code.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) =>
            {
                Self::Corrupt(error.to_string())
            }
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Self::Corrupt(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
