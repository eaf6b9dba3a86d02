//! One HTTP server: its stream of events, and calls to it, each with a limit of time and size.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use reqwest::{Client, Method, RequestBuilder, redirect};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::http_sse::{CONNECT_TIMEOUT, SseLimits, SseSignal, listen};
use askd_agents::{Call, CallMethod};

use super::AttachedSettings;
use super::wire::{CALL_TIMEOUT, Reply, Wire};

/// A server that is starting accepts the connection and never answers; the next attempt comes soon.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Servers with heartbeats send one every 10 s.
const IDLE_TIMEOUT: Duration = Duration::from_secs(35);
/// Bytes of a reply: a list of sessions, a message with the output of its tools.
const MAX_REPLY_BYTES: usize = 32 << 20;

#[derive(Clone)]
pub(super) struct Server {
    client: Client,
    settings: Arc<AttachedSettings>,
    events: &'static str,
}

impl Server {
    pub(super) fn new(settings: AttachedSettings, events: &'static str) -> Result<Self, String> {
        // No redirects and no proxy: the credentials go to the named server and nowhere else.
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { client, settings: Arc::new(settings), events })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.settings.url));
        match &self.settings.password {
            Some(password) => request.basic_auth(&self.settings.username, Some(password)),
            None => request,
        }
    }
}

#[async_trait]
impl Wire for Server {
    fn road(&self) -> &'static str {
        "http"
    }

    fn listen(&self, stop: CancellationToken) -> mpsc::Receiver<SseSignal> {
        let limits =
            SseLimits { head_timeout: HEAD_TIMEOUT, idle_timeout: IDLE_TIMEOUT, ..SseLimits::default() };
        let server = self.clone();
        listen(move || server.request(Method::GET, server.events), limits, None, stop)
    }

    async fn call(&self, call: &Call) -> Reply {
        let method = match call.method {
            CallMethod::Get => Method::GET,
            CallMethod::Post => Method::POST,
            CallMethod::Delete => Method::DELETE,
        };
        let mut request = self.request(method, &call.path).query(&call.query).timeout(CALL_TIMEOUT);
        if let Some(body) = &call.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() => return Reply::NotSent(without_url(error)),
            Err(error) => return Reply::Broken(without_url(error)),
        };
        let status = response.status().as_u16();
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Ok(chunk) if body.len() + chunk.len() <= MAX_REPLY_BYTES => body.extend_from_slice(&chunk),
                Ok(_) => return Reply::Broken(format!("the reply has more than {MAX_REPLY_BYTES} bytes")),
                Err(error) => return Reply::Broken(without_url(error)),
            }
        }
        Reply::Answered { status, body }
    }
}

/// The query names the user's folders, which do not belong in a log.
fn without_url(error: reqwest::Error) -> String {
    let error = error.without_url();
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
