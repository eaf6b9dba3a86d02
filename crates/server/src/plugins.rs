//! `/v1/plugins`: messages of an agent's own process without a port. The right `ask` is enough: a plugin
//! reports the events of its agent and makes the calls that carry answers to it; it can answer nothing.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Json, Names};
use super::limits::KEEP_ALIVE;
use super::problem::Problem;
use super::state::AppState;
use super::stream::{HEARTBEAT, Reader, Streams, respond};
use askd_hub::{AttachedServers, Caller, PluginHello, PluginMessages, PluginStream};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(connect_plugin))
        .routes(routes!(hear_plugin))
        .routes(routes!(disconnect_plugin))
}

/// A plugin connects. The stream brings the calls that it has to make of its agent, each a `data:` line with
/// a `PluginCall`; as long as it is open, the plugin is there. The same link again, after a lost connection
/// or a restart of the hub, is the same source.
#[utoipa::path(post, path = "/v1/plugins/{agent}", operation_id = "connectPlugin", tag = "plugins", request_body = PluginHello,
    params(("agent" = String, Path, description = "The agent whose plugin it is, `opencode`.")),
    responses((status = 200, content_type = "text/event-stream", body = askd_hub::PluginCall)))]
async fn connect_plugin(
    State(servers): State<AttachedServers>,
    State(streams): State<Streams>,
    caller: Caller,
    Names(agent): Names<String>,
    Json(hello): Json<PluginHello>,
) -> Result<Response, Problem> {
    let place = streams.take_place(&caller)?;
    let calls = servers.connect_plugin(&caller, &agent, hello).await?;
    Ok(respond(place, None, CallReader { stop: streams.stopping(), calls }))
}

struct CallReader {
    stop: CancellationToken,
    calls: PluginStream,
}

impl Reader for CallReader {
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            call = self.calls.next() => {
                let call = serde_json::to_string(&call?).ok()?;
                Some(Bytes::from(format!("data: {call}\n\n")))
            }
            () = tokio::time::sleep(KEEP_ALIVE) => Some(HEARTBEAT),
            () = self.stop.cancelled() => None,
        }
    }
}

/// A plugin's messages: events of its agent and replies to calls, in order.
#[utoipa::path(post, path = "/v1/plugins/{agent}/{link}", operation_id = "hearPlugin", tag = "plugins", request_body = PluginMessages,
    params(("agent" = String, Path, description = "The agent whose plugin it is, `opencode`."),
        ("link" = String, Path, description = "The link that the plugin has connected with.")),
    responses((status = 204)))]
async fn hear_plugin(
    State(servers): State<AttachedServers>,
    caller: Caller,
    Names((_, link)): Names<(String, String)>,
    Json(said): Json<PluginMessages>,
) -> Result<Response, Problem> {
    servers.hear_plugin(&caller, &link, said.messages).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A plugin reports that its agent is about to end. Its open questions are cancelled.
#[utoipa::path(delete, path = "/v1/plugins/{agent}/{link}", operation_id = "disconnectPlugin", tag = "plugins",
    params(("agent" = String, Path, description = "The agent whose plugin it is, `opencode`."),
        ("link" = String, Path, description = "The link that the plugin has connected with.")),
    responses((status = 204)))]
async fn disconnect_plugin(
    State(servers): State<AttachedServers>,
    caller: Caller,
    Names((_, link)): Names<(String, String)>,
) -> Result<Response, Problem> {
    servers.disconnect_plugin(&caller, &link).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
