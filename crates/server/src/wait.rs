//! Requests that wait for a human: the header after ten seconds, then white space, then the JSON.
//!
//! In: a future that ends with the answer. Out: an ordinary response if it is quick; else a body that keeps
//! the connection alive and ends with the same JSON. A late error is in the body, because the status has been
//! sent.
//!
//! A handler that changes something runs in a task of the hub, with or without its client. A wait must not:
//! so a handler returns the future of its response, and the connection waits. A lost client ends the wait.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::limits::{HEADERS_AFTER, KEEP_ALIVE};
use super::problem::{Code, Problem};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// JSON with a status.
pub fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => (status, [(header::CONTENT_TYPE, JSON)], bytes).into_response(),
        Err(error) => Problem::new(Code::Internal, error.to_string()).into_response(),
    }
}

/// The places for waiting requests.
#[derive(Clone)]
pub struct Waits {
    stop: CancellationToken,
    places: Arc<Semaphore>,
}

impl Waits {
    pub fn new(stop: CancellationToken, places: Arc<Semaphore>) -> Self {
        Self { stop, places }
    }

    /// Is cancelled when the hub is told to stop.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// A place until it is dropped; `advice` is for a client that comes when there is none.
    pub fn take_place(&self, advice: &str) -> Result<OwnedSemaphorePermit, Problem> {
        self.places.clone().try_acquire_owned().map_err(|_| Problem::new(Code::TooManyWaits, advice))
    }
}

/// The future of a response, as an extension. Extensions can be cloned, and this is taken once.
#[derive(Clone)]
struct Waiting(Arc<Mutex<Option<Rest>>>);

type Rest = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A response that [`wait_out`] replaces by the outcome of `work`.
pub fn answer_when_ready<T, F>(status: StatusCode, work: F) -> Response
where
    T: Serialize + Send + 'static,
    F: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let mut response = status.into_response();
    response.extensions_mut().insert(Waiting(Arc::new(Mutex::new(Some(Box::pin(ready(status, work)))))));
    response
}

/// Waits for the future of a handler's response.
pub async fn wait_out(mut response: Response) -> Response {
    let Some(Waiting(waiting)) = response.extensions_mut().remove() else { return response };
    let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    match waiting {
        Some(waiting) => waiting.await,
        None => response,
    }
}

async fn ready<T, F>(status: StatusCode, work: F) -> Response
where
    T: Serialize + Send + 'static,
    F: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let mut work: Pin<Box<F>> = Box::pin(work);
    match tokio::time::timeout(HEADERS_AFTER, &mut work).await {
        Ok(Ok(value)) => json(status, &value),
        Ok(Err(problem)) => problem.into_response(),
        Err(_) => {
            (status, [(header::CONTENT_TYPE, JSON)], Body::from_stream(kept_alive(work))).into_response()
        }
    }
}

fn kept_alive<T, F>(work: Pin<Box<F>>) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>>
where
    T: Serialize,
    F: Future<Output = Result<T, Problem>>,
{
    stream::unfold(Some(work), |work| async {
        let mut work = work?;
        tokio::select! {
            done = &mut work => {
                let bytes = match done {
                    Ok(value) => serde_json::to_vec(&value).unwrap_or_default(),
                    Err(problem) => problem.to_json(),
                };
                Some((Ok(Bytes::from(bytes)), None))
            }
            () = tokio::time::sleep(KEEP_ALIVE) => Some((Ok(Bytes::from_static(b" ")), Some(work))),
        }
    })
}
