//! The one writer: the thread through which every change goes.
//!
//! In: jobs, each a closure over a transaction. Out: their results, once they are durable. The thread takes
//! all jobs that wait, gives each a savepoint of its own in one transaction, and commits them with one
//! `fsync`. After the commit it publishes the events and brings memory up to date, and only then it tells the
//! callers: a caller that is told of a change can read it.

use std::sync::Arc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use askd_core::Seq;

use super::failures::Failures;
pub(super) use super::transaction::Tx;
use super::transaction::{AfterCommit, Tails};
use crate::chain::Chain;
use crate::seal::Sealer;
use crate::{StoreError, StoreResult};

/// Jobs of one commit: bounds the wait of the first for the last.
const MAX_BATCH: usize = 512;
/// Jobs waiting for the writer; past it callers wait their turn.
const QUEUE: usize = 4096;

/// Reports the result of the commit to the caller.
type Finish = Box<dyn FnOnce(StoreResult<()>) + Send>;
/// Does the work and decides whether to keep it; without a transaction it does nothing.
type Run = Box<dyn FnOnce(Option<&mut Tx<'_>>) -> (StoreResult<()>, Finish) + Send>;

struct Job {
    chain: Option<Chain>,
    /// The caller's span with its question: log lines of the job belong to it.
    span: tracing::Span,
    run: Run,
}

/// The caller's side of the writer.
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    ended: watch::Receiver<bool>,
}

impl Writer {
    pub(super) fn start(
        conn: Connection,
        tails: Arc<Tails>,
        sealer: Arc<Sealer>,
        open_questions: i64,
        last: impl FnOnce(&Connection) -> StoreResult<()> + Send + 'static,
    ) -> StoreResult<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (end, ended) = watch::channel(false);
        let newest = tails.log.newest();
        let failures = Failures::default();
        let committer = Committer { conn, tails, sealer, open_questions, newest, failures };
        let run = move || {
            committer.run(queue, last);
            end.send_replace(true);
        };
        thread::Builder::new().name("askd-writer".to_owned()).spawn(run)?;
        Ok(Self { jobs, ended })
    }

    /// Runs `work` in the next commit and returns its result once it is durable. Failed work undoes only
    /// itself.
    pub(super) async fn run<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> StoreResult<T> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let run: Run = Box::new(move |tx| {
            let done = tx.map(work);
            let keep = match &done {
                Some(Ok(_)) => Ok(()),
                Some(Err(error)) => Err(error.clone()),
                None => Err(not_tried()),
            };
            let finish: Finish = Box::new(move |committed| {
                let result = match done {
                    Some(Err(error)) => Err(error),
                    Some(Ok(value)) => committed.map(|()| value),
                    None => committed.and(Err(not_tried())),
                };
                // The caller may have disconnected; the commit stays.
                drop(reply.send(result));
            });
            (keep, finish)
        });
        let job = Job { chain: Chain::current(), span: tracing::Span::current(), run };
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Waits for the thread, which ends with its last sender.
    pub(super) async fn close(self) {
        drop(self.jobs);
        let mut ended = self.ended;
        drop(ended.wait_for(|ended| *ended).await);
    }
}

fn not_tried() -> StoreError {
    StoreError::Unavailable("a change before it failed".to_owned())
}

/// The data of the thread.
struct Committer {
    conn: Connection,
    tails: Arc<Tails>,
    sealer: Arc<Sealer>,
    open_questions: i64,
    newest: Seq,
    failures: Failures,
}

impl Committer {
    /// Ends when no caller can give it work any more, or after a panic in the middle of a commit.
    fn run(mut self, mut queue: mpsc::Receiver<Job>, last: impl FnOnce(&Connection) -> StoreResult<()>) {
        let mut batch = Vec::new();
        while queue.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
            self.commit(batch.drain(..));
        }
        if let Err(error) = last(&self.conn) {
            tracing::warn!(%error, "the store could not be left as a clean stop leaves it");
        }
        // Other programs then find everything in one file.
        if let Err(error) = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
            tracing::warn!(%error, "could not bring SQLite's log into the database; the next start does it");
        }
    }

    /// Does the jobs in their order, makes them durable with one `fsync`, then tells every caller.
    fn commit(&mut self, batch: impl Iterator<Item = Job>) {
        let commit = tracing::error_span!("commit").entered();
        let mut begun = execute(&self.conn, "BEGIN IMMEDIATE");
        let mut finishers = Vec::new();
        let mut chains: Vec<Chain> = Vec::new();
        let mut after = AfterCommit::default();
        let (mut open_questions, mut newest) = (self.open_questions, self.newest);
        for Job { chain, span, run } in batch {
            commit.follows_from(&span);
            let _of_caller = span.entered();
            let has_failed = chain.as_ref().is_some_and(Chain::has_failed);
            if begun.is_ok() && !has_failed {
                begun = execute(&self.conn, "SAVEPOINT job");
            }
            if begun.is_err() || has_failed {
                chains.extend(chain);
                finishers.push(run(None).1);
                continue;
            }
            let mut tx = Tx {
                conn: &self.conn,
                sealer: &self.sealer,
                tails: &self.tails,
                open_questions,
                newest,
                after: AfterCommit::default(),
            };
            let (kept, finish) = run(Some(&mut tx));
            let Tx { open_questions: open_now, newest: newest_now, after: after_job, .. } = tx;
            match kept {
                Ok(()) => {
                    begun = execute(&self.conn, "RELEASE job");
                    (open_questions, newest) = (open_now, newest_now);
                    after.append(after_job);
                }
                Err(error) => {
                    // A broken disk makes SQLite undo the whole transaction by itself; then there is no
                    // savepoint either.
                    begun = execute(&self.conn, "ROLLBACK TO job")
                        .and_then(|()| execute(&self.conn, "RELEASE job"));
                    self.failures.note_job(&error);
                    if let Some(chain) = &chain {
                        chain.fail();
                    }
                }
            }
            chains.extend(chain);
            finishers.push(finish);
        }
        let committed = begun.and_then(|()| execute(&self.conn, "COMMIT"));
        if committed.is_ok() {
            (self.open_questions, self.newest) = (open_questions, newest);
            self.tails.log.publish(after.events);
            after.effects.into_iter().for_each(|effect| effect());
        } else {
            chains.iter().for_each(Chain::fail);
            // If this fails too, the next BEGIN fails, and is followed by another try.
            if !self.conn.is_autocommit()
                && let Err(error) = execute(&self.conn, "ROLLBACK")
            {
                tracing::error!(%error, "a refused commit could not be undone; trying again");
            }
        }
        self.failures.note_commit(&committed);
        for finish in finishers {
            finish(committed.clone());
        }
    }
}

fn execute(conn: &Connection, sql: &str) -> StoreResult<()> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests;
