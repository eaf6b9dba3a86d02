//! From bytes to types at the border: bodies, query strings, ids and who calls. Each refusal names the field.

use std::str::FromStr;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::header;
use http::request::Parts;
use serde::de::DeserializeOwned;

use askd_core::{FieldError, Surface};

use super::limits::{MAX_BODY_BYTES, MAX_KEY_BYTES};
use super::objects::Objects;
use super::problem::{Code, Problem};
use super::state::AppState;
use crate::engine::Caller;

/// A JSON body.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<AppState> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, Problem> {
        must_be_json(&request)?;
        from_json(&read_body(request.into_body(), MAX_BODY_BYTES).await?).map(Self)
    }
}

fn must_be_json(request: &Request) -> Result<(), Problem> {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if content_type.is_some_and(is_json) {
        return Ok(());
    }
    Err(Problem::new(Code::UnsupportedMediaType, "send the body with Content-Type: application/json"))
}

/// A JSON body as the text that was sent, for what is passed on byte for byte.
pub async fn json_text(request: Request, limit: usize) -> Result<String, Problem> {
    must_be_json(&request)?;
    let bytes = read_body(request.into_body(), limit).await?;
    String::from_utf8(bytes.into()).map_err(|_| Problem::new(Code::MalformedRequest, "the body is not UTF-8"))
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or("").trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// A JSON body that may be left out.
pub struct OptionalJson<T>(pub T);

impl<T: DeserializeOwned + Default> FromRequest<AppState> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        if request.headers().get(header::CONTENT_TYPE).is_some() {
            return Json::from_request(request, state).await.map(|Json(value)| Self(value));
        }
        let bytes = read_body(request.into_body(), MAX_BODY_BYTES).await?;
        if bytes.is_empty() { Ok(Self(T::default())) } else { from_json(&bytes).map(Self) }
    }
}

async fn read_body(body: Body, limit: usize) -> Result<bytes::Bytes, Problem> {
    let too_large = || Problem::new(Code::BodyTooLarge, format!("a body may have at most {limit} bytes"));
    // A size that is claimed beforehand is refused without waiting for it.
    if axum::body::HttpBody::size_hint(&body).lower() > limit as u64 {
        return Err(too_large());
    }
    axum::body::to_bytes(body, limit).await.map_err(|error| {
        let source = std::error::Error::source(&error);
        if source.is_some_and(|source| source.is::<http_body_util::LengthLimitError>()) {
            too_large()
        } else {
            Problem::new(Code::MalformedRequest, "the body ended too early")
        }
    })
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(Objects(&mut deserializer)).map_err(|error| {
        let field = error.path().to_string();
        let inner = error.into_inner();
        if inner.is_data() {
            let message = inner.to_string();
            let field_error =
                FieldError { field: field.clone(), item: None, code: "wrong_type".to_owned(), message };
            Problem::new(Code::InvalidRequest, format!("{field}: {inner}")).with_errors(vec![field_error])
        } else {
            Problem::new(Code::MalformedRequest, format!("the body is not JSON that askd can read: {inner}"))
        }
    })?;
    deserializer
        .end()
        .map_err(|error| Problem::new(Code::MalformedRequest, format!("after the JSON value: {error}")))?;
    Ok(value)
}

/// A query string.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let axum::extract::Query(value) =
            axum::extract::Query::try_from_uri(&parts.uri).map_err(|error| query_problem(&error))?;
        Ok(Self(value))
    }
}

/// Names the parameter: the path where the reader of the query string keeps one, else the name in its message.
fn query_problem(error: &axum::extract::rejection::QueryRejection) -> Problem {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<serde_path_to_error::Error<serde::de::value::Error>>() {
            let message = cause.inner().to_string();
            let path = cause.path().to_string();
            let quoted = message.split('`').nth(1).unwrap_or("query").to_owned();
            let field = if path == "." { quoted } else { path };
            return Problem::field(&field, "invalid", message);
        }
        source = cause.source();
    }
    Problem::new(Code::InvalidRequest, error.to_string())
}

/// The id in the path. Whatever is not an id cannot be found.
pub struct Id<T>(pub T);

impl<T: FromStr> FromRequestParts<AppState> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let not_found = || Problem::new(Code::NotFound, "there is nothing with this id");
        let Path(text): Path<String> =
            Path::from_request_parts(parts, state).await.map_err(|_| not_found())?;
        text.parse().map(Self).map_err(|_| not_found())
    }
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let refused = |detail: &str| Problem::new(Code::Unauthorized, detail);
        let given = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given
            .ok_or_else(|| refused("send Authorization: Bearer TOKEN; the token is in the data folder"))?;
        let (scheme, token) = given.split_once(' ').unwrap_or((given, ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(refused("only Bearer tokens are understood"));
        }
        let token =
            state.engine.authenticate(token.trim()).ok_or_else(|| refused("this token is not known here"))?;
        let surface = match parts.headers.get("askd-surface") {
            None => Surface::Api,
            Some(value) => value.to_str().ok().and_then(Surface::parse_claim).ok_or_else(|| {
                Problem::field("Askd-Surface", "unknown", "must be web, terminal, cli, api or notification")
            })?,
        };
        Ok(Self { token, surface })
    }
}

/// The `Idempotency-Key` header, if there is one.
pub struct Key(pub Option<String>);

impl FromRequestParts<AppState> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        let text = value.to_str().ok().filter(|text| (1..=MAX_KEY_BYTES).contains(&text.len()));
        let misfit = || {
            let message = format!("must be 1 to {MAX_KEY_BYTES} visible ASCII characters");
            Problem::field("Idempotency-Key", "invalid", message)
        };
        text.map(|text| Self(Some(text.to_owned()))).ok_or_else(misfit)
    }
}
