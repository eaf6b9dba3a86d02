//! The service `AcpServers`: agents that clients talk to themselves, through the hub, over HTTP.
//!
//! In: JSON-RPC messages of any number of clients. Out: the agent's messages as a stored stream, its
//! questions as questions of the inbox, answers of whichever surface as the agent's response. The process is
//! held and attended like every managed agent's.

mod attending;
mod calls;
mod error;
mod ids;
mod notice;
mod open;
mod relay;
mod respond;
mod server;

use std::sync::Arc;

use askd_store::Store;

use super::catalog::AgentCatalog;
use super::managed::Connections;
use super::questions::Questions;
use super::tasks::Tasks;
use super::transcripts::Transcripts;

pub use calls::{AcpStream, acp_event};
pub use error::AcpError;
pub(super) use ids::id_of;
pub use relay::ClientCall;
pub(super) use relay::{Done, Relay, Relayed, Response};
pub use server::AcpServer;
pub(super) use server::Servers;

#[derive(Clone)]
pub struct AcpServers {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    agents: AgentCatalog,
    connections: Connections,
    questions: Questions,
    transcripts: Transcripts,
    tasks: Tasks,
    /// The servers by their names; those that attend them take them out.
    servers: Arc<Servers>,
}

impl AcpServers {
    pub(super) fn new(connections: Connections, transcripts: Transcripts, servers: Arc<Servers>) -> Self {
        let hub = connections.hub();
        let inner = Inner {
            store: hub.store.clone(),
            agents: hub.agents.clone(),
            questions: hub.questions.clone(),
            tasks: hub.tasks.clone(),
            connections,
            transcripts,
            servers,
        };
        Self { inner: Arc::new(inner) }
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.store
    }
}
