//! Who waits for which question. Woken from the log, so that it does not matter who settled it. Nobody follows the log while nobody waits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use askd_core::{EventType, QuestionId, Seq};

use super::Engine;

#[derive(Default)]
pub(super) struct Waiters {
    waiting: Mutex<Waiting>,
    /// Somebody waits, where nobody did.
    begun: Notify,
}

#[derive(Default)]
struct Waiting {
    /// How many wait for each, and what wakes them.
    by_question: HashMap<QuestionId, (usize, Arc<Notify>)>,
    /// The newest event when the first of them came.
    since: Seq,
}

/// One waiting caller; registered before it looks, so that no wake is missed.
pub(super) struct Waiter<'a> {
    waiters: &'a Waiters,
    id: QuestionId,
    woken: std::pin::Pin<Box<tokio::sync::futures::OwnedNotified>>,
}

impl Waiters {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, when the newest event is this one.
    pub(super) fn register(&self, id: &QuestionId, newest: Seq) -> Waiter<'_> {
        let mut waiting = self.waiting();
        if waiting.by_question.is_empty() {
            waiting.since = newest;
            self.begun.notify_one();
        }
        let (count, notify) = waiting.by_question.entry(id.clone()).or_default();
        *count += 1;
        let mut woken = Box::pin(Arc::clone(notify).notified_owned());
        woken.as_mut().enable();
        Waiter { waiters: self, id: id.clone(), woken }
    }

    fn wake(&self, id: &QuestionId) {
        if let Some((_, notify)) = self.waiting().by_question.get(id) {
            notify.notify_waiters();
        }
    }

    /// The newest event when the first of those who wait now came, if there are any.
    fn since(&self) -> Option<Seq> {
        let waiting = self.waiting();
        (!waiting.by_question.is_empty()).then_some(waiting.since)
    }
}

impl Waiter<'_> {
    pub(super) async fn woken(mut self) {
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

impl Engine {
    /// Follows the log and wakes those who wait for what it tells.
    pub(super) async fn follow_log(self) {
        let (mut newest, mut cursor) = (self.store().watch(), 0);
        loop {
            let Some(since) = self.inner.waiters.since() else {
                self.inner.waiters.begun.notified().await;
                continue;
            };
            cursor = cursor.max(since);
            match self.store().events_after(cursor).await {
                Ok(page) => {
                    let Some(last) = page.last() else {
                        if newest.changed().await.is_err() {
                            return;
                        }
                        continue;
                    };
                    cursor = last.seq;
                    for event in &page {
                        if let (EventType::QuestionResolved, Some(id)) = (event.kind, &event.question) {
                            self.inner.waiters.wake(id);
                        }
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "cannot read the log; trying again");
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            }
        }
    }
}
