//! The errors of the engine. Each has one response over HTTP.

use askd_core::{FieldErrors, Question, Right};
use askd_store::{MAX_OPEN_QUESTIONS, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{0}")]
    Invalid(#[from] FieldErrors),
    #[error("there is no {0} with this id")]
    NotFound(&'static str),
    #[error("several {0}s have this name; use askd's own id")]
    Ambiguous(&'static str),
    #[error("the token lacks the right \"{0}\"; use one that has it (`askd token create --right {0}`)")]
    Forbidden(Right),
    #[error("the token was revoked; make another with `askd token create`")]
    Revoked,
    #[error("this question was already settled in another way; nothing was changed")]
    Conflict(Box<Question>),
    /// No channel to the agent can carry the answer, and why.
    #[error("{0}")]
    Uncarried(String),
    #[error("this Idempotency-Key was used for another request; use a new key for a new request")]
    KeyReused,
    #[error("{MAX_OPEN_QUESTIONS} questions are open, which is the limit; answer or withdraw some first")]
    TooManyOpen,
    #[error("too many plugins are connected; end an agent that has one")]
    TooManyPlugins,
    #[error("the hub is stopping; try again when it runs")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}
