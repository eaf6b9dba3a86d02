//! From bytes to types: bodies, query strings, ids and callers. Each refusal names the field.

use std::str::FromStr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::header;
use http::request::Parts;
use serde::de::DeserializeOwned;

use askd_core::{FieldError, Surface};
use askd_wire::readable::readable;

use super::limits::{BODY_PATIENCE, MAX_BODY_BYTES, MAX_KEY_BYTES};
use super::problem::{Code, Problem};
use super::state::AppState;
use askd_hub::Caller;

/// A JSON body.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<AppState> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, Problem> {
        must_be_json(&request)?;
        from_json(&read_body(request.into_body(), MAX_BODY_BYTES).await?).map(Self)
    }
}

/// A JSON body with an agent's text, which may be cut inside a character; see `askd_agents::outside`.
pub struct AgentsJson<T>(pub T);

impl<T: DeserializeOwned> FromRequest<AppState> for AgentsJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, Problem> {
        must_be_json(&request)?;
        let body = read_body(request.into_body(), MAX_BODY_BYTES).await?;
        from_json(readable(&body).as_bytes()).map(Self)
    }
}

fn must_be_json(request: &Request) -> Result<(), Problem> {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if content_type.is_some_and(is_json) {
        return Ok(());
    }
    Err(Problem::new(Code::UnsupportedMediaType, "send the body with Content-Type: application/json"))
}

/// A JSON body as its original text, to be forwarded byte for byte.
pub async fn json_text(request: Request, limit: usize) -> Result<String, Problem> {
    must_be_json(&request)?;
    let bytes = read_body(request.into_body(), limit).await?;
    String::from_utf8(bytes.into()).map_err(|_| Problem::new(Code::MalformedRequest, "the body is not UTF-8"))
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or("").trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// An optional JSON body.
pub struct OptionalJson<T>(pub T);

impl<T: DeserializeOwned + Default> FromRequest<AppState> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        if request.headers().get(header::CONTENT_TYPE).is_some() {
            let Json(value) = Json::<Option<T>>::from_request(request, state).await?;
            return Ok(Self(value.unwrap_or_default()));
        }
        let bytes = read_body(request.into_body(), MAX_BODY_BYTES).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        from_json::<Option<T>>(&bytes).map(|value| Self(value.unwrap_or_default()))
    }
}

async fn read_body(body: Body, limit: usize) -> Result<bytes::Bytes, Problem> {
    read_body_within(body, limit, BODY_PATIENCE).await
}

async fn read_body_within(body: Body, limit: usize, patience: Duration) -> Result<bytes::Bytes, Problem> {
    let too_large = || Problem::new(Code::BodyTooLarge, format!("a body may have at most {limit} bytes"));
    // A declared size over the limit is refused before the body arrives.
    if axum::body::HttpBody::size_hint(&body).lower() > limit as u64 {
        return Err(too_large());
    }
    let read = tokio::time::timeout(patience, axum::body::to_bytes(body, limit)).await.map_err(|_| {
        let detail = format!("the body did not come within {} seconds", patience.as_secs());
        Problem::new(Code::MalformedRequest, detail)
    })?;
    read.map_err(|error| {
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
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
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

/// Names the parameter: the path where the reader of the query string keeps one, else the name in its
/// message.
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

/// Path parts with foreign names. A part that is no text cannot be found.
pub struct Names<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<AppState> for Names<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let not_found = |_| Problem::new(Code::NotFound, "there is nothing with this name");
        Path::from_request_parts(parts, state).await.map(|Path(names)| Self(names)).map_err(not_found)
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
        let token = state.hub.access.authenticate(token.trim()).await;
        let token = token.ok_or_else(|| refused("this token is not known here"))?;
        state.port_watch.look(parts, &token);
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
        let mut values = parts.headers.get_all("idempotency-key").iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        if values.next().is_some() {
            let message = "is given more than once; a request has one name";
            return Err(Problem::field("Idempotency-Key", "duplicate", message));
        }
        let text = value.to_str().ok().filter(|text| (1..=MAX_KEY_BYTES).contains(&text.len()));
        let misfit = || {
            let message = format!("must be 1 to {MAX_KEY_BYTES} visible ASCII characters");
            Problem::field("Idempotency-Key", "invalid", message)
        };
        text.map(|text| Self(Some(text.to_owned()))).ok_or_else(misfit)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{StreamExt, stream};

    use super::*;

    #[tokio::test]
    async fn a_body_that_stops_in_the_middle_is_refused_when_the_patience_is_over() {
        let half = || {
            let first = stream::iter([Ok::<_, Infallible>(bytes::Bytes::from_static(b"{"))]);
            Body::from_stream(first.chain(stream::pending()))
        };
        let said = read_body_within(half(), 9, Duration::ZERO).await.unwrap_err().to_json();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("malformed_request") && said.contains("did not come within"), "{said}");
        let whole = read_body_within(Body::from("whole"), 9, Duration::ZERO).await;
        assert_eq!(whole.unwrap(), "whole", "what is there already is read");
    }
}
