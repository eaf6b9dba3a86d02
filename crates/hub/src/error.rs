//! Why the engine says no. Each has one answer over HTTP.

use askd_core::{FieldErrors, Question, Right};
use askd_store::{MAX_OPEN_QUESTIONS, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{0}")]
    Invalid(#[from] FieldErrors),
    #[error("there is no {0} with this id")]
    NotFound(&'static str),
    #[error("several {0}s have this name; use the id of askd")]
    Ambiguous(&'static str),
    #[error("this needs a token with the right {0}")]
    Forbidden(Right),
    #[error("this token was revoked")]
    Revoked,
    #[error("this question was settled in another way before")]
    Conflict(Box<Question>),
    /// No road to the agent can carry it, and why.
    #[error("{0}")]
    Uncarried(String),
    #[error("this Idempotency-Key was used with another request before")]
    KeyReused,
    #[error("{MAX_OPEN_QUESTIONS} questions are open, and that is the most")]
    TooManyOpen,
    #[error("too many plugins are connected")]
    TooManyPlugins,
    #[error("the hub is stopping; try again when it runs")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}
