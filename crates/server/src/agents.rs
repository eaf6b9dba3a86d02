//! `/v1/agents`: the claims about each agent, and its programs on this machine.

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

/// The agents that askd knows, and the claims that hold for their programs on this machine.
///
/// `proven`: seen working with the version found here. `declared`: seen with another version, or the
/// program's own claim. `no` has its reason; if the program is missing, with how to get it.
#[utoipa::path(get, path = "/v1/agents", operation_id = "listAgents", tag = "agents", responses((status = 200, body = AgentList)))]
async fn agents(State(agents): State<AgentCatalog>, caller: Caller) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &AgentList { agents: agents.list(&caller).await? }))
}
