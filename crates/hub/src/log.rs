//! The service `EventLog`: the stored event log, and `LogFollower`, a moving position in it.
//!
//! In: a cursor. Out: the later events, in order, as soon as they are stored. Streams, and callers that wait
//! for the end of a question, learn of other services' changes from the log.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use askd_core::Seq;
use askd_store::{LoggedEvent, Store, StoreResult};

use super::at;
use super::tasks::Tasks;

#[derive(Clone)]
pub struct EventLog {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    tasks: Tasks,
}

/// A moving position in the event log.
pub struct LogFollower {
    log: EventLog,
    newest: watch::Receiver<Seq>,
    stop: CancellationToken,
    cursor: Seq,
    /// The newest deleted event that the reader knows about.
    told_trimmed: Seq,
}

/// The next thing on a follower's way.
#[derive(Debug)]
pub enum LogNews {
    /// At least one event.
    Events(Vec<Arc<LoggedEvent>>),
    /// The retention has overtaken the reader: some of what came after `after` is deleted, up to `through`.
    Trimmed { after: Seq, through: Seq },
    /// Nothing came until the given time.
    Quiet,
    /// The hub stops.
    Stopping,
}

impl EventLog {
    pub(super) fn new(store: Arc<dyn Store>, tasks: Tasks) -> Self {
        Self { inner: Arc::new(Inner { store, tasks }) }
    }

    /// True if a cursor belongs to the time that was lost when this store was opened from a copy.
    pub fn is_of_another_store(&self, cursor: Seq) -> bool {
        self.inner.store.is_of_another_store(cursor)
    }

    /// The identity of the store: a cursor of another one is refused.
    pub fn identity(&self) -> &str {
        self.inner.store.identity()
    }

    pub fn newest(&self) -> Seq {
        self.inner.store.newest()
    }

    /// Events up to this number may have been deleted by the retention.
    pub async fn trimmed_through(&self) -> StoreResult<Seq> {
        self.inner.store.trimmed_through().await
    }

    /// Is cancelled when the hub is told to stop.
    pub(super) fn stopping(&self) -> CancellationToken {
        self.inner.tasks.stopping()
    }

    /// Goes on after `cursor`. The reader is told elsewhere that events up to `trimmed` may be deleted.
    pub fn follow(&self, cursor: Seq, trimmed: Seq) -> LogFollower {
        LogFollower {
            log: self.clone(),
            newest: self.inner.store.watch(),
            stop: self.inner.tasks.stopping(),
            cursor,
            told_trimmed: trimmed,
        }
    }
}

impl LogFollower {
    /// The number of the last event that the reader received.
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// Skips the events before this number.
    pub(super) fn skip_to(&mut self, cursor: Seq) {
        self.cursor = self.cursor.max(cursor);
    }

    /// The next event; waits for it, at most until a given time.
    pub async fn next(&mut self, until: Option<Instant>) -> StoreResult<LogNews> {
        loop {
            let newest = *self.newest.borrow_and_update();
            let page = self.log.inner.store.events_after(self.cursor).await?;
            let first = page.first().map_or(newest + 1, |event| event.seq);
            if let Some(trimmed) = self.trimmed(first).await? {
                return Ok(trimmed);
            }
            if let Some(last) = page.last() {
                self.cursor = last.seq;
                return Ok(LogNews::Events(page));
            }
            tokio::select! {
                changed = self.newest.changed() => if changed.is_err() { return Ok(LogNews::Stopping) },
                () = at(until) => return Ok(LogNews::Quiet),
                () = self.stop.cancelled() => return Ok(LogNews::Stopping),
            }
        }
    }

    /// Reports events after the cursor that are missing before `first`, the next existing one.
    async fn trimmed(&mut self, first: Seq) -> StoreResult<Option<LogNews>> {
        // Numbers have gaps only where the retention deleted events.
        if first <= self.cursor + 1 {
            return Ok(None);
        }
        let through = self.log.trimmed_through().await?;
        if through <= self.cursor.max(self.told_trimmed) {
            return Ok(None);
        }
        self.told_trimmed = through;
        Ok(Some(LogNews::Trimmed { after: self.cursor, through }))
    }
}
