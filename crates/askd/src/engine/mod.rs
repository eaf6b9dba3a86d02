//! The engine: persist, wake, deliver. Everything that changes a question goes through here, and from here to the store.
//!
//! In: calls of `http` and values of adapters. Out: questions after they are durable, woken waiters, answers handed to sources.
//! Its tasks end with one cancellation token; what they had not finished is still in the store for the next start.

mod access;
mod acp;
mod agents;
mod attached;
mod clock;
mod deadlines;
mod deliver;
mod error;
mod free_name;
mod health;
mod housekeeping;
mod late;
mod managed;
mod observed;
mod questions;
mod sources;
mod speller;
mod transcripts;
mod waiters;

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use askd_store::Store;

pub use access::{LoginCode, NewToken};
pub use acp::{AcpError, AcpServer, AcpStream, ClientCall, acp_event};
pub use attached::{
    AttachRequest, Discovery, PluginCall, PluginHello, PluginMessage, PluginMessages, PluginReply,
    PluginStream,
};
use clock::{Alarm, at};
pub use clock::{new_bits, now};
pub use deliver::{Carried, Mouth, Said};
pub use error::EngineError;
pub use managed::{HeldAgent, ManagedSettings, StartError, StartRequest};
pub use observed::{ClaudeFolders, HookHeard, HookReport, HookWord};
pub use questions::Caller;
pub use sources::{AgentQuestion, NewSource};
use speller::Speller;
pub use transcripts::Transcript;

use access::LoginCodes;
use attached::Attached;
use deliver::{Claims, Mouths};
use health::Health;
use managed::Managed;
use observed::Observed;
use waiters::Waiters;

/// How long a stopping engine waits for answers that are just being written, and for changes that clients asked for.
const STOP_PATIENCE: std::time::Duration = std::time::Duration::from_secs(3);

/// What the engine does with things that are settled.
#[derive(Debug, Clone, Copy, Default)]
pub struct EngineSettings {
    /// Days that settled questions are kept; everything for ever unless given.
    pub keep_days: Option<u32>,
}

#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    settings: EngineSettings,
    /// Names this process in claims of deliveries.
    owner: String,
    waiters: Waiters,
    mouths: Mouths,
    claims: Arc<Claims>,
    managed: Managed,
    versions: Arc<agents::Versions>,
    acp: acp::Servers,
    observed: Arc<Observed>,
    attached: Attached,
    login_codes: LoginCodes,
    saying: late::Saying,
    health: Health,
    deadline_changed: tokio::sync::Notify,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Engine {
    /// Starts the engine's tasks on a store that this process alone uses.
    pub fn start(store: Arc<dyn Store>, settings: EngineSettings, managed: ManagedSettings) -> Self {
        let inner = Arc::new(Inner {
            store,
            settings,
            owner: format!("{}-{:032x}", std::process::id(), new_bits()),
            waiters: Waiters::default(),
            mouths: Mouths::default(),
            claims: Arc::default(),
            managed: Managed::new(managed),
            versions: Arc::default(),
            acp: acp::Servers::default(),
            observed: Arc::new(Observed::new()),
            attached: Attached::default(),
            login_codes: LoginCodes::default(),
            saying: late::Saying::default(),
            health: Health::default(),
            deadline_changed: tokio::sync::Notify::new(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        let engine = Self { inner };
        engine.spawn(Self::follow_log);
        engine.spawn(Self::run_deadlines);
        engine.spawn(Self::run_deliveries);
        engine.spawn(Self::run_housekeeping);
        engine.spawn(Self::watch_terminals);
        engine
    }

    /// Runs a task that ends when the engine stops.
    fn spawn<F>(&self, task: impl FnOnce(Self) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = self.inner.stop.clone();
        let task = task(self.clone());
        self.inner.tasks.spawn(async move {
            tokio::select! { () = stop.cancelled() => (), () = task => () }
        });
    }

    /// Runs a change that a client asked for to its end, whatever becomes of the client. A hub that stops waits for it.
    pub fn run_change<T: Send + 'static>(
        &self,
        change: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.inner.tasks.spawn(change)
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Ends when the engine is told to stop.
    pub fn stopping(&self) -> CancellationToken {
        self.inner.stop.clone()
    }

    /// Ends the tasks and closes the store.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        if tokio::time::timeout(STOP_PATIENCE, self.inner.tasks.wait()).await.is_err() {
            tracing::warn!(
                "an answer is still being written, or a change is under way; the next start settles the claim"
            );
        }
        self.inner.store.close().await;
    }
}
