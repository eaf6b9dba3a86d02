//! A change does not depend on the client that asked for it: hyper drops a handler whose client goes away,
//! wherever it stands.
//!
//! In: every request, before its handler. Out: its response. A request whose method may change something runs in
//! a task of the hub, to its end; when its client goes, only the response is lost. Nothing on the way here waits:
//! `server` polls each request once as soon as it is read, and with that poll the task has begun. The task keeps
//! the client's place at the door, so there are never more such tasks than places. What a response still waits
//! for after the change belongs to the client and ends with it, see [`wait`](super::wait).

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::{Code, Problem};
use super::server::Place;
use super::wait::wait_out;
use askd_hub::Tasks;

pub async fn run_to_its_end(State(tasks): State<Tasks>, request: Request, next: Next) -> Response {
    let response = if request.method().is_safe() {
        next.run(request).await
    } else {
        let place = request.extensions().get::<Place>().cloned();
        let change = tasks.run_change(async move {
            let response = next.run(request).await;
            drop(place);
            response
        });
        match change.await {
            Ok(response) => response,
            Err(error) => Problem::new(Code::Internal, error.to_string()).into_response(),
        }
    };
    wait_out(response).await
}
