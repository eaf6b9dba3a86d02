//! The two streams, as a cursor over the log that begins now: nothing is replayed, as with the real server.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use askd_core::{Event, EventType, Question, Right};

use super::super::state::AppState;
use super::super::stream::{LogFollower, LogNews, Reader, respond, take_place};
use super::auth::Client;
use super::scope::Scope;
use super::wire;

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
    let Ok(place) = take_place(&state, &caller) else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let log = LogFollower::new(&state.engine, state.engine.store().newest());
    let reader = ScopeReader { log, scope, global, beats: 0 };
    let hello = reader.bare("server.connected");
    let mut response = respond(place, Some(hello), reader);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct ScopeReader {
    log: LogFollower,
    scope: Scope,
    global: bool,
    beats: u64,
}

impl Reader for ScopeReader {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let LogNews::Events(page) = self.log.next().await? else {
                self.beats += 1;
                return Some(self.bare("server.heartbeat"));
            };
            let told = page.iter().filter(|event| tells(event.kind));
            let frames: String = told.map(|event| self.frames(&event.json)).collect();
            if !frames.is_empty() {
                return Some(Bytes::from(frames));
            }
        }
    }
}

impl ScopeReader {
    /// An event about no folder.
    fn bare(&self, kind: &str) -> Bytes {
        let id = format!("evt_{:012x}h{:x}", self.log.cursor, self.beats);
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
