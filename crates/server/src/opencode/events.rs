//! The two streams, as a cursor over the log that begins now: nothing is replayed, as with the real server.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use askd_core::{Event, EventType, Question, Right};
use askd_hub::LoggedEvent;

use super::super::stream::{LogFrames, LogStream, Reader, Streams, respond};
use super::auth::Client;
use super::scope::Scope;
use super::wire;
use askd_hub::EventLog;

pub async fn of_directory(
    State(log): State<EventLog>,
    State(streams): State<Streams>,
    client: Client,
    scope: Scope,
) -> Response {
    open(&log, &streams, client, scope, false)
}

pub async fn of_all(State(log): State<EventLog>, State(streams): State<Streams>, client: Client) -> Response {
    open(&log, &streams, client, Scope::all(), true)
}

fn open(log: &EventLog, streams: &Streams, Client(caller): Client, scope: Scope, global: bool) -> Response {
    if caller.needs(Right::Read).is_err() {
        return StatusCode::FORBIDDEN.into_response();
    }
    let Ok(place) = streams.take_place(&caller) else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    // The stream begins now: earlier events are not requested.
    let newest = log.newest();
    let log = LogStream::new(log, newest, newest);
    let reader = ScopeReader { log, view: View { scope, global }, beats: 0 };
    let hello = reader.bare("server.connected");
    let mut response = respond(place, Some(hello), reader);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct ScopeReader {
    log: LogStream,
    view: View,
    beats: u64,
}

/// A client's view of the questions.
struct View {
    scope: Scope,
    global: bool,
}

impl Reader for ScopeReader {
    async fn next(&mut self) -> Option<Bytes> {
        let view = &self.view;
        let frames = |page: &[Arc<LoggedEvent>]| {
            let told = page.iter().filter(|event| tells(event.kind));
            Bytes::from(told.map(|event| view.frames(&event.json)).collect::<String>())
        };
        match self.log.next(frames).await? {
            LogFrames::Bytes(bytes) => Some(bytes),
            // OpenCode's stream has no word for it: its clients list anew when they connect again.
            LogFrames::Trimmed { .. } => None,
            LogFrames::Quiet => {
                self.beats += 1;
                Some(self.bare("server.heartbeat"))
            }
        }
    }
}

impl ScopeReader {
    /// An event about no folder.
    fn bare(&self, kind: &str) -> Bytes {
        let id = format!("evt_{:012x}h{:x}", self.log.cursor(), self.beats);
        let event = json!({ "id": id, "type": kind, "properties": {} });
        let event = if self.view.global { json!({ "payload": event }) } else { event };
        Bytes::from(format!("data: {event}\n\n"))
    }
}

impl View {
    fn frames(&self, json: &str) -> String {
        let Ok(Event { seq, kind, question: Some(question), .. }) = serde_json::from_str(json) else {
            return String::new();
        };
        if !self.scope.has(&question) {
            return String::new();
        }
        // Its answer did not arrive: for a client of this protocol it is asked anew.
        let is_open_again = question.is_open() && !question.failed_tries.is_empty();
        let about_request = match kind {
            EventType::QuestionUpdated if is_open_again => Some(("question.asked", wire::request(&question))),
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
