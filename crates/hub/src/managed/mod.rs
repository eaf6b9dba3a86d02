//! Managed sessions: agents that askd starts, each in a holder of its own, each attended by one task.
//!
//! In: a wish to start, to say something, to end; and what the holder tells. Out: sessions, questions and transcripts in the
//! store, answers written to the agent. The hub may die at any point: the holder goes on, and [`resume`] takes up what it finds.

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
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use askd_agents::Registry;
use askd_core::field::Collector;
use askd_core::{SessionId, SourceId};

pub(super) use attendant::Attendant;
pub(super) use command::Command;
pub(super) use hearing::{ROAD, SERVED_ROAD};
pub(super) use pipeline::Stored;
pub(super) use start::{HeldSettings, ServerSettings};
pub use start::{StartError, StartRequest};

use super::{Engine, EngineError};

/// Wishes that wait for one attendant.
const COMMANDS: usize = 64;

/// How long the end of an agent is waited for; it has been told to go, and is killed before that.
pub(super) const END_PATIENCE: Duration = Duration::from_secs(5);

/// What is needed to manage agents.
pub struct ManagedSettings {
    pub registry: Registry,
    /// The data folder: holders live in it.
    pub data: PathBuf,
    /// The askd binary, which is also the holder.
    pub exe: PathBuf,
    /// How long a holder stays without a hub and without an open question.
    pub linger: Duration,
}

/// The agents that are attended at this moment, and those that are being started or taken up.
pub(super) struct Managed {
    pub(super) settings: ManagedSettings,
    attended: Mutex<HashMap<SourceId, Attended>>,
    /// The hub ends all agents: no other is started.
    closed: AtomicBool,
}

/// A place among the attended agents, from the moment at which a source is stored. What is wished of an agent that is still being
/// started waits here for its attendant, so that an end reaches it too.
pub(super) struct Place {
    engine: Engine,
    source: SourceId,
    commands: mpsc::Sender<Command>,
    wishes: mpsc::Receiver<Command>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.engine.inner.managed.remove(&self.source);
    }
}

impl Engine {
    /// A place for the agent of a source, unless the hub is ending all agents.
    fn reserve_place(&self, source: &SourceId, main: &SessionId, leads: bool) -> Result<Place, EngineError> {
        let (commands, wishes) = mpsc::channel(COMMANDS);
        let attended = Attended { main: main.clone(), leads, ending: false, commands: commands.clone() };
        self.inner.managed.add(source.clone(), attended)?;
        Ok(Place { engine: self.clone(), source: source.clone(), commands, wishes })
    }
}

/// A client has chosen an id for its session that another session has.
fn id_taken() -> EngineError {
    let mut errors = Collector::default();
    errors.add("id", "taken", "is the id of another session");
    errors.into_errors().into()
}

#[derive(Clone)]
pub(super) struct Attended {
    main: SessionId,
    /// Whether askd leads the agent; the clients of an ACP server lead it themselves.
    leads: bool,
    /// Whether somebody has ended it, and it is not gone yet.
    ending: bool,
    pub(super) commands: mpsc::Sender<Command>,
}

impl Managed {
    pub(super) fn new(settings: ManagedSettings) -> Self {
        Self { settings, attended: Mutex::default(), closed: AtomicBool::new(false) }
    }

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
        // Under the lock: what was added before is seen by the caller.
        let _attended = self.attended();
        self.closed.store(true, Ordering::Relaxed);
    }

    fn remove(&self, source: &SourceId) {
        self.attended().remove(source);
    }

    pub(super) fn get(&self, source: &SourceId) -> Option<Attended> {
        self.attended().get(source).cloned()
    }

    fn is_empty(&self) -> bool {
        self.attended().is_empty()
    }

    /// Those that nobody has ended.
    fn going_on(&self) -> Vec<SourceId> {
        self.sources(|attended| !attended.ending)
    }

    /// Those that somebody has ended and that are not gone yet.
    fn ending(&self) -> Vec<SourceId> {
        self.sources(|attended| attended.ending)
    }

    fn sources(&self, which: impl Fn(&Attended) -> bool) -> Vec<SourceId> {
        let attended = self.attended();
        attended.iter().filter(|(_, attended)| which(attended)).map(|(source, _)| source.clone()).collect()
    }

    /// Has the agent of a source ended; false if no task attends it.
    pub(super) async fn end(&self, source: &SourceId, detail: String) -> bool {
        let commands = self.attended().get_mut(source).map(|attended| {
            attended.ending = true;
            attended.commands.clone()
        });
        let Some(commands) = commands else { return false };
        drop(commands.send(Command::End { detail }).await);
        true
    }
}
