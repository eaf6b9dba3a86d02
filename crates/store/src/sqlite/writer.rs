//! One writer: the door through which every change goes.
//!
//! In: work. Out: its result, once it is durable. Whoever comes while nobody else writes commits by himself, which is faster than to
//! wake another thread and be woken by it; everybody else waits for the writer's thread, which makes one commit for all that wait. When
//! there is nothing else to do, when much waits, or when somebody wants to read it, that thread has what is durable folded into the database.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tokio::runtime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

pub(super) use super::commit::Scope;
use super::commit::{Committer, Finish, Run, Work};
use super::heads::Heads;
use super::journal::Journal;
use super::memory::Memory;
use super::redo::Redo;
pub(super) use super::tx::Tx;
use crate::chain::Chain;
use crate::seal::Sealer;
use crate::{StoreError, StoreResult};

/// Jobs of one commit: bounds the time that the first of them waits for the last.
const MAX_BATCH: usize = 512;
/// Jobs waiting for the writer; past it callers wait their turn.
const QUEUE: usize = 4096;
/// A pause of this length is time to fold: longer than between the steps of agents and programs that answer each other at once.
const FOLD_AFTER: Duration = Duration::from_millis(2);

type Read = Box<dyn FnOnce(StoreResult<&Connection>) + Send>;

/// What the thread is to do.
enum Job {
    Work(Work, Ticket),
    /// Everything before it is to be in the database.
    Fold(oneshot::Sender<StoreResult<()>>, Ticket),
    /// Reads what the database has, and what waits for it.
    Read(Read),
    /// There is something to fold when nothing else is to do.
    Watch,
}

struct Shared {
    committer: Mutex<Committer>,
    /// What was given to the thread and is not done: nobody overtakes it.
    waiting: AtomicUsize,
}

/// Counts as waiting until it is dropped.
struct Ticket(Arc<Shared>);

impl Ticket {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.waiting.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The caller's side of the writer.
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    shared: Arc<Shared>,
    ended: watch::Receiver<bool>,
}

impl Writer {
    pub(super) fn start(
        conn: Connection,
        memory: Arc<Memory>,
        sealer: Arc<Sealer>,
        open_questions: i64,
        redo: Redo,
    ) -> StoreResult<Self> {
        let clock = runtime::Builder::new_current_thread().enable_time().build()?;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (end, ended) = watch::channel(false);
        let (newest, journal) = (memory.tail.newest(), Journal::new(conn, redo)?);
        let committer = Committer {
            journal,
            memory,
            sealer,
            heads: Heads::default(),
            open_questions,
            newest,
            commits: 0,
        };
        let shared = Arc::new(Shared { committer: Mutex::new(committer), waiting: AtomicUsize::new(0) });
        let kept = Arc::clone(&shared);
        let run = move || {
            run(&shared, &clock, queue);
            end.send_replace(true);
        };
        thread::Builder::new().name("askd-writer".to_owned()).spawn(run)?;
        Ok(Self { jobs, shared: kept, ended })
    }

    /// Runs `work` in the next commit and returns its result once that is durable.
    pub(super) async fn run<T, F>(&self, scope: Scope, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> StoreResult<T> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let run: Run = Box::new(move |tx| {
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
        if let Some(work) = self.run_at_once(Work { scope, chain: Chain::current(), run }) {
            self.give(Job::Work(work, Ticket::new(&self.shared))).await?;
        }
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Commits in the caller's own thread if nobody else writes, or gives the work back. That blocks the thread for an fsync, so it is done
    /// only for short work of which no more comes at the same time, and where that was short the last time.
    fn run_at_once(&self, work: Work) -> Option<Work> {
        let is_first = || self.shared.waiting.load(Ordering::SeqCst) == 0;
        let comes_alone = !work.chain.as_ref().is_some_and(Chain::shares_commits);
        if work.scope == Scope::Own || !comes_alone || !is_first() {
            return Some(work);
        }
        let Ok(mut committer) = self.shared.committer.try_lock() else { return Some(work) };
        committer.note_folded();
        let journal = &committer.journal;
        if !is_first() || !journal.is_quick() || journal.is_full() || journal.is_folding() {
            return Some(work);
        }
        let was_folded = committer.journal.is_folded();
        committer.commit([work]);
        if was_folded && !committer.journal.is_folded() {
            // If the queue is full, the thread has something to do anyway.
            drop(self.jobs.try_send(Job::Watch));
        }
        None
    }

    /// Returns once the database has everything that any caller was told before.
    pub(super) async fn fold(&self) -> StoreResult<()> {
        let (reply, result) = oneshot::channel();
        self.give(Job::Fold(reply, Ticket::new(&self.shared))).await?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    /// Reads on the writer's own connection, which has everything even if nothing can be folded.
    pub(super) async fn read<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let read: Read = Box::new(move |conn| drop(reply.send(conn.and_then(work))));
        self.give(Job::Read(read)).await?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    async fn give(&self, job: Job) -> StoreResult<()> {
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)
    }

    /// Waits until the thread has ended, which it does when every sender is gone.
    pub(super) async fn close(self) {
        drop(self.jobs);
        let mut ended = self.ended;
        drop(ended.wait_for(|ended| *ended).await);
    }
}

/// The writer's thread. It ends when nobody can give it work any more, or after a panic in the middle of a commit.
fn run(shared: &Shared, clock: &runtime::Runtime, mut queue: mpsc::Receiver<Job>) {
    let mut batch: Vec<Job> = Vec::new();
    let (mut pause, mut commits) = (Duration::MAX, 0);
    loop {
        let taken = clock.block_on(async { timeout(pause, queue.recv_many(&mut batch, MAX_BATCH)).await });
        let Ok(mut committer) = shared.committer.lock() else { return };
        // Whoever came while another committed.
        batch.extend(std::iter::from_fn(|| queue.try_recv().ok()).take(MAX_BATCH - batch.len()));
        let is_over = taken == Ok(0);
        let is_idle = taken.is_err() && commits == committer.commits;
        let (mut works, mut tickets, mut folds, mut reads) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for job in batch.drain(..) {
            match job {
                Job::Work(work, ticket) => {
                    works.push(work);
                    tickets.push(ticket);
                }
                Job::Fold(reply, ticket) => {
                    folds.push(reply);
                    tickets.push(ticket);
                }
                Job::Read(read) => reads.push(read),
                Job::Watch => {}
            }
        }
        if !works.is_empty() {
            committer.commit(works);
        }
        committer.note_folded();
        if is_over || !folds.is_empty() {
            let folded = committer.fold();
            for reply in folds {
                drop(reply.send(folded.clone()));
            }
        } else if committer.journal.is_full() || (is_idle && !committer.journal.is_folding()) {
            committer.begin_fold();
        }
        for read in reads {
            read(committer.journal.read());
        }
        committer.note_folded();
        if is_over {
            return committer.journal.close();
        }
        commits = committer.commits;
        // After a fold that failed the next who writes or reads tries again.
        let is_to_fold = !committer.journal.is_folded() && !committer.journal.is_stuck();
        pause = if is_to_fold { FOLD_AFTER } else { Duration::MAX };
    }
}

#[cfg(test)]
mod tests;
