//! Managed sessions: start an agent, prompt it, read its output, end it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::limits::MAX_TEXT_BYTES;
use askd_core::{Right, Session, SessionId};
use askd_hub::Piece;

use super::extract::{Id, Json, Query};
use super::limits::KEEP_ALIVE;
use super::problem::{Code, Problem};
use super::state::AppState;
use super::stream::{HEARTBEAT, Reader, Streams, last_event_id, respond, trimmed};
use super::wait::json;
use askd_hub::{Caller, Connections, HeldAgent, Sessions, StartError, StartRequest, Transcript, Transcripts};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(say))
        .routes(routes!(transcript))
        .routes(routes!(end))
        .routes(routes!(holders))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SessionInput {
    /// The id of the new session, for a client that wants to name it before the agent has started; a new one
    /// unless given.
    #[serde(default)]
    id: Option<SessionId>,
    /// The agent's name, as `GET /v1/agents` lists it.
    agent: String,
    /// The agent's folder, absolute; the hub's own unless given.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    prompt: Option<String>,
    /// Passed on to the agent's command.
    #[serde(default)]
    args: Vec<String>,
    /// Variables to add to the hub's environment; names that begin with `ASKD_` are refused.
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Start an agent that askd manages. It outlives the hub.
#[utoipa::path(post, path = "/v1/sessions", operation_id = "startSession", tag = "sessions", request_body = SessionInput, responses((status = 201, body = Session)))]
async fn start(
    State(connections): State<Connections>,
    caller: Caller,
    Json(input): Json<SessionInput>,
) -> Result<Response, Problem> {
    let request = StartRequest {
        id: input.id,
        agent: input.agent,
        cwd: input.cwd,
        prompt: input.prompt,
        args: input.args,
        env: input.env,
    };
    Ok(json(StatusCode::CREATED, &connections.start(&caller, request).await?))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct MessageInput {
    #[schema(min_length = 1)]
    text: String,
}

/// Say something to a managed session.
#[utoipa::path(post, path = "/v1/sessions/{id}/messages", operation_id = "sendMessage", params(("id" = SessionId, Path, description = "The id of the session.")), tag = "sessions",
    request_body = MessageInput, responses((status = 202)))]
async fn say(
    State(connections): State<Connections>,
    caller: Caller,
    Id(id): Id<SessionId>,
    Json(input): Json<MessageInput>,
) -> Result<Response, Problem> {
    if input.text.trim().is_empty() {
        return Err(Problem::field("text", "empty", "must not be empty"));
    }
    if input.text.len() > MAX_TEXT_BYTES {
        return Err(Problem::field(
            "text",
            "too_long",
            format!("at most {MAX_TEXT_BYTES} bytes are allowed"),
        ));
    }
    connections.prompt(&caller, &id, input.text).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

/// End a session; a managed agent's process group ends with it. Open questions are cancelled.
#[utoipa::path(delete, path = "/v1/sessions/{id}", operation_id = "endSession", params(("id" = SessionId, Path, description = "The id of the session.")), tag = "sessions", responses((status = 204)))]
async fn end(
    State(connections): State<Connections>,
    caller: Caller,
    Id(id): Id<SessionId>,
) -> Result<Response, Problem> {
    connections.end(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

#[derive(Serialize, utoipa::ToSchema)]
struct HolderList {
    holders: Vec<HeldAgent>,
}

/// The managed agents with a holder.
#[utoipa::path(get, path = "/v1/holders", operation_id = "listHolders", tag = "sessions", responses((status = 200, body = HolderList)))]
async fn holders(State(connections): State<Connections>, caller: Caller) -> Result<Response, Problem> {
    caller.needs(Right::Manage)?;
    Ok(json(StatusCode::OK, &HolderList { holders: connections.held_agents().await? }))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TranscriptQuery {
    /// Go on after this entry; the stream starts at the beginning unless given.
    after: Option<u64>,
    /// Include the agent's own line in each entry.
    raw: Option<bool>,
}

/// The transcript of a managed agent, live. `id:` grows from entry to entry; sessions of one ACP server share
/// the count.
#[utoipa::path(get, path = "/v1/sessions/{id}/transcript", operation_id = "streamTranscript", tag = "sessions",
    params(("id" = SessionId, Path, description = "The id of the session."), TranscriptQuery, ("Last-Event-ID" = Option<u64>, Header, description = "As the browser's EventSource sends it; goes before `after`.")),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
async fn transcript(
    State(sessions): State<Sessions>,
    State(transcripts): State<Transcripts>,
    State(streams): State<Streams>,
    caller: Caller,
    Id(id): Id<SessionId>,
    Query(query): Query<TranscriptQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let session = sessions.get(&caller, &id).await?;
    let transcript = transcripts.of(&session).await?;
    let after = last_event_id(&headers)?.or(query.after).unwrap_or(0);
    let page = transcripts.page(&transcript, after).await?;
    if after > page.newest {
        let message = format!("{after} is beyond the newest entry, {}", page.newest);
        return Err(Problem::field("after", "beyond_newest", message));
    }
    let place = streams.take_place(&caller)?;
    let reader = TranscriptReader {
        news: transcripts.watch(&transcript),
        stop: streams.stopping(),
        sessions,
        transcripts,
        session: id,
        transcript,
        raw: query.raw.unwrap_or(false),
        cursor: after,
    };
    Ok(respond(place, None, reader))
}

struct TranscriptReader {
    sessions: Sessions,
    transcripts: Transcripts,
    stop: CancellationToken,
    news: watch::Receiver<()>,
    session: SessionId,
    transcript: Transcript,
    raw: bool,
    cursor: u64,
}

impl Reader for TranscriptReader {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.news.borrow_and_update();
            let page = self.transcripts.page(&self.transcript, self.cursor).await.ok()?;
            let mut text = String::new();
            for piece in page.pieces(&mut self.cursor) {
                match piece {
                    Piece::Gap { after, through } => text.push_str(&trimmed(after, through)),
                    Piece::Entry(mut entry) => {
                        if !self.raw {
                            entry.raw = None;
                        }
                        let data = serde_json::to_string(&entry).ok()?;
                        let (number, voice) = (entry.number, entry.voice);
                        text.push_str(&format!("id: {number}\nevent: {voice}\ndata: {data}\n\n"));
                    }
                }
            }
            if !text.is_empty() {
                return Some(Bytes::from(text));
            }
            if !self.sessions.is_live(&self.session).await.ok()? {
                return None;
            }
            tokio::select! {
                changed = self.news.changed() => changed.ok()?,
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(HEARTBEAT),
                () = self.stop.cancelled() => return None,
            }
        }
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        let detail = error.to_string();
        match error {
            StartError::UnknownAgent { .. } => Self::new(Code::NotFound, detail),
            StartError::Unsupported(_) => Self::new(Code::AgentUnsupported, detail),
            StartError::NotBuilt(_)
            | StartError::NotInstalled { .. }
            | StartError::Failed { .. }
            | StartError::Unsendable(_) => Self::new(Code::AgentUnavailable, detail),
            StartError::Engine(error) => error.into(),
        }
    }
}
