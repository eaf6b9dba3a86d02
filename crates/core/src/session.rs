//! Sources (the places that questions come from) and sessions (conversations in them).

use crate::{Cause, SessionId, SourceId, Timestamp};

/// One conversation with one agent, in a source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub id: SessionId,
    pub agent: String,
    pub source_id: SourceId,
    pub native_id: String,
    pub cwd: Option<String>,
    pub title: Option<String>,
    pub parent_id: Option<SessionId>,
    /// True while the conversation can take an answer.
    pub live: bool,
    pub pid: Option<u32>,
    /// True if askd started the agent's process.
    pub managed: bool,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// The reason of the end.
    pub end: Option<Cause>,
    /// True if the owner allows keys in the session's terminal (tmux) after its hook has gone.
    #[serde(default)]
    pub tmux: bool,
    /// The agent's activity by its own report, which can be a wait for something that is no question in askd.
    /// Not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
}

/// The activity of an agent in a terminal, by its own report.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    pub state: ActivityState,
    /// The subject of the wait in the agent's own words, such as `permission prompt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// The start of this activity, if the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActivityState {
    /// It waits for the next message.
    Idle,
    /// The model or a tool works.
    Working,
    /// The terminal shows a dialog: a question, a plan, or a permission.
    Waiting,
}

/// The state of the hub's connection to a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceState {
    Connecting,
    Connected,
    /// Not reachable now; askd tries again.
    Lost,
    /// Ended for good: a person detached it, or its process ended.
    Ended,
}

/// A place that questions come from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub id: SourceId,
    /// The kind: `managed`, or an adapter's own word.
    pub kind: String,
    pub agent: String,
    /// A URL, a folder or a command. Never a password.
    pub label: String,
    pub state: SourceState,
    pub since: Timestamp,
    pub last_error: Option<String>,
}
