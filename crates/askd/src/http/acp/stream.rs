//! The stream of an ACP server: a cursor over what is stored, from the beginning unless told otherwise. A slow reader is late,
//! never poorer, and one that comes back goes on where it was.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream as futures_stream;
use http::{HeaderMap, HeaderValue, header};
use tokio::sync::OwnedSemaphorePermit;

use askd_store::TranscriptPage;

use crate::engine::{AcpStream, Caller, Engine, acp_event};
use crate::http::extract::Names;
use crate::http::limits::KEEP_ALIVE;
use crate::http::problem::{Code, Problem};
use crate::http::state::AppState;

/// The agent's messages to its clients, live. `id:` counts within the server; the stream begins at the beginning, or after
/// `Last-Event-ID`.
#[utoipa::path(get, path = "/v1/acp/{server_id}", operation_id = "streamAcp", tag = "acp",
    params(("server_id" = String, Path, description = "The name of the server, any that you choose."),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on after this event.")),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
pub(super) async fn stream(
    State(state): State<AppState>,
    caller: Caller,
    Names(server): Names<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stream = state.engine.acp_stream(&caller, &server).await?;
    let last = headers.get("last-event-id").map(|value| {
        let number = value.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok());
        number.ok_or_else(|| Problem::field("Last-Event-ID", "invalid", "must be the number of an event"))
    });
    let cursor = last.transpose()?.unwrap_or(0);
    let newest = state.engine.store().entries_after(&stream.transcript, cursor).await?.newest;
    if cursor > newest {
        let message = format!("{cursor} is beyond the newest event, {newest}");
        return Err(Problem::field("Last-Event-ID", "beyond_newest", message));
    }
    let too_many = || Problem::new(Code::TooManyStreams, "close some streams, or try again a little later");
    let turn = state.streams.clone().try_acquire_owned().map_err(|_| too_many())?;
    let reader = Reader { engine: state.engine, stream, cursor, _turn: turn };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let body = futures_stream::unfold(Some((true, reader)), |place| async {
        let (first, mut reader) = place?;
        let bytes = if first { Bytes::from_static(b": connected\n\n") } else { reader.next().await? };
        Some((Ok::<_, Infallible>(bytes), Some((false, reader))))
    });
    Ok((headers, Body::from_stream(body)).into_response())
}

struct Reader {
    engine: Engine,
    stream: AcpStream,
    cursor: u64,
    _turn: OwnedSemaphorePermit,
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        let stop = self.engine.stopping();
        loop {
            if let Some(grew) = &mut self.stream.grew {
                grew.borrow_and_update();
            }
            let page = self.engine.store().entries_after(&self.stream.transcript, self.cursor).await;
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(%error, "a stream ends because it cannot be read");
                    return None;
                }
            };
            let bytes = self.frames(page);
            if !bytes.is_empty() {
                return Some(bytes);
            }
            let grew = self.stream.grew.as_mut()?;
            tokio::select! {
                changed = grew.changed() => if changed.is_err() {
                    // The agent is gone: once more, for its last words.
                    self.stream.grew = None;
                },
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(Bytes::from_static(b": still here\n\n")),
                () = stop.cancelled() => return None,
            }
        }
    }

    fn frames(&mut self, page: TranscriptPage) -> Bytes {
        let mut bytes = BytesMut::new();
        if self.cursor < page.trimmed_through {
            let (after, through) = (self.cursor, page.trimmed_through);
            let gap = format!("event: trimmed\ndata: {{\"after\":{after},\"through\":{through}}}\n\n");
            bytes.put_slice(gap.as_bytes());
            self.cursor = through;
        }
        for entry in page.entries {
            self.cursor = entry.number;
            let data = entry.raw.unwrap_or_else(|| serde_json::json!({ "text": entry.text }).to_string());
            let head = format!("id: {}\nevent: {}\ndata: ", entry.number, acp_event(&entry.voice));
            bytes.reserve(head.len() + data.len() + 2);
            bytes.put_slice(head.as_bytes());
            bytes.put_slice(data.as_bytes());
            bytes.put_slice(b"\n\n");
        }
        bytes.freeze()
    }
}
