//! One JSON-RPC message of a client: a request waits for the agent's response, anything else is taken with
//! 202.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;

use askd_wire::json_edit;
use askd_wire::jsonrpc::{Defect, Message};

use crate::extract::{Names, Query, json_text};
use crate::limits::MAX_ACP_BODY_BYTES;
use crate::problem::{Code, Problem};
use crate::wait::{Waits, answer_when_ready};
use askd_hub::{Access, AcpServers, Caller, ClientCall, EngineError};

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PostQuery {
    /// The agent to start, as `GET /v1/agents` lists it; needed for the first POST.
    agent: Option<String>,
}

/// Send one JSON-RPC message to the agent. A request is answered when the agent answers it, however long that
/// takes; a notification, or a response to a request of the agent, is taken with 202.
#[utoipa::path(post, path = "/v1/acp/{server_id}", operation_id = "sendAcpMessage", tag = "acp",
    params(("server_id" = String, Path, description = "The name of the server, any that you choose."), PostQuery),
    request_body(content = String, content_type = "application/json"),
    responses((status = 200, content_type = "application/json", body = String), (status = 202)))]
pub(super) async fn post(
    State(servers): State<AcpServers>,
    State(access): State<Access>,
    State(waits): State<Waits>,
    caller: Caller,
    Names(server): Names<String>,
    Query(query): Query<PostQuery>,
    request: Request,
) -> Result<Response, Problem> {
    let body = json_text(request, MAX_ACP_BODY_BYTES).await?;
    match Message::parse(body.as_bytes()) {
        Message::Malformed { defect, .. } => Err(refused(defect)),
        // The agent gets the very bytes, and an agent may be strict.
        _ if json_edit::member(&body, "jsonrpc").is_none_or(|version| version == "null") => {
            Err(refused(Defect::Version))
        }
        Message::Request { method, params, .. } => {
            let name = server;
            let server = servers.server(&caller, &name, query.agent.as_deref(), &method).await?;
            let session = params.as_deref().and_then(session_of);
            let turn = waits.take_place("ask again a little later")?;
            let call = ClientCall { client: caller.token.id.clone(), method, session };
            let response = servers.request(&server, body, call).await?;
            drop(server);
            Ok(answer_when_ready(StatusCode::OK, async move {
                let _turn = turn;
                let stop = waits.stopping();
                let text = tokio::select! {
                    text = response => text.ok(),
                    () = stop.cancelled() => None,
                };
                let text = match text {
                    Some(text) => text,
                    None if stop.is_cancelled() => {
                        let detail = "the hub stops; the agent goes on, and its stream tells the rest";
                        return Err(Problem::new(Code::Stopping, detail));
                    }
                    // The request was not forwarded: the agent had ended already.
                    None => return Err(servers.no_server(&name).await.into()),
                };
                if !access.still_valid(&caller) {
                    return Err(EngineError::Revoked.into());
                }
                RawValue::from_string(text).map_err(|error| Problem::new(Code::Internal, error.to_string()))
            }))
        }
        Message::Notification { method, .. } => {
            servers.notify(&caller, &server, body, method).await?;
            Ok(StatusCode::ACCEPTED.into_response())
        }
        Message::Response { .. } => {
            servers.respond(&caller, &server, body).await?;
            Ok(StatusCode::ACCEPTED.into_response())
        }
    }
}

fn session_of(params: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Scope {
        session_id: Option<String>,
    }
    serde_json::from_str::<Scope>(params.get()).ok()?.session_id
}

fn refused(defect: Defect) -> Problem {
    let (code, detail) = match defect {
        Defect::NotJson => {
            (Code::MalformedRequest, "the body is no JSON-RPC message: no JSON, or an id of a wrong type")
        }
        Defect::Batch => (Code::InvalidRequest, "send one JSON-RPC message, not a batch"),
        Defect::Version => (Code::InvalidRequest, "jsonrpc must be \"2.0\""),
        Defect::Shape => (Code::InvalidRequest, "a message has a method, or an id and a result or an error"),
    };
    Problem::new(code, detail)
}
