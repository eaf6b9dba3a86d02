//! The first checks of a request: Host (against DNS rebinding), Origin (against other pages), sizes of header
//! and address.
//!
//! In: every request, before its handler. Out: the request, or a problem; CORS headers for origins that the
//! user allowed.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::limits::{MAX_HEADER_BYTES, MAX_URI_BYTES};
use super::problem::{Code, Problem};
use super::state::{AppState, Doors};

const CORS_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PATCH, DELETE");
const CORS_HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, idempotency-key, last-event-id, askd-surface");
const CORS_MAX_AGE: HeaderValue = HeaderValue::from_static("600");

pub async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    if let Err(problem) = check_size(&request) {
        return problem.into_response();
    }
    let origin = match check_names(&request, &state.doors) {
        Ok(origin) => origin,
        Err(problem) => return problem.into_response(),
    };
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key("access-control-request-method");
    let mut response = match (&origin, preflight) {
        (Some(_), true) => StatusCode::NO_CONTENT.into_response(),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        if preflight {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, CORS_METHODS);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, CORS_HEADERS);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, CORS_MAX_AGE);
        }
    }
    response
}

fn check_size(request: &Request) -> Result<(), Problem> {
    let header_bytes: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if header_bytes > MAX_HEADER_BYTES {
        let detail = format!("the header has {header_bytes} bytes, at most {MAX_HEADER_BYTES} are allowed");
        return Err(Problem::new(Code::HeaderTooLarge, detail));
    }
    let uri_bytes = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if uri_bytes > MAX_URI_BYTES {
        let detail = format!("the address has {uri_bytes} bytes, at most {MAX_URI_BYTES} are allowed");
        return Err(Problem::new(Code::UriTooLong, detail));
    }
    Ok(())
}

/// The allowed foreign origin, if the request comes from one.
fn check_names(request: &Request, doors: &Doors) -> Result<Option<HeaderValue>, Problem> {
    let host = text_of(request.headers(), &header::HOST).unwrap_or("");
    if request.headers().get_all(header::HOST).iter().count() > 1 || !doors.lets_in_host(host) {
        let detail = format!("{host:?} is not a name of this hub; allow it with --allow-host");
        return Err(Problem::new(Code::HostNotAllowed, detail));
    }
    let Some(origin) = request.headers().get(header::ORIGIN) else { return Ok(None) };
    let text = origin.to_str().unwrap_or("");
    let own = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    if own.is_some_and(|own| own == host) {
        return Ok(None);
    }
    if doors.origins.iter().any(|allowed| allowed == text) {
        return Ok(Some(origin.clone()));
    }
    let detail = format!("{text:?} may not use this hub; allow it with --allow-origin");
    Err(Problem::new(Code::OriginNotAllowed, detail))
}

fn text_of<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl Doors {
    /// Loopback names on any port (the client has reached the port already), and names that the user allowed.
    fn lets_in_host(&self, host: &str) -> bool {
        let name = without_port(host);
        let loopback = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
        loopback || self.hosts.iter().any(|allowed| allowed == host || allowed == name)
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_hub_are_let_in() {
        let doors =
            Doors { hosts: vec!["box.local".to_owned(), "[fe80::1]:2753".to_owned()], origins: vec![] };
        for host in ["127.0.0.1:2753", "localhost", "[::1]:80", "box.local:9", "box.local", "[fe80::1]:2753"]
        {
            assert!(doors.lets_in_host(host), "{host}");
        }
        for host in
            ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "[fe80::1]:1", "127.0.0.1:x"]
        {
            assert!(!doors.lets_in_host(host), "{host}");
        }
    }
}
