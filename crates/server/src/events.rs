//! `/v1/events`: server-sent events as a cursor over the store. A slow reader is late, never poorer.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderMap;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::{Event, Right, Seq, SessionId, Status};
use askd_hub::LoggedEvent;

use super::extract::Query;
use super::problem::Problem;
use super::state::AppState;
use super::stream::{HEARTBEAT, LogFrames, LogStream, Reader, Streams, log_cursor, respond};
use askd_hub::{Caller, EventLog};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(events))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// Go on after this event; without it (and without `Last-Event-ID`) the stream starts now.
    after: Option<u64>,
    /// Only events of questions with this status.
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
    State(log): State<EventLog>,
    State(streams): State<Streams>,
    caller: Caller,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.needs(Right::Read)?;
    let after = log_cursor(&headers, ("after", query.after), log.newest(), &log)?;
    let place = streams.take_place(&caller)?;
    let trimmed = log.trimmed_through().await?;
    let reader = LogReader { log: LogStream::new(&log, after, trimmed), query };
    let gap = (after < trimmed).then(|| trimmed_notice(after, trimmed));
    Ok(respond(place, gap, reader))
}

/// Tells a reader that the retention has deleted some of the requested events.
fn trimmed_notice(after: Seq, trimmed: Seq) -> Bytes {
    Bytes::from(format!(
        "event: log.trimmed\ndata: {{\"type\":\"log.trimmed\",\"after\":{after},\"through\":{trimmed}}}\n\n"
    ))
}

struct LogReader {
    log: LogStream,
    query: EventsQuery,
}

impl Reader for LogReader {
    async fn next(&mut self) -> Option<Bytes> {
        let query = &self.query;
        Some(match self.log.next(|page| query.frames(page)).await? {
            LogFrames::Bytes(bytes) => bytes,
            LogFrames::Trimmed { after, through } => trimmed_notice(after, through),
            LogFrames::Quiet => HEARTBEAT,
        })
    }
}

impl EventsQuery {
    fn frames(&self, page: &[Arc<LoggedEvent>]) -> Bytes {
        let mut bytes = BytesMut::new();
        for event in page.iter().filter(|event| self.wants(event)) {
            let head = format!("id: {}\nevent: {}\ndata: ", event.seq, event.kind.as_str());
            bytes.reserve(head.len() + event.json.len() + 2);
            bytes.put_slice(head.as_bytes());
            bytes.put_slice(event.json.as_bytes());
            bytes.put_slice(b"\n\n");
        }
        bytes.freeze()
    }
}
