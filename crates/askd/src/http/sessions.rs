//! `/v1/sessions` and `/v1/sources`: what askd sees and is connected to.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_core::{Session, SessionId, Source, SourceId};

use super::extract::{Id, Query};
use super::limits::{DEFAULT_LIST, MAX_LIST};
use super::problem::Problem;
use super::state::AppState;
use super::wait::json;
use crate::engine::Caller;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_sessions))
        .routes(routes!(show_session))
        .routes(routes!(list_sources))
        .routes(routes!(end_source))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SessionsQuery {
    /// Only those that can still take an answer, or only those that cannot.
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
    State(state): State<AppState>,
    caller: Caller,
    Query(query): Query<SessionsQuery>,
) -> Result<Response, Problem> {
    let limit = query.limit.unwrap_or(DEFAULT_LIST);
    if !(1..=MAX_LIST).contains(&limit) {
        return Err(Problem::field("limit", "out_of_range", format!("must be 1 to {MAX_LIST}")));
    }
    let sessions = state.engine.list_sessions(&caller, query.live, limit).await?;
    Ok(json(StatusCode::OK, &SessionList { sessions }))
}

/// One session.
#[utoipa::path(get, path = "/v1/sessions/{id}", operation_id = "getSession", params(("id" = SessionId, Path, description = "The id of the session.")), tag = "sessions", responses((status = 200, body = Session)))]
async fn show_session(
    State(state): State<AppState>,
    caller: Caller,
    Id(id): Id<SessionId>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &state.engine.get_session(&caller, &id).await?))
}

#[derive(Serialize, utoipa::ToSchema)]
struct SourceList {
    sources: Vec<Source>,
}

/// What askd is or was connected to.
#[utoipa::path(get, path = "/v1/sources", operation_id = "listSources", tag = "sources", responses((status = 200, body = SourceList)))]
async fn list_sources(State(state): State<AppState>, caller: Caller) -> Result<Response, Problem> {
    let sources = state.engine.list_sources(&caller).await?;
    Ok(json(StatusCode::OK, &SourceList { sources }))
}

/// Detach a source: its sessions end, and their open questions with them.
#[utoipa::path(delete, path = "/v1/sources/{id}", operation_id = "endSource", params(("id" = SourceId, Path, description = "The id of the source.")), tag = "sources", responses((status = 204)))]
async fn end_source(
    State(state): State<AppState>,
    caller: Caller,
    Id(id): Id<SourceId>,
) -> Result<Response, Problem> {
    state.engine.detach_source(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
