//! The stream of an ACP server: a cursor over the store, from the beginning unless the client names another
//! position. A slow reader is late, never poorer, and a returning one continues at its position.

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use tokio_util::sync::CancellationToken;

use askd_hub::{Piece, TranscriptPage};

use crate::extract::Names;
use crate::limits::KEEP_ALIVE;
use crate::problem::Problem;
use crate::stream::{HEARTBEAT, Reader, Streams, last_event_id, respond, trimmed};
use askd_hub::{AcpServers, AcpStream, Caller, Transcripts, acp_event};

/// The agent's messages to its clients, live. `id:` counts within the server; the stream begins at the
/// beginning, or after `Last-Event-ID`.
#[utoipa::path(get, path = "/v1/acp/{server_id}", operation_id = "streamAcp", tag = "acp",
    params(("server_id" = String, Path, description = "The name of the server, any that you choose."),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on after this event.")),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
pub(super) async fn stream(
    State(servers): State<AcpServers>,
    State(transcripts): State<Transcripts>,
    State(streams): State<Streams>,
    caller: Caller,
    Names(server): Names<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stream = servers.stream(&caller, &server).await?;
    let cursor = last_event_id(&headers)?.unwrap_or(0);
    let newest = transcripts.page(&stream.transcript, cursor).await?.newest;
    if cursor > newest {
        let message = format!("{cursor} is beyond the newest event, {newest}");
        return Err(Problem::field("Last-Event-ID", "beyond_newest", message));
    }
    let place = streams.take_place(&caller)?;
    let reader = AcpReader { transcripts, stop: streams.stopping(), stream, cursor };
    Ok(respond(place, None, reader))
}

struct AcpReader {
    transcripts: Transcripts,
    stop: CancellationToken,
    stream: AcpStream,
    cursor: u64,
}

impl Reader for AcpReader {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.stream.news.borrow_and_update();
            let page = self.transcripts.page(&self.stream.transcript, self.cursor).await;
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
            let over = self.stream.over.as_mut()?;
            tokio::select! {
                changed = self.stream.news.changed() => changed.ok()?,
                // The agent is gone: once more, for its last words.
                _ = over.changed() => self.stream.over = None,
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(HEARTBEAT),
                () = self.stop.cancelled() => return None,
            }
        }
    }
}

impl AcpReader {
    fn frames(&mut self, page: TranscriptPage) -> Bytes {
        let mut text = String::new();
        for piece in page.pieces(&mut self.cursor) {
            match piece {
                Piece::Gap { after, through } => text.push_str(&trimmed(after, through)),
                Piece::Entry(entry) => {
                    let number = entry.number;
                    let (name, data) = acp_event(entry);
                    // One part at a time: the data may be large.
                    for part in ["id: ", &number.to_string(), "\nevent: ", name, "\ndata: ", &data, "\n\n"] {
                        text.push_str(part);
                    }
                }
            }
        }
        Bytes::from(text)
    }
}
