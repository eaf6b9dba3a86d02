//! A change does not depend on its client: hyper drops a handler at any point when its client disconnects.
//!
//! In: every request, before its handler. Out: its response. A request whose method may change something runs
//! to its end in a task of the hub; a lost client loses only the response. The task keeps the client's place
//! among the connections, so there are never more such tasks than places. A wait after the change belongs to
//! the client and ends with it, see [`wait`](super::wait).

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
