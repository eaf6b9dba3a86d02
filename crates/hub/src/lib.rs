//! The hub: persist, wake, deliver. Every change of a question passes through here to the store.
//!
//! In: calls of the server and values of agents. Out: durable questions, woken waiters, answers for sources.
//! It consists of services: each receives what it uses in `new`, and none holds one that holds it. They learn
//! of each other's changes from the event log. The rooms `managed`, `attached`, `acp` and `observed` are
//! still methods of [`Engine`].
//!
//! Uses `askd-core`, `askd-wire`, `askd-data`, `askd-store`, `askd-holder` and `askd-agents`; it re-exports
//! the types of the store and of agents that the server shows. Never here: HTTP routes, statuses and
//! problems, the command line, or the meaning of a question, which `askd-core` decides.

mod access;
mod acp;
mod attached;
mod backups;
mod caller;
mod catalog;
mod clock;
mod deadlines;
mod error;
mod health;
mod housekeeping;
pub mod http_sse;
mod log;
mod login_codes;
mod managed;
mod observed;
mod outbox;
mod questions;
mod session_names;
mod sessions;
mod sources;
mod tasks;
mod transcripts;
mod versions;

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use askd_agents::AgentListing;
pub use askd_store::{
    LoggedEvent, Order, Piece, QuestionFilter, Store, StoreError, TokenRecord, TranscriptPage,
};
pub use askd_wire::api::HeldAgent;

pub use access::{Access, NewToken};
pub use acp::{AcpError, AcpServer, AcpStream, ClientCall, acp_event};
pub use attached::{
    AttachRequest, Discovery, PluginCall, PluginHello, PluginMessage, PluginMessages, PluginReply,
    PluginStream,
};
pub use backups::Backups;
pub use caller::Caller;
pub use catalog::AgentCatalog;
use clock::{Alarm, at};
pub use clock::{new_bits, now};
pub use error::EngineError;
pub use health::Health;
pub use log::{EventLog, LogFollower, LogNews};
pub use login_codes::LoginCode;
pub use managed::{ManagedSettings, StartError, StartRequest};
pub use observed::{ClaudeFolders, HookHeard, HookReport, HookWord};
pub use outbox::{Carried, DeliveryTarget, DeliveryTargets, Outbox, Said};
pub use questions::{AgentQuestion, Questions};
pub use sessions::Sessions;
pub use sources::{NewSource, Sources};
pub use tasks::Tasks;
pub use transcripts::{Transcript, Transcripts};

use attached::{Attached, QuestionOwners};
use deadlines::Deadlines;
use housekeeping::Housekeeping;
use managed::Managed;
use observed::Observed;
use outbox::Speller;
use questions::Waiters;

/// Settings for settled questions.
#[derive(Debug, Clone, Copy, Default)]
pub struct EngineSettings {
    /// Days that settled questions are kept; unless given, for ever.
    pub keep_days: Option<u32>,
}

#[derive(Clone)]
pub struct Engine {
    pub access: Access,
    pub agents: AgentCatalog,
    pub backups: Backups,
    pub health: Health,
    pub log: EventLog,
    pub questions: Questions,
    pub sessions: Sessions,
    pub sources: Sources,
    pub tasks: Tasks,
    pub transcripts: Transcripts,
    outbox: Outbox,
    targets: DeliveryTargets,
    waiters: Waiters,
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    managed: Managed,
    acp: acp::Servers,
    observed: Arc<Observed>,
    attached: Attached,
    owners: QuestionOwners,
    saying: outbox::Saying,
}

impl Engine {
    /// Starts the engine's tasks on a store that no other process uses.
    pub fn start(store: Arc<dyn Store>, settings: EngineSettings, managed: ManagedSettings) -> Self {
        let tasks = Tasks::default();
        let deadline_changed = Arc::new(Notify::new());
        let (targets, owners) = (DeliveryTargets::default(), QuestionOwners::default());
        let log = EventLog::new(store.clone(), tasks.clone());
        let waiters = Waiters::new(log.clone());
        let access = Access::new(store.clone(), tasks.clone());
        let agents = AgentCatalog::new(managed.registry.clone());
        let sessions = Sessions::new(store.clone());
        let sources = Sources::new(store.clone(), targets.clone(), owners.clone());
        let outbox = Outbox::new(store.clone(), targets.clone(), agents.clone(), tasks.clone());
        let questions = Questions::new(
            store.clone(),
            access.clone(),
            outbox.clone(),
            targets.clone(),
            sessions.clone(),
            waiters.clone(),
            deadline_changed.clone(),
        );
        tasks.spawn(waiters.clone().run());
        tasks.spawn(Deadlines::new(store.clone(), targets.clone(), deadline_changed).run());
        tasks.spawn(outbox.clone().run());
        tasks.spawn(Housekeeping::new(store.clone(), settings.keep_days).run());
        let engine = Self {
            backups: Backups::new(store.clone()),
            health: Health::new(store.clone()),
            transcripts: Transcripts::new(store.clone()),
            inner: Arc::new(Inner {
                store,
                managed: Managed::new(managed),
                acp: acp::Servers::default(),
                observed: Arc::new(Observed::new()),
                attached: Attached::default(),
                owners,
                saying: outbox::Saying::default(),
            }),
            access,
            agents,
            log,
            questions,
            sessions,
            sources,
            tasks,
            outbox,
            targets,
            waiters,
        };
        engine.tasks.spawn(engine.clone().watch_terminals());
        engine
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Ends when the engine begins to stop.
    pub fn stopping(&self) -> CancellationToken {
        self.tasks.stopping()
    }

    /// Ends the tasks and closes the store.
    pub async fn stop(&self) {
        self.tasks.stop().await;
        self.inner.store.close().await;
    }
}
