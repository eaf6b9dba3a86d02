//! Accepts connections and serves the router over HTTP/1.1, within named limits, until told to stop.
//!
//! In: a listener, the router, a token that says stop. Out: nothing; it returns when every connection has ended or the patience
//! for them is over.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::limits::{CONNECTION_BUFFER_BYTES, HEADER_PATIENCE, MAX_CONNECTIONS, SHUTDOWN_PATIENCE};
use super::refusal::{Begun, Spoken};

pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: the connections that end make room.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        // Small answers must not wait for more bytes.
        drop(stream.set_nodelay(true));
        let router = router.clone();
        let begun = Begun::default();
        let stream = Spoken::new(stream, begun.clone());
        let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            begun.set();
            router.clone().oneshot(request.map(Body::new))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_PATIENCE)
            .max_buf_size(CONNECTION_BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that goes away or speaks nonsense is its own affair.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended badly");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(SHUTDOWN_PATIENCE, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}
