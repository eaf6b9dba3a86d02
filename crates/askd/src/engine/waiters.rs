//! Who waits for which question. Woken from the log, so that it does not matter who settled it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use askd_core::{EventType, QuestionId, Seq};

use super::Engine;

#[derive(Default)]
pub(super) struct Waiters {
    waiting: Mutex<HashMap<QuestionId, Arc<Notify>>>,
}

/// One waiting caller; registered before it looks, so that no wake is missed.
pub(super) struct Waiter<'a> {
    waiters: &'a Waiters,
    id: QuestionId,
    notify: Arc<Notify>,
    woken: std::pin::Pin<Box<tokio::sync::futures::OwnedNotified>>,
}

impl Waiters {
    pub(super) fn register(&self, id: &QuestionId) -> Waiter<'_> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let notify = Arc::clone(waiting.entry(id.clone()).or_default());
        let mut woken = Box::pin(Arc::clone(&notify).notified_owned());
        woken.as_mut().enable();
        Waiter { waiters: self, id: id.clone(), notify, woken }
    }

    fn wake(&self, id: &QuestionId) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = waiting.get(id) {
            notify.notify_waiters();
        }
    }
}

impl Waiter<'_> {
    pub(super) async fn woken(mut self) {
        self.woken.as_mut().await;
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiters.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // The map's own copy, this one and the one inside `woken`: nobody else waits.
        if Arc::strong_count(&self.notify) <= 3 {
            waiting.remove(&self.id);
        }
    }
}

impl Engine {
    /// Follows the log from now on and wakes those who wait for what it tells.
    pub(super) fn follow_log(self) -> impl Future<Output = ()> {
        // Taken before this returns, so that nothing that is asked afterwards is passed over.
        let mut newest = self.store().watch();
        let cursor = *newest.borrow_and_update();
        self.follow_from(newest, cursor)
    }

    async fn follow_from(self, mut newest: tokio::sync::watch::Receiver<Seq>, mut cursor: Seq) {
        loop {
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
