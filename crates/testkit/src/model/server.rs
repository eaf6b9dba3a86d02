//! The scripted model as a value: start it, ask it what it saw, drop it.
//!
//! In: a [`Script`]. Out: a running [`ScriptedModel`] that answers on loopback, tells what the agents said,
//! and is gone, port and connections, when the value is dropped. It has its own thread, so a test that blocks
//! its own runtime does not block the model.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use super::conversation::ToolResult;
use super::http::{Shared, router};
use super::log::{LogPage, Request};
use super::script::Script;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("start the scripted model: {0}")]
    Start(#[from] io::Error),
    #[error(
        "see {what} within {limit:?}; the model saw {requests} requests and these tool results: {results:#?}"
    )]
    NotSeen { what: String, limit: Duration, requests: usize, results: Vec<ToolResult> },
}

/// A running scripted model. It ends when it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    /// Starts on a free port of 127.0.0.1.
    pub async fn start(script: Script) -> Result<Self, ModelError> {
        Self::start_on(SocketAddr::from(([127, 0, 0, 1], 0)), script)
    }

    /// Starts on an address of the caller's choice, which should be on loopback.
    pub fn start_on(address: SocketAddr, script: Script) -> Result<Self, ModelError> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(script));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let app = router(shared.clone());
        let thread = std::thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                tokio::select! {
                    _ = axum::serve(listener, app) => {}
                    _ = stopped => {}
                }
            });
            // The runtime is dropped here and takes all connections with it, also those that wait for a
            // delay.
        })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, as Anthropic clients want it.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `http://127.0.0.1:PORT/v1`, as OpenAI clients want it.
    pub fn openai_base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far, oldest first, at most [`super::LOG_REQUESTS`].
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log().requests()
    }

    /// Every tool result that the model saw, over all sessions, in the order in which it first saw it.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        self.shared.log().results()
    }

    /// What `GET /__log?bodies=true` gives.
    pub fn log(&self) -> LogPage {
        self.shared.log().page(true)
    }

    /// Waits until the log satisfies a test, and gives what the test made of it.
    pub async fn until<T>(
        &self,
        what: &str,
        limit: Duration,
        mut test: impl FnMut(&Self) -> Option<T>,
    ) -> Result<T, ModelError> {
        let mut arrived = self.shared.arrived.subscribe();
        let seen = async {
            loop {
                arrived.borrow_and_update();
                if let Some(found) = test(self) {
                    return Some(found);
                }
                if arrived.changed().await.is_err() {
                    return None;
                }
            }
        };
        tokio::time::timeout(limit, seen).await.ok().flatten().ok_or_else(|| ModelError::NotSeen {
            what: what.to_owned(),
            limit,
            requests: self.requests().len(),
            results: self.tool_results(),
        })
    }

    /// Waits until the model has seen this many tool results, and gives all of them.
    pub async fn tool_results_seen(
        &self,
        count: usize,
        limit: Duration,
    ) -> Result<Vec<ToolResult>, ModelError> {
        let what = format!("{count} tool results");
        self.until(&what, limit, |model| Some(model.tool_results()).filter(|seen| seen.len() >= count)).await
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
