//! The service `Transcripts`: the words of sessions.
//!
//! In: a session. Out: where its words are (in a transcript of its own, or in the stream of the ACP server
//! that it belongs to), and pages of them after a cursor.

use std::sync::Arc;

use tokio::sync::watch;

use askd_core::{Session, SessionId};
use askd_store::{Store, TranscriptPage};

use super::EngineError;
use super::managed::HeldSettings;

#[derive(Clone)]
pub struct Transcripts {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
}

/// The place of the words of one session, or of all sessions of one ACP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    id: SessionId,
    /// The session, if several share the transcript.
    about: Option<SessionId>,
}

impl Transcript {
    /// The whole stream of an ACP server.
    pub(super) fn whole(stream: SessionId) -> Self {
        Self { id: stream, about: None }
    }
}

impl Transcripts {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { inner: Arc::new(Inner { store }) }
    }

    /// The place of a session's words.
    pub async fn of(&self, session: &Session) -> Result<Transcript, EngineError> {
        let source = self.inner.store.source(&session.source_id).await?;
        let held = source.and_then(|source| serde_json::from_str::<HeldSettings>(&source.settings).ok());
        Ok(match held.and_then(HeldSettings::stream) {
            Some(stream) => Transcript { id: stream, about: Some(session.id.clone()) },
            None => Transcript { id: session.id.clone(), about: None },
        })
    }

    pub async fn page(&self, transcript: &Transcript, after: u64) -> Result<TranscriptPage, EngineError> {
        Ok(self.inner.store.entries_after(&transcript.id, transcript.about.as_ref(), after).await?)
    }

    /// Changes whenever the transcript grew.
    pub fn watch(&self, transcript: &Transcript) -> watch::Receiver<()> {
        self.inner.store.watch_transcript(&transcript.id)
    }
}
