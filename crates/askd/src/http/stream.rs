//! What all streams of events share: a place among the streams, the cursor that a client brings, the way along the log, and the
//! response.
//!
//! In: a reader that knows its place in what is stored. Out: `text/event-stream`, with its first bytes at once, until the reader, the
//! hub or the client's token comes to its end.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use tokio::sync::{OwnedSemaphorePermit, watch};

use askd_core::Seq;
use askd_store::LoggedEvent;

use super::limits::KEEP_ALIVE;
use super::problem::{Code, Problem};
use super::state::AppState;
use crate::engine::{Caller, Engine};

/// Sent when nothing else was for a while.
pub const HEARTBEAT: Bytes = Bytes::from_static(b": still here\n\n");
const CONNECTED: Bytes = Bytes::from_static(b": connected\n\n");

/// One reader's place in what is stored.
pub trait Reader: Send + 'static {
    /// The next bytes to send; `None` ends the stream.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// The event that tells of what is not kept any more.
pub fn trimmed(after: u64, through: u64) -> String {
    format!("event: trimmed\ndata: {{\"after\":{after},\"through\":{through}}}\n\n")
}

/// A place among the streams, kept as long as the stream lasts, and who has it.
pub struct Place {
    engine: Engine,
    caller: Caller,
    _permit: OwnedSemaphorePermit,
}

pub fn take_place(state: &AppState, caller: &Caller) -> Result<Place, Problem> {
    let too_many = |_| Problem::new(Code::TooManyStreams, "close some streams, or try again a little later");
    let permit = state.streams.clone().try_acquire_owned().map_err(too_many)?;
    Ok(Place { engine: state.engine.clone(), caller: caller.clone(), _permit: permit })
}

/// A place in the log that moves on.
pub struct LogFollower {
    engine: Engine,
    newest: watch::Receiver<Seq>,
    pub cursor: Seq,
}

/// What comes next in the log.
pub enum LogNews {
    Events(Vec<Arc<LoggedEvent>>),
    /// There was nothing for a while.
    Quiet,
}

impl LogFollower {
    pub fn new(engine: &Engine, cursor: Seq) -> Self {
        Self { newest: engine.store().watch(), engine: engine.clone(), cursor }
    }

    /// `None` when the hub stops or the log cannot be read.
    pub async fn next(&mut self) -> Option<LogNews> {
        let stop = self.engine.stopping();
        loop {
            self.newest.borrow_and_update();
            let page = match self.engine.store().events_after(self.cursor).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(%error, "a stream ends because the log cannot be read");
                    return None;
                }
            };
            if let Some(last) = page.last() {
                self.cursor = last.seq;
                return Some(LogNews::Events(page));
            }
            tokio::select! {
                changed = self.newest.changed() => changed.ok()?,
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(LogNews::Quiet),
                () = stop.cancelled() => return None,
            }
        }
    }
}

/// The number that a reconnecting client brings.
pub fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    let misfit = || Problem::field("Last-Event-ID", "invalid", "must be the number of an event");
    number.map(Some).ok_or_else(misfit)
}

/// Where a reader of the log begins: after the event that its header or the parameter names, else after `unless`.
pub fn log_cursor(
    headers: &HeaderMap,
    (name, given): (&str, Option<u64>),
    unless: u64,
    newest: u64,
) -> Result<u64, Problem> {
    let from_header = last_event_id(headers)?;
    let after = from_header.or(given).unwrap_or(unless);
    if after > newest {
        let name = if from_header.is_some() { "Last-Event-ID" } else { name };
        let message =
            format!("{after} is beyond the newest event, {newest}; the cursor belongs to another store");
        return Err(Problem::field(name, "beyond_newest", message));
    }
    Ok(after)
}

/// The stream. `hello` goes out at once, so that the client knows that it is connected.
pub fn respond(place: Place, hello: Option<Bytes>, reader: impl Reader) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let begin = (Some(hello.unwrap_or(CONNECTED)), reader, place);
    let body = stream::unfold(begin, |(hello, mut reader, place)| async {
        let bytes = match hello {
            Some(hello) => hello,
            None => reader.next().await.filter(|_| place.engine.still_knows(&place.caller))?,
        };
        Some((Ok::<_, Infallible>(bytes), (None, reader, place)))
    });
    (headers, Body::from_stream(body)).into_response()
}
