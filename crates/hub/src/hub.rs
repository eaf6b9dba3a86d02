//! `Hub`: starts the services, holds them, stops them. It has no other task.
//!
//! In: a store that this process alone uses, settings, and what is needed to start agents. Out: the services,
//! for the server and for the program that joins them.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use askd_store::Store;

use super::access::Access;
use super::acp::{AcpServers, Servers};
use super::attached::{AttachedServers, QuestionOwners};
use super::backups::Backups;
use super::catalog::AgentCatalog;
use super::connection_services::ConnectionServices;
use super::deadlines::Deadlines;
use super::health::Health;
use super::housekeeping::Housekeeping;
use super::log::EventLog;
use super::managed::{Connections, ManagedSettings};
use super::observed::LocalAgents;
use super::outbox::{DeliveryTargets, LateAnswers, Outbox};
use super::questions::{Questions, Waiters};
use super::sessions::Sessions;
use super::sources::Sources;
use super::tasks::Tasks;
use super::transcripts::Transcripts;

/// The settings of a hub.
#[derive(Debug, Clone, Copy, Default)]
pub struct EngineSettings {
    /// Days that settled questions are kept; unless given, for ever.
    pub keep_days: Option<u32>,
}

#[derive(Clone)]
pub struct Hub {
    pub access: Access,
    pub acp_servers: AcpServers,
    pub agents: AgentCatalog,
    pub attached_servers: AttachedServers,
    pub backups: Backups,
    pub connections: Connections,
    pub health: Health,
    pub late_answers: LateAnswers,
    pub local_agents: LocalAgents,
    pub log: EventLog,
    pub questions: Questions,
    pub sessions: Sessions,
    pub sources: Sources,
    pub tasks: Tasks,
    pub transcripts: Transcripts,
    store: Arc<dyn Store>,
}

impl Hub {
    /// Starts the services on a store that this process alone uses.
    pub fn start(store: Arc<dyn Store>, settings: EngineSettings, managed: ManagedSettings) -> Self {
        let tasks = Tasks::default();
        let log = EventLog::new(store.clone(), tasks.clone());
        let waiters = Waiters::new(log.clone());
        let access = Access::new(store.clone(), tasks.clone());
        let agents = AgentCatalog::new(managed.registry.clone());
        let sessions = Sessions::new(store.clone());
        let transcripts = Transcripts::new(store.clone());
        let (targets, owners) = (DeliveryTargets::default(), QuestionOwners::default());
        let sources = Sources::new(store.clone(), targets.clone(), owners.clone());
        let outbox = Outbox::new(store.clone(), targets.clone(), agents.clone(), tasks.clone());
        let deadline_changed = Arc::new(Notify::new());
        let questions = Questions::new(
            store.clone(),
            access.clone(),
            outbox.clone(),
            targets.clone(),
            sessions.clone(),
            waiters.clone(),
            deadline_changed.clone(),
        );
        let for_connections = ConnectionServices {
            store: store.clone(),
            agents: agents.clone(),
            outbox: outbox.clone(),
            questions: questions.clone(),
            sessions: sessions.clone(),
            sources: sources.clone(),
            targets: targets.clone(),
            tasks: tasks.clone(),
        };
        let acp_servers = Arc::new(Servers::default());
        let connections = Connections::new(for_connections.clone(), managed, acp_servers.clone());
        let local_agents = LocalAgents::new(for_connections.clone(), waiters.clone());

        tasks.spawn(waiters.run());
        tasks.spawn(Deadlines::new(store.clone(), targets, deadline_changed).run());
        tasks.spawn(outbox.run());
        tasks.spawn(Housekeeping::new(store.clone(), settings.keep_days).run());
        tasks.spawn(local_agents.clone().watch_terminals());
        Self {
            access,
            acp_servers: AcpServers::new(connections.clone(), transcripts.clone(), acp_servers),
            agents,
            attached_servers: AttachedServers::new(for_connections, owners),
            backups: Backups::new(store.clone()),
            health: Health::new(store.clone()),
            late_answers: LateAnswers::new(store.clone(), connections.clone()),
            connections,
            local_agents,
            log,
            questions,
            sessions,
            sources,
            tasks,
            transcripts,
            store,
        }
    }

    /// Is cancelled when the hub is told to stop.
    pub fn stopping(&self) -> CancellationToken {
        self.tasks.stopping()
    }

    /// Ends the tasks and closes the store.
    pub async fn stop(&self) {
        self.tasks.stop().await;
        self.store.close().await;
    }
}
