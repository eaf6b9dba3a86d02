//! `/v1/health`: green only if the store can write now. Needs no token.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Problem;
use super::state::AppState;
use super::wait::json;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(health))
}

#[derive(Serialize, utoipa::ToSchema)]
struct Health {
    status: &'static str,
    version: &'static str,
}

/// Health: the hub answers, and its store can write.
#[utoipa::path(get, path = "/v1/health", operation_id = "getHealth", tag = "hub", security(()), responses((status = 200, body = Health)))]
async fn health(State(service): State<askd_hub::Health>) -> Result<Response, Problem> {
    service.check().await?;
    Ok(json(StatusCode::OK, &Health { status: "ok", version: env!("CARGO_PKG_VERSION") }))
}
