//! `/v1/acp/{server_id}`: ACP over HTTP, as sandbox-agent has it. The first POST starts the agent, GET is its
//! stream, DELETE ends it.

mod post;
mod stream;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::{Code, Problem};
use super::state::AppState;
use crate::extract::Names;
use askd_hub::{AcpError, AcpServers, Caller};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(post::post, stream::stream, end))
}

/// End the server: when this answers, the agent's process group is gone and its open questions are cancelled.
#[utoipa::path(delete, path = "/v1/acp/{server_id}", operation_id = "endAcpServer", tag = "acp",
    params(("server_id" = String, Path, description = "The name of the server, any that you choose.")),
    responses((status = 204)))]
async fn end(
    State(servers): State<AcpServers>,
    caller: Caller,
    Names(server): Names<String>,
) -> Result<Response, Problem> {
    servers.end(&caller, &server).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl From<AcpError> for Problem {
    fn from(error: AcpError) -> Self {
        let detail = error.to_string();
        match error {
            AcpError::UnknownServer(_) | AcpError::UnknownRequest(_) | AcpError::NothingToCancel(_) => {
                Self::new(Code::NotFound, detail)
            }
            AcpError::OtherAgent { .. }
            | AcpError::Ended { .. }
            | AcpError::Unreachable
            | AcpError::NotWritten(_) => Self::new(Code::AgentUnavailable, detail),
            AcpError::AmbiguousCancel => Self::new(Code::AmbiguousAnswer, detail),
            AcpError::Malformed(_) => Self::new(Code::InvalidRequest, detail),
            AcpError::Start(error) => error.into(),
            AcpError::Engine(error) => error.into(),
        }
    }
}
