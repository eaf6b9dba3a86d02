//! Why a message to an ACP server is refused. Each has one answer over HTTP, and none of them reaches the
//! agent.

use askd_core::Cause;

use crate::{EngineError, StartError};

#[derive(Debug, thiserror::Error)]
pub enum AcpError {
    #[error("there is no ACP server {0:?}; the first request starts one, with ?agent=NAME")]
    UnknownServer(String),
    #[error("the server {server:?} runs {running}, not {wanted}; end it first, or take another name")]
    OtherAgent { server: String, running: String, wanted: String },
    #[error("the agent of the server {server:?} has ended{}", told(.cause.as_ref()))]
    Ended { server: String, cause: Option<Cause> },
    #[error("the agent cannot be reached at this moment")]
    Unreachable,
    #[error("the agent has not got it: {0}")]
    NotWritten(String),
    #[error("several requests that wait have this id; end the turn that you mean with session/cancel")]
    AmbiguousCancel,
    #[error(
        "no request of yours with the id {0} waits: it has its response, or the hub was restarted since; a turn is ended with session/cancel"
    )]
    NothingToCancel(String),
    #[error("the agent waits for no response with the id {0}")]
    UnknownRequest(String),
    #[error("{0}")]
    Malformed(String),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

fn told(cause: Option<&Cause>) -> String {
    match cause {
        Some(cause) => format!(": {}", words(cause)),
        None => String::new(),
    }
}

/// A cause in a sentence.
pub(super) fn words(cause: &Cause) -> String {
    let with = |text: &str, detail: &Option<String>| match detail {
        Some(detail) => format!("{text} ({detail})"),
        None => text.to_owned(),
    };
    match cause {
        Cause::AgentExited { code, signal, stderr, .. } => {
            let how = match (code, signal) {
                (Some(code), _) => format!("it exited with code {code}"),
                (None, Some(signal)) => format!("it was killed by signal {signal}"),
                (None, None) => "it exited".to_owned(),
            };
            if stderr.is_empty() { how } else { format!("{how}; its last words: {}", stderr.join("\n")) }
        }
        Cause::SessionEnded { detail } => with("it was ended", detail),
        Cause::SourceLost { detail } => with("askd lost it", detail),
        Cause::AgentWithdrew { detail } => with("the agent took its question back", detail),
        Cause::AgentTimedOut { detail } => with("the agent's own time-out was over", detail),
        Cause::TurnAborted { detail } => with("the turn was aborted", detail),
        Cause::AskerWithdrew { reason } => with("the asker took its question back", reason),
        Cause::DeadlinePassed => "its deadline passed".to_owned(),
    }
}

impl From<askd_store::StoreError> for AcpError {
    fn from(error: askd_store::StoreError) -> Self {
        Self::Engine(error.into())
    }
}
