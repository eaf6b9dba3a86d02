//! `/v1/agents`: what askd claims about each agent, and where its programs are on this machine.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use askd_hub::AgentListing;

use super::problem::Problem;
use super::state::AppState;
use super::wait::json;
use askd_hub::{AgentCatalog, Caller};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(agents))
}

#[derive(Serialize, utoipa::ToSchema)]
struct AgentList {
    agents: Vec<AgentListing>,
}

/// The agents that askd knows, and what may be claimed of their programs on this machine.
///
/// `proven` was seen working with the version that is here, `declared` was seen with another one or is what the program says of itself,
/// `no` has its reason; also that the program is not here, with how to get it.
#[utoipa::path(get, path = "/v1/agents", operation_id = "listAgents", tag = "agents", responses((status = 200, body = AgentList)))]
async fn agents(State(agents): State<AgentCatalog>, caller: Caller) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &AgentList { agents: agents.list(&caller).await? }))
}
