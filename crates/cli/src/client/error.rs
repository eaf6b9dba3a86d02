//! The errors between a client and the hub, each with its remedy.

use super::wire::Problem;
use askd_data::NotPrivate;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no hub answers at {url}; start it with: askd up")]
    NotRunning { url: String },
    #[error("the address {url:?} cannot be used: {why}")]
    BadUrl { url: String, why: String },
    #[error("something answers at {url}, but {why}; give a token with --token or ASKD_TOKEN")]
    NoToken { url: String, why: String },
    #[error(transparent)]
    NotPrivate(#[from] NotPrivate),
    #[error(
        "the hub at {url} does not accept the token from {from}: it was revoked, or belongs to another hub; see: askd doctor"
    )]
    Unauthorized { url: String, from: String },
    #[error("{}", .0.sentence())]
    Problem(Box<Problem>),
    /// The connection broke when the request may already have arrived.
    #[error("the connection to {url} broke: {detail}; running the same command again is safe")]
    Broken { url: String, detail: String },
    /// The same, for a request that must not be made twice.
    #[error(
        "the connection to {url} broke: {detail}; it may have been done: {look} before you run the same command again"
    )]
    Unsure { url: String, detail: String, look: &'static str },
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

    /// Marks a request that must not be made twice; `look` says how to find out whether it was done.
    pub fn unsure(self, look: &'static str) -> Self {
        match self {
            Self::Broken { url, detail } => Self::Unsure { url, detail, look },
            other => other,
        }
    }

    /// True if the same request may succeed a little later by itself.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::NotRunning { .. } | Self::Broken { .. } | Self::Unsure { .. } => true,
            Self::Problem(problem) => problem.status == 429 || problem.status >= 500,
            _ => false,
        }
    }
}
