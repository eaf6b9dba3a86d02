//! `/opencode`: OpenCode's own question API, for the questions of every agent.
//!
//! In: requests of clients that were written for OpenCode (its SDK, renderers of its `question` tool). Out:
//! the routes, statuses and bodies of the real server: a list of open questions, `true` for an answer, 404
//! for a second one, the messages that ask, and two streams of events in which a question is asked, its tool
//! part runs, and is completed. The password is an askd token, the user any name.

mod auth;
mod events;
mod messages;
mod questions;
mod scope;
mod wire;

use axum::Router;
use axum::routing::{get, post};

use super::state::AppState;

pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/opencode/question", get(questions::list))
        .route("/opencode/question/{id}/reply", post(questions::reply))
        .route("/opencode/question/{id}/reject", post(questions::reject))
        .route("/opencode/session/{session}/message", get(messages::list))
        .route("/opencode/session/{session}/message/{message}", get(messages::one))
        .route("/opencode/event", get(events::of_directory))
        .route("/opencode/global/event", get(events::of_all))
        .route("/opencode/global/health", get(questions::health))
}
