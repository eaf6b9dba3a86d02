//! The only public door: HTTP and server-sent events.
//!
//! In: connections at a port and at the socket of the data folder. Out: the routes of `/v1`, those of other
//! systems (sandbox-agent, Panopticon, OpenCode), the inbox page, the OpenAPI document; refusals as
//! problem+json. Every connection, body, stream and wait has a named limit.
//!
//! Uses `askd-core`, `askd-wire`, `askd-data` and `askd-hub`. Never here: a rule about questions, SQL, an
//! adapter or the name of an agent. What is asked and what is read comes from the hub.

mod acp;
mod agents;
mod backup;
mod change;
mod cursor;
mod events;
mod extract;
mod guard;
mod health;
mod hooks;
pub mod limits;
mod managed;
mod openapi;
mod opencode;
mod page;
mod panopticon;
mod plugins;
mod port_watch;
mod problem;
mod questions;
mod sandbox_agent;
mod server;
mod sessions;
mod state;
mod stream;
mod tokens;
mod trace;
mod wait;

use axum::Router;
use axum::middleware;
use utoipa_axum::router::OpenApiRouter;

pub use port_watch::PortWatch;
pub use server::{Arrival, serve};
pub use state::{AppState, Doors};

use problem::{Code, Problem};

fn api() -> (Router<AppState>, utoipa::openapi::OpenApi) {
    let (router, document) = OpenApiRouter::with_openapi(openapi::base())
        .merge(health::routes())
        .merge(backup::routes())
        .merge(questions::routes())
        .merge(events::routes())
        .merge(sessions::routes())
        .merge(managed::routes())
        .merge(acp::routes())
        .merge(sandbox_agent::routes())
        .merge(hooks::routes())
        .merge(plugins::routes())
        .merge(panopticon::routes())
        .merge(agents::routes())
        .merge(tokens::routes())
        .split_for_parts();
    (router, openapi::complete(document))
}

/// The API document, as it is checked in at `api/openapi.json`.
pub fn openapi_document() -> utoipa::openapi::OpenApi {
    api().1
}

pub fn router(state: AppState) -> Router {
    let (api, _) = api();
    api.merge(page::routes())
        .merge(opencode::routes())
        .fallback(async || Problem::new(Code::NotFound, "there is no such address; docs/api.md lists them"))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed, "see the Allow header"))
        .layer(middleware::from_fn(trace::in_span))
        .layer(middleware::from_fn_with_state(state.clone(), change::run_to_its_end))
        .layer(middleware::from_fn_with_state(state.clone(), guard::guard))
        .with_state(state)
}
