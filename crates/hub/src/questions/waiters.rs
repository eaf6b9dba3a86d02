//! The callers that wait for the end of a question.
//!
//! In: callers, and the event log, which has every end from any node and service. Out: woken callers. It
//! follows the log only while there are callers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio_util::sync::CancellationToken;

use askd_core::{EventType, QuestionId, Seq};

use crate::log::{EventLog, LogNews};

/// Pause after the log could not be read.
const TRY_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) struct Waiters {
    inner: Arc<Inner>,
}

struct Inner {
    log: EventLog,
    waiting: Mutex<Waiting>,
    /// Signals the first waiter.
    begun: Notify,
}

#[derive(Default)]
struct Waiting {
    /// For each question: the number of waiters, and their wake.
    by_question: HashMap<QuestionId, (usize, Arc<Notify>)>,
    /// The newest event when the first of them came.
    since: Seq,
}

/// One waiting caller. It registers before it reads the question, so it misses no wake.
pub(crate) struct Waiter<'a> {
    waiters: &'a Waiters,
    id: QuestionId,
    woken: std::pin::Pin<Box<OwnedNotified>>,
}

impl Waiters {
    pub(crate) fn new(log: EventLog) -> Self {
        Self { inner: Arc::new(Inner { log, waiting: Mutex::default(), begun: Notify::new() }) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.inner.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a question from now on.
    pub(crate) fn register(&self, id: &QuestionId) -> Waiter<'_> {
        let newest = self.inner.log.newest();
        let mut waiting = self.waiting();
        if waiting.by_question.is_empty() {
            waiting.since = newest;
            self.inner.begun.notify_one();
        }
        let (count, notify) = waiting.by_question.entry(id.clone()).or_default();
        *count += 1;
        let mut woken = Box::pin(Arc::clone(notify).notified_owned());
        woken.as_mut().enable();
        Waiter { waiters: self, id: id.clone(), woken }
    }

    /// Is cancelled when the hub is told to stop: then none waits any longer.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.inner.log.stopping()
    }

    fn wake(&self, id: &QuestionId) {
        if let Some((_, notify)) = self.waiting().by_question.get(id) {
            notify.notify_waiters();
        }
    }

    /// The newest event at the time when the first present waiter came.
    fn since(&self) -> Option<Seq> {
        let waiting = self.waiting();
        (!waiting.by_question.is_empty()).then_some(waiting.since)
    }

    /// Follows the event log and wakes the waiters of each settled question.
    pub(crate) async fn run(self) {
        let mut follower = self.inner.log.follow(0, 0);
        loop {
            let Some(since) = self.since() else {
                self.inner.begun.notified().await;
                continue;
            };
            follower.skip_to(since);
            match follower.next(None).await {
                Ok(LogNews::Events(page)) => {
                    for event in page {
                        if let (EventType::QuestionResolved, Some(id)) = (event.kind, &event.question) {
                            self.wake(id);
                        }
                    }
                }
                // No caller waits for deleted events.
                Ok(LogNews::Trimmed { .. } | LogNews::Quiet) => {}
                Ok(LogNews::Stopping) => return,
                Err(error) => {
                    tracing::error!(%error, "cannot read the log; trying again");
                    tokio::time::sleep(TRY_AGAIN).await;
                }
            }
        }
    }
}

impl Waiter<'_> {
    pub(crate) async fn woken(mut self) {
        self.woken.as_mut().await;
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Entry::Occupied(mut waiting) = self.waiters.waiting().by_question.entry(self.id.clone()) {
            waiting.get_mut().0 -= 1;
            if waiting.get().0 == 0 {
                waiting.remove();
            }
        }
    }
}
