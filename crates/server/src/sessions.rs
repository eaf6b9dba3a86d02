//! `/v1/sessions` and `/v1/sources`: conversations, and the places that questions come from.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::{Session, SessionId, Source, SourceId};

use super::extract::{Id, Json, Query};
use super::limits::{DEFAULT_LIST, MAX_LIST};
use super::problem::Problem;
use super::state::AppState;
use super::wait::json;
use askd_hub::{AttachRequest, AttachedServers, Caller, Connections, Sessions, Sources};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_sessions))
        .routes(routes!(show_session, change_session))
        .routes(routes!(list_sources))
        .routes(routes!(attach))
        .routes(routes!(end_source))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SessionsQuery {
    /// Only sessions that can take an answer, or only those that cannot.
    live: Option<bool>,
    /// Sessions of one list; 50 unless given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct SessionList {
    sessions: Vec<Session>,
}

/// The sessions seen, newest first.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "listSessions", params(SessionsQuery), tag = "sessions", responses((status = 200, body = SessionList)))]
async fn list_sessions(
    State(sessions): State<Sessions>,
    caller: Caller,
    Query(query): Query<SessionsQuery>,
) -> Result<Response, Problem> {
    let limit = query.limit.unwrap_or(DEFAULT_LIST);
    if !(1..=MAX_LIST).contains(&limit) {
        return Err(Problem::field("limit", "out_of_range", format!("must be 1 to {MAX_LIST}")));
    }
    let sessions = sessions.list(&caller, query.live, limit).await?;
    Ok(json(StatusCode::OK, &SessionList { sessions }))
}

/// One session.
#[utoipa::path(get, path = "/v1/sessions/{id}", operation_id = "getSession", params(("id" = SessionId, Path, description = "The id of the session.")), tag = "sessions", responses((status = 200, body = Session)))]
async fn show_session(
    State(sessions): State<Sessions>,
    caller: Caller,
    Id(id): Id<SessionId>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &sessions.get(&caller, &id).await?))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct SessionChange {
    /// True if the owner allows keys in the session's terminal (tmux) after its hook has gone.
    tmux: bool,
}

/// Change the permissions of askd in a session that it did not start.
#[utoipa::path(patch, path = "/v1/sessions/{id}", operation_id = "changeSession", params(("id" = SessionId, Path, description = "The id of the session.")), tag = "sessions",
    request_body = SessionChange, responses((status = 200, body = Session)))]
async fn change_session(
    State(sessions): State<Sessions>,
    caller: Caller,
    Id(id): Id<SessionId>,
    Json(change): Json<SessionChange>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &sessions.set_tmux(&caller, &id, change.tmux).await?))
}

#[derive(Serialize, utoipa::ToSchema)]
struct SourceList {
    sources: Vec<Source>,
}

/// All sources, present and past.
#[utoipa::path(get, path = "/v1/sources", operation_id = "listSources", tag = "sources", responses((status = 200, body = SourceList)))]
async fn list_sources(State(sources): State<Sources>, caller: Caller) -> Result<Response, Problem> {
    let sources = sources.list(&caller).await?;
    Ok(json(StatusCode::OK, &SourceList { sources }))
}

/// The server to attach. It has no `Debug`, so that no log shows the password by accident.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SourceInput {
    /// The agent of the server, such as `opencode`.
    kind: String,
    /// Its address; unless given, the agent's usual one.
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    username: Option<String>,
    /// Kept by the hub for the next connection, and never shown again.
    #[serde(default)]
    password: Option<String>,
}

/// Attach to a running server of an agent. `state` shows whether it could be reached.
#[utoipa::path(post, path = "/v1/sources", operation_id = "attachSource", tag = "sources", request_body = SourceInput, responses((status = 201, body = Source)))]
async fn attach(
    State(servers): State<AttachedServers>,
    caller: Caller,
    Json(input): Json<SourceInput>,
) -> Result<Response, Problem> {
    let request = AttachRequest {
        kind: input.kind,
        url: input.url,
        username: input.username,
        password: input.password,
    };
    Ok(json(StatusCode::CREATED, &servers.attach(&caller, request).await?))
}

/// Detach a source: its sessions end, and their open questions with them.
#[utoipa::path(delete, path = "/v1/sources/{id}", operation_id = "endSource", params(("id" = SourceId, Path, description = "The id of the source.")), tag = "sources", responses((status = 204)))]
async fn end_source(
    State(connections): State<Connections>,
    caller: Caller,
    Id(id): Id<SourceId>,
) -> Result<Response, Problem> {
    connections.detach(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
