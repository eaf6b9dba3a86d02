//! `application/problem+json` with stable codes: the one form of refusals in this API.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use askd_core::{FieldError, Question};
use askd_hub::StoreError;

use askd_hub::EngineError;

/// The codes. A code never changes its meaning; new ones may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    MalformedRequest,
    InvalidRequest,
    InvalidCursor,
    Unauthorized,
    LoginRefused,
    Forbidden,
    HostNotAllowed,
    OriginNotAllowed,
    NotFound,
    MethodNotAllowed,
    AlreadySettled,
    AmbiguousAnswer,
    IdempotencyKeyReused,
    AgentUnavailable,
    AgentUnsupported,
    ChannelCannotCarry,
    BodyTooLarge,
    UriTooLong,
    UnsupportedMediaType,
    TooManyOpenQuestions,
    TooManyStreams,
    TooManyWaits,
    HeaderTooLarge,
    Internal,
    StoreUnavailable,
    Stopping,
}

impl Code {
    fn parts(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::MalformedRequest => {
                (StatusCode::BAD_REQUEST, "malformed_request", "The request cannot be read")
            }
            Self::InvalidRequest => (StatusCode::BAD_REQUEST, "invalid_request", "The request does not fit"),
            Self::InvalidCursor => {
                (StatusCode::BAD_REQUEST, "invalid_cursor", "The cursor is not one of this store")
            }
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", "A valid token is needed"),
            Self::LoginRefused => {
                (StatusCode::UNAUTHORIZED, "invalid_code", "The log-in code is used, too old or unknown")
            }
            Self::Forbidden => (StatusCode::FORBIDDEN, "forbidden", "The token lacks a right"),
            Self::HostNotAllowed => {
                (StatusCode::FORBIDDEN, "host_not_allowed", "The Host is not one of this hub")
            }
            Self::OriginNotAllowed => {
                (StatusCode::FORBIDDEN, "origin_not_allowed", "The Origin is not allowed")
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "There is no such thing"),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "The method is not allowed here")
            }
            Self::AlreadySettled => {
                (StatusCode::CONFLICT, "already_settled", "The question was settled in another way")
            }
            Self::AmbiguousAnswer => {
                (StatusCode::CONFLICT, "ambiguous_answer", "It is not clear what is meant")
            }
            Self::IdempotencyKeyReused => {
                (StatusCode::CONFLICT, "idempotency_key_reused", "The key was used with another request")
            }
            Self::AgentUnavailable => {
                (StatusCode::CONFLICT, "agent_unavailable", "The agent cannot do this now")
            }
            Self::AgentUnsupported => {
                (StatusCode::CONFLICT, "agent_unsupported", "This version of the agent is not supported")
            }
            Self::ChannelCannotCarry => (
                StatusCode::CONFLICT,
                "channel_cannot_carry",
                "The only channel to the agent cannot carry this",
            ),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "The body is too large"),
            Self::UriTooLong => (StatusCode::URI_TOO_LONG, "uri_too_long", "The address is too long"),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "The body must be application/json",
            ),
            Self::TooManyOpenQuestions => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_open_questions", "Too many questions are open")
            }
            Self::TooManyStreams => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_streams", "Too many streams are open")
            }
            Self::TooManyWaits => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_waits", "Too many requests are waiting")
            }
            Self::HeaderTooLarge => {
                (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "header_too_large", "The header is too large")
            }
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Something is wrong in askd"),
            Self::StoreUnavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", "The store cannot be used now")
            }
            Self::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping", "The hub is stopping"),
        }
    }
}

/// A refusal on its way to the client.
#[derive(Debug, Clone)]
pub struct Problem(Box<ProblemBody>);

/// A refusal, as it is sent.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Always `about:blank`; `code` tells problems apart.
    #[serde(rename = "type")]
    kind: &'static str,
    title: String,
    status: u16,
    /// Stable, for programs.
    code: String,
    /// The cause and the remedy, for people.
    detail: String,
    /// The errors of single fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// With `already_settled`: the question and the outcome that won.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<Box<Question>>,
}

/// The delay before a client may try again.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let (status, code, title) = code.parts();
        Self(Box::new(ProblemBody {
            kind: "about:blank",
            title: title.to_owned(),
            status: status.as_u16(),
            code: code.to_owned(),
            detail: detail.into(),
            errors: Vec::new(),
            question: None,
        }))
    }

    pub fn with_errors(mut self, errors: Vec<FieldError>) -> Self {
        self.0.errors = errors;
        self
    }

    /// One invalid field.
    pub fn field(field: &str, code: &str, message: impl Into<String>) -> Self {
        Self::named(Code::InvalidRequest, field, code, message)
    }

    /// One invalid field, with a code of its own.
    pub fn named(problem: Code, field: &str, code: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let error = FieldError {
            field: field.to_owned(),
            item: None,
            code: code.to_owned(),
            message: message.clone(),
        };
        Self::new(problem, format!("{field}: {message}")).with_errors(vec![error])
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).unwrap_or_default()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let json = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, json)], self.to_json()).into_response();
        let extra: Option<(HeaderName, HeaderValue)> = match status {
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Some((header::RETRY_AFTER, RETRY_AFTER_SECONDS))
            }
            _ => None,
        };
        if let Some((name, value)) = extra {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let detail = error.to_string();
        match error {
            EngineError::Invalid(errors) => Self::new(Code::InvalidRequest, detail).with_errors(errors.0),
            EngineError::NotFound(_) => Self::new(Code::NotFound, detail),
            EngineError::Ambiguous(_) => Self::new(Code::AmbiguousAnswer, detail),
            EngineError::Revoked => Self::new(Code::Unauthorized, detail),
            EngineError::Forbidden(_) => Self::new(Code::Forbidden, detail),
            EngineError::Conflict(question) => {
                let who = question.outcome.as_ref().map(|outcome| {
                    let actor = outcome.by.actor.as_deref().unwrap_or("askd");
                    format!(
                        "it was {} by {actor} ({}) at {}",
                        outcome.status.as_str(),
                        outcome.by.surface.as_str(),
                        outcome.at
                    )
                });
                let mut problem = Self::new(Code::AlreadySettled, who.unwrap_or(detail));
                problem.0.question = Some(question);
                problem
            }
            EngineError::Uncarried(_) => Self::new(Code::ChannelCannotCarry, detail),
            EngineError::KeyReused => Self::new(Code::IdempotencyKeyReused, detail),
            EngineError::TooManyOpen => Self::new(Code::TooManyOpenQuestions, detail),
            EngineError::TooManyPlugins => Self::new(Code::TooManyStreams, detail),
            EngineError::Stopping | EngineError::Store(StoreError::Closed) => {
                Self::new(Code::Stopping, detail)
            }
            EngineError::Store(StoreError::Corrupt(_)) => {
                tracing::error!(%detail, "the store holds something unreadable");
                Self::new(Code::Internal, detail)
            }
            EngineError::Store(_) => Self::new(Code::StoreUnavailable, detail),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}
