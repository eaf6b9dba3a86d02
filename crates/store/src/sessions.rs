//! Sources and sessions, with their liveness. Ending one ends what stands on it, in the same transaction.

use async_trait::async_trait;

use askd_core::{Cause, Session, SessionId, Source, SourceId, SourceState, Timestamp};

use crate::{NewEntry, StoreResult};

/// A source with everything for a new connection after a restart.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRecord {
    pub source: Source,
    /// The adapter's own settings as JSON; may hold credentials, so it never leaves the hub.
    pub settings: String,
}

/// A conversation as an adapter sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSeen {
    /// The id it gets if it is new.
    pub id: SessionId,
    pub source: SourceId,
    pub agent: String,
    pub native_id: String,
    pub cwd: Option<String>,
    pub title: Option<String>,
    pub parent: Option<SessionId>,
    pub pid: Option<u32>,
    pub managed: bool,
    pub at: Timestamp,
}

#[async_trait]
pub trait Sessions: Send + Sync {
    async fn add_source(&self, record: SourceRecord) -> StoreResult<()>;

    async fn set_source_state(
        &self,
        id: &SourceId,
        state: SourceState,
        error: Option<String>,
        at: Timestamp,
    ) -> StoreResult<Option<Source>>;

    /// Stores the adapter's data for a new connection.
    async fn set_source_settings(&self, id: &SourceId, settings: String) -> StoreResult<()>;

    async fn source(&self, id: &SourceId) -> StoreResult<Option<SourceRecord>>;

    /// All sources, newest first; ended ones too.
    async fn sources(&self) -> StoreResult<Vec<SourceRecord>>;

    /// Stores a conversation, or what is newly known of one; a new or revived one is told by
    /// `session.started`.
    async fn see_session(&self, seen: SessionSeen) -> StoreResult<Session>;

    /// Stores the native id of a session that askd started.
    async fn name_session(&self, id: &SessionId, native_id: &str) -> StoreResult<Option<Session>>;

    /// Allows or forbids keys in its terminal when a better channel fails.
    async fn set_tmux(&self, id: &SessionId, tmux: bool) -> StoreResult<Option<Session>>;

    async fn session(&self, id: &SessionId) -> StoreResult<Option<Session>>;

    /// The conversations with this native id from every source, oldest first, ended ones included.
    async fn sessions_called(&self, native_id: &str) -> StoreResult<Vec<Session>>;

    /// Those of the sessions with these ids that a source has.
    async fn sessions_by_id(&self, source: &SourceId, ids: &[SessionId]) -> StoreResult<Vec<Session>>;

    /// The sessions of a source, oldest first.
    async fn sessions_of_source(&self, source: &SourceId) -> StoreResult<Vec<Session>>;

    /// The newest sessions first.
    async fn sessions(&self, live: Option<bool>, limit: usize) -> StoreResult<Vec<Session>>;

    /// Ends a session, cancels its open questions and fails its unfinished deliveries, each told by its
    /// event.
    async fn end_session(&self, id: &SessionId, cause: Cause, at: Timestamp) -> StoreResult<Option<Session>>;

    /// Ends a source and all its sessions, with a last entry for its transcript in the same transaction: an
    /// ended source is not looked at again.
    async fn end_source(
        &self,
        id: &SourceId,
        cause: Cause,
        at: Timestamp,
        told: Option<(SessionId, NewEntry)>,
    ) -> StoreResult<Option<Source>>;
}
