//! The common parts of all event streams: a place among the streams, the client's cursor, the walk along the
//! log, and the response.
//!
//! In: a reader with a position in the store. Out: `text/event-stream`, with its first bytes at once, until
//! the end of the reader, the hub or the client's token.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use askd_core::Seq;
use askd_hub::LoggedEvent;

use super::limits::KEEP_ALIVE;
use super::problem::{Code, Problem};
use askd_hub::{Access, Caller, EventLog, LogFollower, LogNews};

/// Sent when nothing else was for a while.
pub const HEARTBEAT: Bytes = Bytes::from_static(b": still here\n\n");
const CONNECTED: Bytes = Bytes::from_static(b": connected\n\n");

/// One reader's position in the store.
pub trait Reader: Send + 'static {
    /// The next bytes to send; `None` ends the stream.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// The event that reports deleted entries.
pub fn trimmed(after: u64, through: u64) -> String {
    format!("event: trimmed\ndata: {{\"after\":{after},\"through\":{through}}}\n\n")
}

/// A place among the streams for the life of a stream, with its caller.
pub struct Place {
    access: Access,
    caller: Caller,
    _permit: OwnedSemaphorePermit,
}

/// The places for streams.
#[derive(Clone)]
pub struct Streams {
    access: Access,
    stop: CancellationToken,
    places: Arc<Semaphore>,
}

impl Streams {
    pub fn new(access: Access, stop: CancellationToken, places: Arc<Semaphore>) -> Self {
        Self { access, stop, places }
    }

    /// Is cancelled when the hub is told to stop.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    pub fn take_place(&self, caller: &Caller) -> Result<Place, Problem> {
        let detail = "close some streams, or try again a little later";
        let too_many = |_| Problem::new(Code::TooManyStreams, detail);
        let permit = self.places.clone().try_acquire_owned().map_err(too_many)?;
        Ok(Place { access: self.access.clone(), caller: caller.clone(), _permit: permit })
    }
}

/// The log as a reader is sent it.
pub struct LogStream(LogFollower);

/// The next data for a reader of the event log.
pub enum LogFrames {
    Bytes(Bytes),
    /// The retention has overtaken the reader: some of what came after `after` is deleted, up to `through`.
    Trimmed {
        after: Seq,
        through: Seq,
    },
    /// There was nothing for this reader for a while.
    Quiet,
}

impl LogStream {
    /// Goes on after `cursor`. The reader is told elsewhere that events up to `trimmed` may be deleted.
    pub fn new(log: &EventLog, cursor: Seq, trimmed: Seq) -> Self {
        Self(log.follow(cursor, trimmed))
    }

    pub fn cursor(&self) -> Seq {
        self.0.cursor()
    }

    /// The next data for this reader; `frames` selects its part of a page. Data for other readers does not
    /// delay the heartbeat: without one, clients take a hub for lost, and a revoked token would keep its
    /// stream. `None` when the hub stops or the log cannot be read.
    pub async fn next(&mut self, frames: impl Fn(&[Arc<LoggedEvent>]) -> Bytes + Send) -> Option<LogFrames> {
        // The reader asks again as soon as the bytes before are taken.
        let quiet = Instant::now() + KEEP_ALIVE;
        loop {
            match self.0.next(Some(quiet)).await {
                Ok(LogNews::Events(page)) => {
                    let bytes = frames(&page);
                    if !bytes.is_empty() {
                        return Some(LogFrames::Bytes(bytes));
                    }
                    if Instant::now() >= quiet {
                        return Some(LogFrames::Quiet);
                    }
                }
                Ok(LogNews::Trimmed { after, through }) => {
                    return Some(LogFrames::Trimmed { after, through });
                }
                Ok(LogNews::Quiet) => return Some(LogFrames::Quiet),
                Ok(LogNews::Stopping) => return None,
                Err(error) => {
                    tracing::error!(%error, "a stream ends because the log cannot be read");
                    return None;
                }
            }
        }
    }
}

/// The number in a reconnecting client's header.
pub fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    let misfit = || Problem::field("Last-Event-ID", "invalid", "must be the number of an event");
    number.map(Some).ok_or_else(misfit)
}

/// The start of a reader: after the event in its header or parameter, else after `unless`.
pub fn log_cursor(
    headers: &HeaderMap,
    (name, given): (&str, Option<u64>),
    unless: u64,
    log: &EventLog,
) -> Result<u64, Problem> {
    let from_header = last_event_id(headers)?;
    let after = from_header.or(given).unwrap_or(unless);
    let newest = log.newest();
    if after > newest || log.is_of_another_store(after) {
        let name = if from_header.is_some() { "Last-Event-ID" } else { name };
        let message = format!(
            "{after} is beyond the newest event, {newest}, or of a time before a backup was put back; the cursor belongs to another store"
        );
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
            None => reader.next().await.filter(|_| place.access.still_valid(&place.caller))?,
        };
        Some((Ok::<_, Infallible>(bytes), (None, reader, place)))
    });
    (headers, Body::from_stream(body)).into_response()
}
