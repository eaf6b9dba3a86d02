//! The one writer thread, with group commit.
//!
//! In: jobs, each a closure over a transaction. Out: their results, after one fsync for all jobs that were waiting.
//! Each job runs in a savepoint of its own, so one that fails undoes only itself. Events are published to the tail, and other
//! memory is brought up to date, after the commit and before any job's caller is told: whoever hears of a change can read it.

use std::sync::Arc;
use std::thread;

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot, watch};

use askd_core::{Event, Question, Session};
use askd_core::{EventType, Seq, SessionId, Timestamp};

use super::events;
use super::growth::Growth;
use crate::log::{LoggedEvent, Tail};
use crate::seal::Sealer;
use crate::transcripts::Entry;
use crate::{StoreError, StoreResult};

/// Jobs of one commit: bounds the time that the first of them waits for the last.
const MAX_BATCH: usize = 512;
/// Jobs waiting for the writer; past it callers wait their turn.
const QUEUE: usize = 4096;

/// What a job sees: the connection inside its savepoint, and the events it has appended so far.
pub(super) struct Tx<'a> {
    pub(super) conn: &'a Connection,
    pub(super) sealer: &'a Sealer,
    pub(super) growth: &'a Arc<Growth>,
    /// Open questions, this transaction's changes included.
    pub(super) open_questions: i64,
    done: Done,
}

/// What becomes true outside the database once a job is durable.
#[derive(Default)]
struct Done {
    events: Vec<LoggedEvent>,
    effects: Vec<Box<dyn FnOnce() + Send>>,
}

