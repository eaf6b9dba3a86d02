//! The state of the handlers: each names the services that it uses, and so shows what it can touch.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio::sync::Semaphore;

use super::limits::{MAX_STREAMS, MAX_WAITS};
use super::port_watch::PortWatch;
use super::stream::Streams;
use super::wait::Waits;
use askd_hub::{
    Access, AcpServers, AgentCatalog, AttachedServers, Backups, Connections, EventLog, Health, Hub,
    LateAnswers, LocalAgents, Questions, Sessions, Sources, Tasks, Transcripts,
};

#[derive(Clone)]
pub struct AppState {
    pub hub: Hub,
    pub doors: Arc<Doors>,
    /// The address of this hub for people, for log-in links.
    pub public_url: Arc<str>,
    pub streams: Arc<Semaphore>,
    pub waits: Arc<Semaphore>,
    pub port_watch: PortWatch,
}

/// The allowed names and origins.
#[derive(Debug, Clone, Default)]
pub struct Doors {
    /// Host names, with or without port.
    pub hosts: Vec<String>,
    /// Origins of other pages, for CORS.
    pub origins: Vec<String>,
}

impl AppState {
    pub fn new(hub: Hub, doors: Doors, public_url: &str) -> Self {
        Self {
            hub,
            doors: Arc::new(doors),
            public_url: Arc::from(public_url),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            waits: Arc::new(Semaphore::new(MAX_WAITS)),
            port_watch: PortWatch::default(),
        }
    }
}

/// A handler takes a part of the state alone: `State(questions): State<Questions>`.
macro_rules! parts {
    ($($part:ty: $($field:ident).+,)*) => {
        $(impl FromRef<AppState> for $part {
            fn from_ref(state: &AppState) -> Self {
                state.$($field).+.clone()
            }
        })*
    };
}

parts! {
    Access: hub.access,
    AcpServers: hub.acp_servers,
    AgentCatalog: hub.agents,
    AttachedServers: hub.attached_servers,
    Backups: hub.backups,
    Connections: hub.connections,
    EventLog: hub.log,
    Health: hub.health,
    LateAnswers: hub.late_answers,
    LocalAgents: hub.local_agents,
    Questions: hub.questions,
    Sessions: hub.sessions,
    Sources: hub.sources,
    Tasks: hub.tasks,
    Transcripts: hub.transcripts,
}

impl FromRef<AppState> for Streams {
    fn from_ref(state: &AppState) -> Self {
        Self::new(state.hub.access.clone(), state.hub.stopping(), state.streams.clone())
    }
}

impl FromRef<AppState> for Waits {
    fn from_ref(state: &AppState) -> Self {
        Self::new(state.hub.stopping(), state.waits.clone())
    }
}
