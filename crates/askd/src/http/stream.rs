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
use tokio::time::Instant;

use askd_core::Seq;
use askd_store::{LoggedEvent, StoreError};

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
    /// The reader knows that the retention has deleted events up to this one.
    told_trimmed: Seq,
}

/// What a reader of the log is sent next.
pub enum LogNews {
    Bytes(Bytes),
    /// The retention has overtaken the reader: some of what came after `after` is deleted, up to `through`.
    Trimmed {
        after: Seq,
        through: Seq,
    },
    /// There was nothing for this reader for a while.
    Quiet,
}

impl LogFollower {
    /// Goes on after `cursor`. The reader is told elsewhere that events up to `trimmed` may be deleted.
    pub fn new(engine: &Engine, cursor: Seq, trimmed: Seq) -> Self {
        Self { newest: engine.store().watch(), engine: engine.clone(), cursor, told_trimmed: trimmed }
    }

    /// Whether events after the cursor are missing before `first`, the next one that there is.
    async fn trimmed(&mut self, first: Seq) -> Result<Option<LogNews>, StoreError> {
        // Numbers have no hole but what the retention has deleted.
        if first <= self.cursor + 1 {
            return Ok(None);
        }
        let through = self.engine.store().trimmed_through().await?;
        if through <= self.cursor.max(self.told_trimmed) {
            return Ok(None);
        }
        self.told_trimmed = through;
        Ok(Some(LogNews::Trimmed { after: self.cursor, through }))
    }

    /// What comes next for this reader, whose `frames` say what it is sent of a page. What others are sent does not put off the sign of
    /// life: without one, clients take a hub for lost, and a revoked token would keep its stream. `None` when the hub stops or the log
    /// cannot be read.
    pub async fn next(&mut self, frames: impl Fn(&[Arc<LoggedEvent>]) -> Bytes + Send) -> Option<LogNews> {
        let stop = self.engine.stopping();
        // The reader asks again as soon as the bytes before are taken.
        let quiet = Instant::now() + KEEP_ALIVE;
        loop {
            let newest = *self.newest.borrow_and_update();
            let page = match self.engine.store().events_after(self.cursor).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(%error, "a stream ends because the log cannot be read");
                    return None;
                }
            };
            let first = page.first().map_or(newest + 1, |event| event.seq);
            match self.trimmed(first).await {
                Ok(Some(trimmed)) => return Some(trimmed),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, "a stream ends because the log cannot be read");
                    return None;
                }
            }
            if let Some(last) = page.last() {
                self.cursor = last.seq;
                let bytes = frames(&page);
                if !bytes.is_empty() {
                    return Some(LogNews::Bytes(bytes));
                }
                if Instant::now() < quiet {
                    continue;
                }
                return Some(LogNews::Quiet);
            }
            tokio::select! {
                changed = self.newest.changed() => changed.ok()?,
                () = tokio::time::sleep_until(quiet) => return Some(LogNews::Quiet),
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
