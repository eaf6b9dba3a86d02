//! `/v1/events`: server-sent events as a cursor over the store. A slow reader is late, never poorer.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, watch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::{Event, Right, Seq, SessionId, Status};
use askd_store::LoggedEvent;

use super::extract::Query;
use super::limits::KEEP_ALIVE;
use super::problem::{Code, Problem};
use super::state::AppState;
use crate::engine::{Caller, Engine};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(events))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// Go on after this event; without it (and without `Last-Event-ID`) the stream starts now.
    after: Option<u64>,
    /// Only events of questions that stood like this.
    status: Option<Status>,
    /// Only events of this agent.
    agent: Option<String>,
    /// Only events of this session.
    session: Option<SessionId>,
    /// Only events of questions of this tool call.
    call_id: Option<String>,
}

impl EventsQuery {
    fn wants(&self, event: &LoggedEvent) -> bool {
        fn fits<T: PartialEq>(wanted: Option<&T>, given: Option<&T>) -> bool {
            wanted.is_none() || wanted == given
        }
        fits(self.status.as_ref(), event.status.as_ref())
            && fits(self.agent.as_ref(), Some(&event.agent))
            && fits(self.session.as_ref(), event.session.as_ref())
            && fits(self.call_id.as_ref(), event.call_id.as_ref())
    }
}

/// The live stream of events. `id:` is the sequence number, for `Last-Event-ID` or `?after=`.
#[utoipa::path(get, path = "/v1/events", operation_id = "streamEvents", tag = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<u64>, Header, description = "As the browser's EventSource sends it; goes before `after`.")),
    responses((status = 200, content_type = "text/event-stream", body = Event)))]
async fn events(
    State(state): State<AppState>,
    caller: Caller,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.needs(Right::Read)?;
    let newest = state.engine.store().newest();
    let after = start(&headers, query.after, newest)?;
    let too_many = || Problem::new(Code::TooManyStreams, "close some streams, or try again a little later");
    let turn = state.streams.clone().try_acquire_owned().map_err(|_| too_many())?;
    let trimmed = state.engine.store().trimmed_through().await?;
    let reader = Reader {
        watch: state.engine.store().watch(),
        engine: state.engine,
        query,
        cursor: after,
        _turn: turn,
    };
    let gap = (after < trimmed).then(|| trimmed_notice(after, trimmed));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    // The first bytes at once, so that the client knows that it is connected.
    let hello = gap.unwrap_or_else(|| Bytes::from_static(b": connected\n\n"));
    let body = stream::unfold((Some(hello), reader), |(hello, mut reader)| async {
        let bytes = match hello {
            Some(hello) => hello,
            None => reader.next().await?,
        };
        Some((Ok::<_, Infallible>(bytes), (None, reader)))
    });
    Ok((headers, Body::from_stream(body)).into_response())
}

fn start(headers: &HeaderMap, after: Option<Seq>, newest: Seq) -> Result<Seq, Problem> {
    let from_header = headers.get("last-event-id").map(|value| {
        let number = value.to_str().ok().and_then(|text| text.trim().parse::<Seq>().ok());
        number.ok_or_else(|| Problem::field("Last-Event-ID", "invalid", "must be the number of an event"))
    });
    let from_header = from_header.transpose()?;
    let named = if from_header.is_some() { "Last-Event-ID" } else { "after" };
    let after = from_header.or(after).unwrap_or(newest);
    if after > newest {
        let message =
            format!("{after} is beyond the newest event, {newest}; the cursor belongs to another store");
        return Err(Problem::field(named, "beyond_newest", message));
    }
    Ok(after)
}

/// Tells a reader that the retention has deleted some of what it asks for.
fn trimmed_notice(after: Seq, trimmed: Seq) -> Bytes {
    Bytes::from(format!(
        "event: log.trimmed\ndata: {{\"type\":\"log.trimmed\",\"after\":{after},\"through\":{trimmed}}}\n\n"
    ))
}

/// One reader's place in the log.
struct Reader {
    engine: Engine,
    watch: watch::Receiver<Seq>,
    query: EventsQuery,
    cursor: Seq,
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
                let bytes = self.frames(&page);
                if !bytes.is_empty() {
                    return Some(bytes);
                }
                continue;
            }
            tokio::select! {
                changed = self.watch.changed() => changed.ok()?,
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(Bytes::from_static(b": still here\n\n")),
                () = stop.cancelled() => return None,
            }
        }
    }

    fn frames(&self, page: &[Arc<LoggedEvent>]) -> Bytes {
        let mut bytes = BytesMut::new();
        for event in page.iter().filter(|event| self.query.wants(event)) {
            let head = format!("id: {}\nevent: {}\ndata: ", event.seq, event.kind.as_str());
            bytes.reserve(head.len() + event.json.len() + 2);
            bytes.put_slice(head.as_bytes());
            bytes.put_slice(event.json.as_bytes());
            bytes.put_slice(b"\n\n");
        }
        bytes.freeze()
    }
}
