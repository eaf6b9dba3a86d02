//! The HTTP of the scripted model, around the pure parts.
//!
//! In: requests. Out: the next turn in the request's own protocol, after its delay; every request in the log before that.
//!
//! | route | answer |
//! |---|---|
//! | `POST .../messages`, `.../chat/completions`, `.../responses` | the next turn, streamed if the request says `stream` |
//! | `POST .../messages/count_tokens` | a fixed count |
//! | `GET /__log` (`?bodies=true`) | the log |
//! | anything else | 404, logged |

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::conversation::Conversation;
use super::dialect::{Dialect, Protocol, Said};
use super::log::{Log, LogPage, Request};
use super::reply::{Reply, reply};
use super::script::{Failure, Script};

/// A long conversation of a real agent has a few megabytes.
const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Shared {
    script: Script,
    log: Mutex<Log>,
    /// Counts the requests, so that a test can wait for the next one.
    pub(super) arrived: watch::Sender<u64>,
    /// Makes ids differ between two servers that see the same conversation one after the other.
    born: u128,
    replies: AtomicU64,
}

impl Shared {
    pub(super) fn new(script: Script) -> Self {
        Self {
            script,
            log: Mutex::default(),
            arrived: watch::Sender::new(0),
            born: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_micros()),
            replies: AtomicU64::new(0),
        }
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_id(&self) -> String {
        format!("{:x}{:04x}", self.born, self.replies.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, method: &Method, path: &str, bytes: usize, protocol: Protocol, heard: Option<Heard>) {
        let Heard { body, talk, reply } = heard.unwrap_or_default();
        let place = talk.place().clone();
        self.log().add(
            bytes,
            Request {
                seq: 0,
                protocol,
                method: method.to_string(),
                path: path.to_owned(),
                model: talk.model,
                scenario: place.scenario,
                step: place.step,
                tools: talk.tools,
                last_user_text: talk.last_user_text,
                tool_results: talk.results,
                reply,
                body: Some(Arc::new(body)),
            },
        );
        self.arrived.send_modify(|count| *count += 1);
    }
}

/// What a request that was understood adds to its log entry.
#[derive(Debug, Default)]
struct Heard {
    body: Value,
    talk: Conversation,
    reply: Option<Reply>,
}

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/__log", get(show_log))
        .fallback(answer)
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .with_state(shared)
}

async fn show_log(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Json<LogPage> {
    Json(shared.log().page(query.is_some_and(|query| query.contains("bodies=true"))))
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let path = uri.path();
    let protocol = if method == Method::POST { Protocol::of(path) } else { Protocol::Other };
    let Some(dialect) = protocol.dialect() else {
        shared.record(&method, path, bytes.len(), protocol, None);
        if path.ends_with("/count_tokens") {
            return Json(json!({ "input_tokens": 10 })).into_response();
        }
        return (StatusCode::NOT_FOUND, "scripted-model: no such route").into_response();
    };
    let body: Value = match serde_json::from_slice(&bytes) {
        Ok(body) => body,
        Err(error) => {
            shared.record(&method, path, bytes.len(), protocol, None);
            let encoding = headers.get(header::CONTENT_ENCODING);
            let message =
                format!("scripted-model: the body is no JSON: {error}, content-encoding {encoding:?}");
            return (StatusCode::BAD_REQUEST, Json(dialect.error(&message))).into_response();
        }
    };
    let talk = dialect.read(&body);
    let (stream, model) = (talk.stream, talk.model.clone());
    let (reply, delay) = reply(&shared.script, &talk);
    let heard = Heard { body, talk, reply: Some(reply.clone()) };
    shared.record(&method, path, bytes.len(), protocol, Some(heard));
    tokio::time::sleep(delay).await;
    let id = shared.next_id();
    match reply {
        Reply::Fail(failure) => fail(dialect, failure),
        Reply::Say { text, calls } => {
            let said = Said { id: &id, model: &model, text: text.as_deref(), calls: &calls };
            let mut response = if stream {
                ([(header::CONTENT_TYPE, "text/event-stream")], Body::from(dialect.stream(&said)))
                    .into_response()
            } else {
                Json(dialect.whole(&said)).into_response()
            };
            for name in ["request-id", "x-request-id"] {
                if let Ok(value) = HeaderValue::try_from(format!("req_{id}")) {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
    }
}

fn fail(dialect: &dyn Dialect, failure: Failure) -> Response {
    let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = failure.body.unwrap_or_else(|| dialect.error("an error of the script"));
    let mut response = (status, Json(body)).into_response();
    for (name, value) in failure.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
