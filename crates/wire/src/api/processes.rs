//! The managed agents' processes.

use askd_core::SessionId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A managed agent, for `askd doctor` and for the message of Ctrl-C.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldAgent {
    pub session_id: SessionId,
    pub agent: String,
    pub alive: bool,
    pub holder_pid: Option<i32>,
    pub agent_pid: Option<i32>,
}
