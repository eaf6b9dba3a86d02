//! Sources (what askd is connected to) and sessions (conversations seen through them).

use crate::{Cause, SessionId, SourceId, Timestamp};

/// One conversation of one agent, seen through a source.
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
    /// Whether the conversation can still take an answer.
    pub live: bool,
    pub pid: Option<u32>,
    /// Whether askd started the agent's process.
    pub managed: bool,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Why it ended.
    pub end: Option<Cause>,
    /// Whether answers may be typed into its terminal (tmux) where the hook that should bring them is gone.
    #[serde(default)]
    pub tmux: bool,
    /// What the agent does now, where it says so itself: it may wait for something that is no question here. Not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
}

/// What an agent in a terminal does now, by its own word.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    pub state: ActivityState,
    /// What it waits for, in the agent's own words, such as `permission prompt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// Since when, where the agent says so.
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
    /// A dialog stands in its terminal: a question, a plan, or a permission.
    Waiting,
}

/// How well askd hears a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceState {
    Connecting,
    Connected,
    /// Not reachable now; askd tries again.
    Lost,
    /// Gone for good: detached by a person, or its process ended.
    Ended,
}

/// A place that questions come from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub id: SourceId,
    /// What kind of place: `managed`, or an adapter's own word.
    pub kind: String,
    pub agent: String,
    /// Where: a URL, a folder, a command. Never a password.
    pub label: String,
    pub state: SourceState,
    pub since: Timestamp,
    pub last_error: Option<String>,
}
