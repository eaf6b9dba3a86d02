//! What can go wrong between a client and the hub, each with what to do about it.

use std::path::PathBuf;

use super::wire::Problem;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no hub answers at {url}; start it with: askd up")]
    NotRunning { url: String },
    #[error("the address {url:?} cannot be used: {why}")]
    BadUrl { url: String, why: String },
    #[error(
        "something answers at {url}, but {}; give a token with --token or ASKD_TOKEN",
        .looked.as_ref().map_or("there is no token for it".to_owned(), |path| format!("it is not the hub of {}", path.display()))
    )]
    NoToken { url: String, looked: Option<PathBuf> },
    #[error("cannot read {}: {error}", path.display())]
    Token { path: PathBuf, error: std::io::Error },
    #[error(
        "the hub at {url} does not accept the token from {from}: it was revoked, or belongs to another hub; see: askd doctor"
    )]
    Unauthorized { url: String, from: String },
    #[error("{}", .0.sentence())]
    Problem(Box<Problem>),
    /// The connection broke when the request may already have arrived.
    #[error("the connection to {url} broke: {detail}; running the same command again is safe")]
    Broken { url: String, detail: String },
    #[error("what answers at {url} is not an askd hub of this version: {detail}; see: askd doctor")]
    Unreadable { url: String, detail: String },
}

impl ClientError {
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    /// Whether the same request may succeed a little later, without anybody doing anything about it.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::NotRunning { .. } | Self::Broken { .. } => true,
            Self::Problem(problem) => problem.status == 429 || problem.status >= 500,
            _ => false,
        }
    }
}
