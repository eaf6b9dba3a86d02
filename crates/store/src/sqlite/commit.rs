//! Commits: carries out the work of several callers and makes it durable at once.
//!
//! In: work, each a closure over a transaction. Out: its results, after one fsync for all. Events are published to the tail, and other
//! memory is brought up to date, after the commit and before any caller is told: whoever hears of a change can read it.

use std::sync::Arc;

use rusqlite::ErrorCode;

use askd_core::Seq;

use super::heads::Heads;
use super::journal::Journal;
use super::memory::Memory;
use super::tx::{Done, Tx};
use crate::chain::Chain;
use crate::seal::Sealer;
use crate::{StoreError, StoreResult};

/// What a job that fails takes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Only itself: it runs in a savepoint, for which SQLite copies every page that the job changes.
    Own,
    /// The whole commit, if it has written something already. For jobs that check everything before they write, so that
    /// afterwards only the disk can fail them, and that fails the commit anyway.
    Commit,
}

/// Tells the caller, once it is known whether the commit went through.
pub(super) type Finish = Box<dyn FnOnce(StoreResult<()>) + Send>;
/// Does the work and says whether to keep it; without a transaction it does nothing.
pub(super) type Run = Box<dyn FnOnce(Option<&mut Tx<'_>>) -> (bool, Finish) + Send>;

pub(super) struct Work {
    pub(super) scope: Scope,
    pub(super) chain: Option<Chain>,
    pub(super) run: Run,
}

pub(super) struct Committer {
    pub(super) journal: Journal,
    pub(super) memory: Arc<Memory>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) heads: Heads,
    pub(super) open_questions: i64,
    pub(super) newest: Seq,
    /// How many there were.
    pub(super) commits: u64,
}

impl Committer {
    /// Gives the database all that is durable.
    pub(super) fn fold(&mut self) -> StoreResult<()> {
        let folded = self.journal.fold(self.memory.under_way.newest());
        self.note_folded();
        folded
    }

    /// Begins to do so, beside the commits to come.
    pub(super) fn begin_fold(&mut self) {
        if let Err(error) = self.journal.begin_fold(self.memory.under_way.newest()) {
            tracing::error!(%error, "what is stored cannot be folded");
        }
        self.note_folded();
    }

    /// What the database has now need not be kept beside it.
    pub(super) fn note_folded(&mut self) {
        if let Some(through) = self.journal.newly_folded() {
            self.memory.under_way.folded(through);
            self.memory.set_folded(self.journal.is_folded());
        }
    }

    /// Carries out work in its order and makes it durable with one fsync, then tells everybody.
    pub(super) fn commit(&mut self, batch: impl IntoIterator<Item = Work>) {
        self.commits += 1;
        if self.journal.is_stuck() {
            drop(self.fold());
        }
        let mut begun = self.journal.ready();
        let mut finishers = Vec::new();
        let mut chains: Vec<Chain> = Vec::new();
        let mut all = Done::default();
        let (mut open_questions, mut newest) = (self.open_questions, self.newest);
        for Work { scope, chain, run } in batch {
            if chain.as_ref().is_some_and(Chain::has_failed) {
                finishers.push(run(None).1);
                continue;
            }
            let begun_here = begun.and_then(|()| match scope {
                Scope::Own => {
                    self.heads.store(&mut self.journal)?;
                    self.journal.begin_part()
                }
                Scope::Commit => Ok(self.journal.mark()),
            });
            let mark = match begun_here {
                Ok(mark) => mark,
                Err(error) => {
                    begun = Err(error);
                    chains.extend(chain);
                    finishers.push(run(None).1);
                    continue;
                }
            };
            let mut tx = Tx {
                journal: &mut self.journal,
                sealer: &self.sealer,
                memory: &self.memory,
                heads: &mut self.heads,
                open_questions,
                newest,
                done: Done::default(),
            };
            let (keep, finish) = run(Some(&mut tx));
            let Tx { open_questions: open_now, newest: newest_now, done, .. } = tx;
            begun = match (scope, keep) {
                (Scope::Own, true) => self.journal.end_part(),
                (Scope::Own, false) => {
                    self.heads.forget();
                    self.journal.undo_part(mark)
                }
                (Scope::Commit, false) if self.journal.mark() != mark => {
                    Err(StoreError::Unavailable("another change of the same commit failed".to_owned()))
                }
                (Scope::Commit, _) => Ok(()),
            };
            if keep {
                (open_questions, newest) = (open_now, newest_now);
                all.append(done);
            } else if let Some(chain) = &chain {
                chain.fail();
            }
            chains.extend(chain);
            finishers.push(finish);
        }
        let stored = begun.and_then(|()| self.heads.store(&mut self.journal));
        let committed = stored.and_then(|()| self.journal.commit());
        if committed.is_ok() {
            if !self.journal.is_folded() {
                self.memory.set_folded(false);
            }
            (self.open_questions, self.newest) = (open_questions, newest);
            self.memory.under_way.change(all.questions);
            self.memory.tail.publish(all.events);
            all.effects.into_iter().for_each(|effect| effect());
        } else {
            chains.iter().for_each(Chain::fail);
            self.heads.forget();
            if let Err(error) = self.journal.undo() {
                tracing::error!(%error, "what could not be stored could not be undone; trying again");
            }
        }
        for finish in finishers {
            finish(committed.clone());
        }
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
