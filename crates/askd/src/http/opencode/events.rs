//! The two streams, as a cursor over the log that begins now: nothing is replayed, as with the real server.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, watch};

use askd_core::{Event, EventType, Question, Right, Seq};

use super::super::limits::KEEP_ALIVE;
use super::super::state::AppState;
use super::auth::Client;
use super::scope::Scope;
use super::wire;
use crate::engine::Engine;

pub async fn of_directory(state: State<AppState>, client: Client, scope: Scope) -> Response {
    open(state, client, scope, false)
}

pub async fn of_all(state: State<AppState>, client: Client) -> Response {
    open(state, client, Scope::all(), true)
}

fn open(State(state): State<AppState>, Client(caller): Client, scope: Scope, global: bool) -> Response {
    if caller.needs(Right::Read).is_err() {
        return StatusCode::FORBIDDEN.into_response();
    }
    let Ok(turn) = state.streams.clone().try_acquire_owned() else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let watch = state.engine.store().watch();
    let cursor = state.engine.store().newest();
    let reader = Reader { engine: state.engine, watch, scope, global, cursor, beats: 0, _turn: turn };
    let hello = reader.bare("server.connected");
    let body = stream::unfold((Some(hello), reader), |(hello, mut reader)| async {
        let bytes = match hello {
            Some(hello) => hello,
            None => reader.next().await?,
        };
        Some((Ok::<_, Infallible>(bytes), (None, reader)))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(body)).into_response()
}

struct Reader {
    engine: Engine,
    watch: watch::Receiver<Seq>,
    scope: Scope,
    global: bool,
    cursor: Seq,
    beats: u64,
    _turn: OwnedSemaphorePermit,
}

impl Reader {
    /// The next bytes to send; ends when the hub stops or the store fails.
    async fn next(&mut self) -> Option<Bytes> {
        let stop = self.engine.stopping();
        loop {
            self.watch.borrow_and_update();
            let page = match self.engine.store().events_after(self.cursor).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(%error, "a stream ends because the log cannot be read");
                    return None;
                }
            };
            if let Some(last) = page.last() {
                self.cursor = last.seq;
                let told = page.iter().filter(|event| tells(event.kind));
                let frames: String = told.map(|event| self.frames(&event.json)).collect();
                if !frames.is_empty() {
                    return Some(Bytes::from(frames));
                }
                continue;
            }
            tokio::select! {
                changed = self.watch.changed() => changed.ok()?,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    self.beats += 1;
                    return Some(self.bare("server.heartbeat"));
                }
                () = stop.cancelled() => return None,
            }
        }
    }

    /// An event about no folder.
    fn bare(&self, kind: &str) -> Bytes {
        let id = format!("evt_{:012x}h{:x}", self.cursor, self.beats);
        let event = json!({ "id": id, "type": kind, "properties": {} });
        let event = if self.global { json!({ "payload": event }) } else { event };
        Bytes::from(format!("data: {event}\n\n"))
    }

    fn frames(&self, json: &str) -> String {
        let Ok(Event { seq, kind, question: Some(question), .. }) = serde_json::from_str(json) else {
            return String::new();
        };
        if !self.scope.has(&question) {
            return String::new();
        }
        let about_request = match kind {
            EventType::QuestionRequested => Some(("question.asked", wire::request(&question))),
            EventType::QuestionResolved => Some(wire::settled(&question)),
            _ => None,
        };
        let news = kind == EventType::QuestionRequested || !wire::is_running(&question);
        let part = news.then(|| ("message.part.updated", wire::part(&question)));
        let mut frames = String::new();
        for (n, (kind, properties)) in about_request.into_iter().chain(part).enumerate() {
            let event =
                json!({ "id": format!("evt_{seq:012x}q{n}"), "type": kind, "properties": properties });
            frames.push_str(&format!("data: {}\n\n", self.wrapped(&question, event)));
        }
        frames
    }

    fn wrapped(&self, question: &Question, event: Value) -> Value {
        if !self.global {
            return event;
        }
        let directory = question.ask.context.cwd.as_deref().unwrap_or("/");
        json!({ "directory": directory, "project": "global", "payload": event })
    }
}

fn tells(kind: EventType) -> bool {
    !matches!(kind, EventType::SessionStarted | EventType::SessionEnded)
}
