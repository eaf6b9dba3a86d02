//! Managed sessions: agents that askd starts, each in a holder of its own, each with one task.
//!
//! In: commands to start, to prompt and to end; reports of the holder. Out: sessions, questions and
//! transcripts in the store, answers written to the agent. The hub may stop at any point: the holder
//! continues, and [`resume`] reconnects.

mod attendant;
mod command;
mod ending;
mod hearing;
mod launch;
mod mouth;
mod names;
mod noting;
mod obeying;
mod pipeline;
mod resume;
mod served;
mod speaking;
mod start;
mod stop;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use askd_agents::Registry;
use askd_core::field::Collector;
use askd_core::{SessionId, SourceId};
use askd_store::Store;

pub(super) use attendant::Attendant;
pub(super) use command::Command;
pub(super) use hearing::{ROAD, SERVED_ROAD};
pub(super) use pipeline::Stored;
pub(super) use resume::pending_of;
pub(super) use start::{HeldSettings, ServerSettings};
pub use start::{StartError, StartRequest};

use super::EngineError;
use super::acp::Servers;
use super::connection_services::ConnectionServices;

/// Commands that wait for one connection.
const COMMANDS: usize = 64;

/// The time to wait for an agent's end, after `SIGTERM` and, within it, `SIGKILL`.
pub(super) const END_PATIENCE: Duration = Duration::from_secs(5);

/// Settings for managed agents.
pub struct ManagedSettings {
    pub registry: Registry,
    /// The data folder: holders live in it.
    pub data: PathBuf,
    /// The askd binary, which also runs as the holder.
    pub exe: PathBuf,
    /// How long a holder stays without a hub and without an open question.
    pub linger: Duration,
}

/// The connected agents, and those that are starting or reconnecting.
#[derive(Default)]
struct Managed {
    attended: Mutex<HashMap<SourceId, Attended>>,
    /// The hub ends all agents: no other is started.
    closed: AtomicBool,
}

/// A place among the connected agents, from the moment when its source is stored. Commands for an agent that
/// is still starting wait here, so an end reaches it too.
pub(super) struct Place {
    connections: Connections,
    source: SourceId,
    commands: mpsc::Sender<Command>,
    wishes: mpsc::Receiver<Command>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.inner.managed.remove(&self.source);
    }
}

#[derive(Clone)]
pub struct Connections {
    inner: Arc<Inner>,
}

struct Inner {
    hub: ConnectionServices,
    settings: ManagedSettings,
    managed: Managed,
    /// The ACP servers of this hub, by their names.
    servers: Arc<Servers>,
}

impl Connections {
    pub(super) fn new(hub: ConnectionServices, settings: ManagedSettings, servers: Arc<Servers>) -> Self {
        Self { inner: Arc::new(Inner { hub, settings, managed: Managed::default(), servers }) }
    }

    pub(super) fn hub(&self) -> &ConnectionServices {
        &self.inner.hub
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.hub.store
    }

    /// Asks something of the agent of a source; false if no task attends it.
    pub(super) async fn command(&self, source: &SourceId, command: Command) -> bool {
        let Some(attended) = self.inner.managed.get(source) else { return false };
        attended.commands.send(command).await.is_ok()
    }

    /// Has the agent of a source ended; false if no task attends it.
    pub(super) async fn end_agent(&self, source: &SourceId, detail: String) -> bool {
        self.inner.managed.end(source, detail).await
    }

    /// A place for the agent of a source, unless the hub is ending all agents.
    fn reserve_place(&self, source: &SourceId, main: &SessionId, leads: bool) -> Result<Place, EngineError> {
        let (commands, wishes) = mpsc::channel(COMMANDS);
        let attended = Attended { main: main.clone(), leads, ending: false, commands: commands.clone() };
        self.inner.managed.add(source.clone(), attended)?;
        Ok(Place { connections: self.clone(), source: source.clone(), commands, wishes })
    }
}

/// The error for a session id of a client that another session has.
fn id_taken() -> EngineError {
    let mut errors = Collector::default();
    errors.add("id", "taken", "is the id of another session");
    errors.into_errors().into()
}

#[derive(Clone)]
struct Attended {
    main: SessionId,
    /// True if askd drives the agent; the clients of an ACP server drive it themselves.
    leads: bool,
    /// True from the command to end it until its end.
    ending: bool,
    commands: mpsc::Sender<Command>,
}

impl Managed {
    fn attended(&self) -> MutexGuard<'_, HashMap<SourceId, Attended>> {
        self.attended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if no agent is started any more, or another one is just started with the same session.
    fn add(&self, source: SourceId, agent: Attended) -> Result<(), EngineError> {
        let mut attended = self.attended();
        if self.closed.load(Ordering::Relaxed) {
            return Err(EngineError::Stopping);
        }
        if attended.iter().any(|(other, known)| *other != source && known.main == agent.main) {
            return Err(id_taken());
        }
        attended.insert(source, agent);
        Ok(())
    }

    /// From now on, no agent is started.
    fn close(&self) {
        // The lock makes everything that was added before visible to the caller.
        let _attended = self.attended();
        self.closed.store(true, Ordering::Relaxed);
    }

    fn remove(&self, source: &SourceId) {
        self.attended().remove(source);
    }

    fn get(&self, source: &SourceId) -> Option<Attended> {
        self.attended().get(source).cloned()
    }

    fn is_empty(&self) -> bool {
        self.attended().is_empty()
    }

    /// The agents without a command to end.
    fn going_on(&self) -> Vec<SourceId> {
        self.sources(|attended| !attended.ending)
    }

    /// The agents with a command to end that have not ended yet.
    fn ending(&self) -> Vec<SourceId> {
        self.sources(|attended| attended.ending)
    }

    fn sources(&self, which: impl Fn(&Attended) -> bool) -> Vec<SourceId> {
        let attended = self.attended();
        attended.iter().filter(|(_, attended)| which(attended)).map(|(source, _)| source.clone()).collect()
    }

    /// Has the agent of a source ended; false if no task attends it.
    async fn end(&self, source: &SourceId, detail: String) -> bool {
        let commands = self.attended().get_mut(source).map(|attended| {
            attended.ending = true;
            attended.commands.clone()
        });
        let Some(commands) = commands else { return false };
        drop(commands.send(Command::End { detail }).await);
        true
    }
}
