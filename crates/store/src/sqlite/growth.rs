//! Who waits for which transcript to grow. In: growth that is durable. Out: a wake for those readers alone.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use askd_core::SessionId;

#[derive(Default)]
pub(super) struct Growth {
    watched: Mutex<HashMap<SessionId, watch::Sender<()>>>,
}

impl Growth {
    pub(super) fn watch(&self, transcript: &SessionId) -> watch::Receiver<()> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that nobody reads any more make room here.
        watched.retain(|_, sender| !sender.is_closed());
        watched.entry(transcript.clone()).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    pub(super) fn grew(&self, transcript: &SessionId) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watched.get(transcript) {
            sender.send_replace(());
        }
    }
}
