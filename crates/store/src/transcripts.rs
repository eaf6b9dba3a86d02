//! What managed agents say. Stored in batches with a numbering of its own for each session, trimmed by a stated retention.

use async_trait::async_trait;
use tokio::sync::watch;

use askd_core::{SessionId, Timestamp};

use crate::StoreResult;

/// Bytes kept of one session's transcript: days of an agent's talk, or a flood.
pub const MAX_TRANSCRIPT_BYTES: u64 = 64 << 20;
/// Entries of one page.
pub const TRANSCRIPT_PAGE: usize = 256;

/// One thing that was said, before it has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// The line of the agent that it came from, counted from 1: one that an earlier call stored is not stored again.
    pub line: Option<u64>,
    pub at: Timestamp,
    /// Who: `agent`, `thought`, `tool`, `user`, `question`, `turn`, `error` or `other`.
    pub voice: &'static str,
    /// What, for showing.
    pub text: Option<String>,
    /// What, byte for byte.
    pub raw: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub number: u64,
    pub at: Timestamp,
    pub voice: String,
    pub text: Option<String>,
    pub raw: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptPage {
    pub entries: Vec<Entry>,
    /// Entries up to this number were deleted by the retention.
    pub trimmed_through: u64,
    /// The newest number.
    pub newest: u64,
}

#[async_trait]
pub trait Transcripts: Send + Sync {
    /// Stores what was said; lines that are stored already are left out. All that one line says comes in one call.
    async fn append(&self, session: &SessionId, entries: Vec<NewEntry>) -> StoreResult<()>;

    /// At most [`TRANSCRIPT_PAGE`] entries after `after`, in order.
    async fn entries_after(&self, session: &SessionId, after: u64) -> StoreResult<TranscriptPage>;

    /// Changes whenever some transcript grew.
    fn watch_transcripts(&self) -> watch::Receiver<u64>;
}
