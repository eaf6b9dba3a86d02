//! Finding an ACP server by its name, and starting its agent with the first request.

use std::sync::Arc;

use askd_core::{Cause, Right, SessionId};

use super::AcpServers;
use super::error::AcpError;
use super::server::{AcpServer, Slot};
use crate::managed::{END_PATIENCE, HeldSettings, ServerSettings};
use crate::sources::ACP;
use crate::{Caller, StartRequest};

/// The longest name of a server.
const MAX_NAME_BYTES: usize = 256;

/// The last agent of a server.
pub(super) struct LastAgent {
    pub(super) stream: SessionId,
    generation: u64,
    pub(super) cause: Option<Cause>,
}

impl AcpServers {
    /// The server of that name. A request may start it, the first one of all, or an `initialize` after its
    /// agent has ended.
    pub async fn server(
        &self,
        caller: &Caller,
        id: &str,
        agent: Option<&str>,
        method: &str,
    ) -> Result<Arc<AcpServer>, AcpError> {
        caller.needs(Right::Manage)?;
        loop {
            if let Some(server) = self.current_server(id).await {
                return same_agent(server, agent);
            }
            let agent = match (agent, self.last_agent(id).await?) {
                (None, None) => return Err(AcpError::UnknownServer(id.to_owned())),
                (Some(agent), None) => agent,
                (Some(agent), Some(_)) if method == "initialize" => agent,
                (_, Some(last)) => return Err(ended(id, last)),
            };
            if let Some(server) = self.start_server(id, agent).await? {
                return Ok(server);
            }
        }
    }

    /// The running server of a name. Waits for one that is starting, or whose agent has just ended.
    pub(super) async fn current_server(&self, id: &str) -> Option<Arc<AcpServer>> {
        loop {
            let mut settled = match self.inner.servers.get(id)? {
                Slot::Starting(starting) => starting,
                Slot::Running(server) if server.is_gone() => server.over(),
                Slot::Running(server) => return Some(server),
            };
            let stop = self.inner.tasks.stopping();
            tokio::select! {
                // Closes; nothing is ever sent.
                _ = settled.changed() => {}
                () = stop.cancelled() => return None,
            }
        }
    }

    /// The running server, or the reason why there is none; starts nothing.
    pub(super) async fn running_server(&self, id: &str) -> Result<Arc<AcpServer>, AcpError> {
        if let Some(server) = self.current_server(id).await {
            return Ok(server);
        }
        let why = self.no_server(id).await;
        // One that was begun between the two looks is in the store already, and has not ended.
        self.current_server(id).await.ok_or(why)
    }

    /// Why no server runs under this name.
    pub async fn no_server(&self, id: &str) -> AcpError {
        match self.last_agent(id).await {
            Ok(Some(last)) => ended(id, last),
            Ok(None) => AcpError::UnknownServer(id.to_owned()),
            Err(error) => error,
        }
    }

    /// `None` if another client was faster.
    async fn start_server(&self, id: &str, agent: &str) -> Result<Option<Arc<AcpServer>>, AcpError> {
        if id.is_empty() || id.len() > MAX_NAME_BYTES {
            let why = format!("the name of a server has 1 to {MAX_NAME_BYTES} bytes");
            return Err(AcpError::Malformed(why));
        }
        let Ok(_starting) = self.inner.servers.reserve(id) else { return Ok(None) };
        let adapter = self.inner.agents.registry().acp(agent).cloned();
        let adapter = adapter.ok_or_else(|| self.inner.agents.unknown_agent(agent))?;
        let last = self.last_agent(id).await?;
        let settings = ServerSettings {
            id: id.to_owned(),
            generation: last.as_ref().map_or(0, |last| last.generation + 1),
            stream: last.map(|last| last.stream),
        };
        let request = StartRequest { agent: agent.to_owned(), ..StartRequest::default() };
        let (_, server) = self.inner.connections.start_held(adapter, request, Some(settings)).await?;
        Ok(server)
    }

    /// The newest agent under the name of a server, from the store.
    pub(super) async fn last_agent(&self, id: &str) -> Result<Option<LastAgent>, AcpError> {
        for record in self.store().sources().await? {
            if record.source.kind != ACP {
                continue;
            }
            let Ok(held) = serde_json::from_str::<HeldSettings>(&record.settings) else { continue };
            let Some(server) = held.server.filter(|server| server.id == id) else { continue };
            let main = self.store().session(&held.main).await?;
            return Ok(Some(LastAgent {
                stream: server.stream.unwrap_or(held.main),
                generation: server.generation,
                cause: main.and_then(|main| main.end),
            }));
        }
        Ok(None)
    }

    /// Ends a server: when this returns, its process group is gone. Ending what has ended is no error.
    pub async fn end(&self, caller: &Caller, id: &str) -> Result<(), AcpError> {
        caller.needs(Right::Manage)?;
        let server = match self.running_server(id).await {
            Ok(server) => server,
            Err(AcpError::Ended { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut gone = server.over();
        self.inner.connections.end_agent(&server.source, format!("ended by {}", caller.token.name)).await;
        drop(server);
        let over = async { while gone.changed().await.is_ok() {} };
        match tokio::time::timeout(END_PATIENCE, over).await {
            Ok(()) => Ok(()),
            Err(_) => Err(AcpError::Unreachable),
        }
    }
}

fn ended(id: &str, last: LastAgent) -> AcpError {
    AcpError::Ended { server: id.to_owned(), cause: last.cause }
}

fn same_agent(server: Arc<AcpServer>, wanted: Option<&str>) -> Result<Arc<AcpServer>, AcpError> {
    match wanted.filter(|wanted| *wanted != server.agent) {
        None => Ok(server),
        Some(wanted) => Err(AcpError::OtherAgent {
            server: server.id.clone(),
            running: server.agent.clone(),
            wanted: wanted.to_owned(),
        }),
    }
}