impl Done {
    fn append(&mut self, mut later: Self) {
        self.events.append(&mut later.events);
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
        let growth = Arc::clone(self.growth);
        self.after_commit(move || growth.grew(&transcript, entries));
    }

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
        self.done.events.push(LoggedEvent::new(&event)?);
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
        self.done.events.push(LoggedEvent::new(&event)?);
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
        growth: Arc<Growth>,
        sealer: Arc<Sealer>,
        open_questions: i64,
    ) -> StoreResult<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (end, ended) = watch::channel(false);
        let name = "askd-writer".to_owned();
        let run = move || {
            WriterThread { conn, tail, growth, sealer, open_questions }.run(queue);
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
    growth: Arc<Growth>,
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
        let mut all = Done::default();
        let mut open_questions = self.open_questions;
        for job in batch {
            begun = begun.and_then(|()| self.execute("SAVEPOINT job"));
            if begun.is_err() {
                finishers.push(job(None).1);
                continue;
            }
            let mut tx = Tx {
                conn: &self.conn,
                sealer: &self.sealer,
                growth: &self.growth,
                open_questions,
                done: Done::default(),
            };
            let (keep, finish) = job(Some(&mut tx));
            let Tx { open_questions: open_now, done, .. } = tx;
            let closed = if keep {
                self.execute("RELEASE job")
            } else {
                self.execute("ROLLBACK TO job").and_then(|()| self.execute("RELEASE job"))
            };
            if keep {
                open_questions = open_now;
                all.append(done);
            }
            if closed.is_err() {
                begun = closed;
            }
            finishers.push(finish);
        }
        let committed = begun.and_then(|()| self.execute("COMMIT"));
        if committed.is_ok() {
            self.open_questions = open_questions;
            self.tail.publish(all.events);
            all.effects.into_iter().for_each(|effect| effect());
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
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use rusqlite::params;

    use super::*;

    /// A writer over one table, in which `y` may only hold what is in `x` when a transaction commits.
    fn writer() -> Arc<Writer> {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(
            "CREATE TABLE x (n INTEGER PRIMARY KEY);
             CREATE TABLE y (n INTEGER REFERENCES x (n) DEFERRABLE INITIALLY DEFERRED);
             CREATE TRIGGER full BEFORE INSERT ON x WHEN new.n = 666 BEGIN SELECT RAISE(ROLLBACK, 'full'); END;",
        )
        .unwrap();
        let sealer = Arc::new(Sealer::new(&[7; 32]));
        Arc::new(Writer::start(conn, Arc::new(Tail::starting_after(0)), Arc::default(), sealer, 0).unwrap())
    }

    fn insert(table: &'static str, n: i64) -> impl FnOnce(&mut Tx<'_>) -> StoreResult<i64> + Send {
        move |tx| {
            tx.conn.execute(&format!("INSERT INTO {table} (n) VALUES (?1)"), params![n])?;
            tx.open_questions += n;
            Ok(n)
        }
    }

    /// Runs `jobs` in one commit: the writer is kept busy until all of them are waiting.
    async fn in_one_batch(writer: &Arc<Writer>, jobs: &[(&'static str, i64)]) -> Vec<StoreResult<i64>> {
        let (release, held): (_, Receiver<()>) = channel();
        let (started, begun) = tokio::sync::oneshot::channel();
        let holder = {
            let writer = Arc::clone(writer);
            let hold = move |_: &mut Tx<'_>| {
                started.send(()).unwrap();
                held.recv().ok();
                Ok(())
            };
            tokio::spawn(async move { writer.run(hold).await })
        };
        begun.await.unwrap();
        let waiting: Vec<_> = jobs
            .iter()
            .map(|(table, n)| {
                let (writer, job) = (Arc::clone(writer), insert(table, *n));
                tokio::spawn(async move { writer.run(job).await })
            })
            .collect();
        while writer.jobs.capacity() > QUEUE - jobs.len() {
            tokio::task::yield_now().await;
        }
        drop(release);
        holder.await.unwrap().unwrap();
        let mut results = Vec::new();
        for job in waiting {
            results.push(job.await.unwrap());
        }
        results
    }

    /// What is stored, and what the writer believes of it.
    async fn kept(writer: &Writer) -> (Vec<i64>, i64) {
        let read = |tx: &mut Tx<'_>| {
            let mut statement = tx.conn.prepare("SELECT n FROM x UNION ALL SELECT n FROM y ORDER BY n")?;
            let numbers = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok((numbers, tx.open_questions))
        };
        writer.run(read).await.unwrap()
    }

    fn unavailable(result: &StoreResult<i64>) -> bool {
        matches!(result, Err(StoreError::Unavailable(_)))
    }

    #[tokio::test]
    async fn a_job_that_fails_undoes_only_itself() {
        let writer = writer();
        let results = in_one_batch(&writer, &[("x", 1), ("x", 1), ("x", 2)]).await;
        assert!(matches!(results[0], Ok(1)) && unavailable(&results[1]) && matches!(results[2], Ok(2)));
        assert_eq!(kept(&writer).await, (vec![1, 2], 3));
    }

    #[tokio::test]
    async fn a_commit_that_fails_acknowledges_nobody() {
        let writer = writer();
        in_one_batch(&writer, &[("x", 1)]).await;
        let results = in_one_batch(&writer, &[("x", 2), ("y", 404), ("x", 3)]).await;
        assert!(results.iter().all(unavailable), "{results:?}");
        assert_eq!(kept(&writer).await, (vec![1], 1));
        assert!(matches!(in_one_batch(&writer, &[("x", 4)]).await[..], [Ok(4)]));
        assert_eq!(kept(&writer).await, (vec![1, 4], 5));
    }

    /// What SQLite does by itself when the disk is full or broken: the whole transaction is gone in the middle of a batch.
    #[tokio::test]
    async fn a_transaction_that_is_rolled_back_beneath_a_job_acknowledges_nobody() {
        let writer = writer();
        let results = in_one_batch(&writer, &[("x", 1), ("x", 666), ("x", 2)]).await;
        assert!(results.iter().all(unavailable), "{results:?}");
        assert_eq!(kept(&writer).await, (vec![], 0));
        assert!(matches!(in_one_batch(&writer, &[("x", 3)]).await[..], [Ok(3)]));
        assert_eq!(kept(&writer).await, (vec![3], 3));
    }

    #[tokio::test]
    async fn an_effect_follows_the_commit_and_nothing_else() {
        let writer = writer();
        in_one_batch(&writer, &[("x", 1), ("x", 3)]).await;
        let (happened, effects) = channel();
        // The second fails by itself, the third at the commit.
        for (n, works) in [(1, true), (2, false), (404, false), (3, true)] {
            let happened = happened.clone();
            let job = move |tx: &mut Tx<'_>| {
                tx.after_commit(move || happened.send(n).unwrap());
                if n == 2 { Err(StoreError::Corrupt("as told".to_owned())) } else { insert("y", n)(tx) }
            };
            assert_eq!(writer.run(job).await.is_ok(), works, "{n}");
        }
        assert_eq!(effects.try_iter().collect::<Vec<_>>(), [1, 3]);
    }
}
