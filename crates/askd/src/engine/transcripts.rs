//! Where the words of a session are: in a transcript of its own, or in the stream of the ACP server that it belongs to.

use askd_core::{Session, SessionId};
use askd_store::TranscriptPage;

use super::managed::HeldSettings;
use super::{Engine, EngineError};

/// The words of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    pub id: SessionId,
    /// The session, where several share the transcript.
    about: Option<SessionId>,
}

impl Transcript {
    pub async fn page(&self, engine: &Engine, after: u64) -> Result<TranscriptPage, EngineError> {
        Ok(engine.store().entries_after(&self.id, self.about.as_ref(), after).await?)
    }
}

impl Engine {
    pub async fn transcript_of(&self, session: &Session) -> Result<Transcript, EngineError> {
        let source = self.store().source(&session.source_id).await?;
        let held = source.and_then(|source| serde_json::from_str::<HeldSettings>(&source.settings).ok());
        Ok(match held.and_then(HeldSettings::stream) {
            Some(stream) => Transcript { id: stream, about: Some(session.id.clone()) },
            None => Transcript { id: session.id.clone(), about: None },
        })
    }
}
