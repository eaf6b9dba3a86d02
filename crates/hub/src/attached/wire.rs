//! The transport to an attached server. One connection type serves both directions: askd connects to the
//! server's port, or the server's plugin connects to askd.

use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::http_sse::SseSignal;
use askd_agents::Call;

/// From the request to the last byte of the reply.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// The result of a call.
#[derive(Debug)]
pub(super) enum Reply {
    Answered {
        status: u16,
        body: Vec<u8>,
    },
    /// Certainly not sent.
    NotSent(String),
    /// Sent without a reply.
    Broken(String),
}

#[async_trait]
pub(super) trait Wire: Send + Sync {
    /// The name of this way, for sightings.
    fn road(&self) -> &'static str;

    /// The server's events in order, and every change of the connection. Called once.
    fn listen(&self, stop: CancellationToken) -> mpsc::Receiver<SseSignal>;

    /// One request to the server.
    async fn call(&self, call: &Call) -> Reply;
}
