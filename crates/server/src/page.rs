//! The inbox page, embedded in the binary, with a strict Content-Security-Policy.
//!
//! In: the built files of `web/`, checked in under `web/dist`, so that no Node is needed to build askd. Out:
//! a route for each. `npm test` in `web/` keeps the built files and their sources in step.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::state::AppState;

/// Nothing from elsewhere, nothing inline, no frames: this page shows agents' text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Names that begin so carry a hash of their content: such a file never changes.
const HASHED: [&str; 2] = ["assets/", "sdk/widget-"];

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Built;

pub fn routes() -> Router<AppState> {
    Built::iter().fold(Router::new(), |router, name| {
        let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
        router.route(&path, get(move |headers: HeaderMap| async move { answer(&name, &headers) }))
    })
}

fn answer(name: &str, request: &HeaderMap) -> Response {
    // Every route was made from a name in the folder.
    let Some(file) = Built::get(name) else { return StatusCode::NOT_FOUND.into_response() };
    let tag = entity_tag(&file);
    let cache = if is_hashed(name) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type(name))),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::ETAG, tag.clone()),
    ];
    if request.get(header::IF_NONE_MATCH).is_some_and(|known| *known == tag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, file.data.into_owned()).into_response()
}

fn is_hashed(name: &str) -> bool {
    HASHED.iter().any(|beginning| name.starts_with(beginning))
}

fn entity_tag(file: &EmbeddedFile) -> HeaderValue {
    let hash = file.metadata.sha256_hash();
    let hex: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{hex}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webmanifest" => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_file_has_a_type_and_the_page_names_only_files_that_exist() {
        for name in Built::iter() {
            assert_ne!(content_type(&name), "application/octet-stream", "{name}");
        }
        let page = Built::get("index.html").unwrap();
        let page = std::str::from_utf8(&page.data).unwrap();
        let named: Vec<&str> = page.split('"').filter_map(|part| part.strip_prefix("/assets/")).collect();
        assert!(named.len() >= 2, "{page}");
        for name in named {
            assert!(Built::get(&format!("assets/{name}")).is_some(), "{name}");
        }
    }

    #[test]
    fn the_file_of_the_sdk_is_asked_for_again_and_the_one_with_its_hash_never() {
        let cache = |name: &str| answer(name, &HeaderMap::new()).headers()[header::CACHE_CONTROL].clone();
        assert_eq!(cache("sdk/widget.js"), "no-cache");
        let hashed = Built::iter().find(|name| name.starts_with("sdk/widget-")).unwrap();
        assert!(cache(&hashed).to_str().unwrap().contains("immutable"), "{hashed}");
        assert_eq!(Built::get(&hashed).unwrap().data, Built::get("sdk/widget.js").unwrap().data);
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        let first = answer("index.html", &HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let mut known = HeaderMap::new();
        known.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
        assert_eq!(answer("index.html", &known).status(), StatusCode::NOT_MODIFIED);
    }
}
