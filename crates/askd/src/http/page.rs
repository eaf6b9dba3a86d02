//! The inbox page, embedded in the binary, with a strict Content-Security-Policy.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderValue, header};

use super::state::AppState;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/", get(|| async { file("text/html; charset=utf-8", include_str!("page/index.html")) }))
        .route(
            "/app.js",
            get(|| async { file("text/javascript; charset=utf-8", include_str!("page/app.js")) }),
        )
        .route("/app.css", get(|| async { file("text/css; charset=utf-8", include_str!("page/app.css")) }))
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (headers, text).into_response()
}
