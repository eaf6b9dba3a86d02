//! Plugins: askd's code inside an agent that has no port.
//!
//! In: a plugin's greeting, its events and replies. Out: one source for each, connected like an attached
//! server, and the calls of the codec. A plugin that is away keeps its questions while its process lives, or,
//! if the process cannot be seen, for a time: the hub may have been restarted.

mod messages;
mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use askd_agents::{Begin, Start};
use askd_core::{Cause, Right, SourceId, SourceState};
use askd_holder::process;
use askd_store::SourceRecord;

use super::AttachedServers;
use super::attendant::Attendant;
use super::link::Link;
use crate::observed::is_alive;
use crate::sources::PLUGIN;
use crate::{Caller, EngineError, NewSource};
pub use messages::{PluginCall, PluginHello, PluginMessage, PluginMessages, PluginReply};
pub use wire::PluginStream;
use wire::PluginWire;

/// Known plugins at one time, including those that are away: far more than one person has terminals.
const MAX_PLUGINS: usize = 1024;
/// The pause between looks at the process of a plugin that is away.
const LOOK: Duration = Duration::from_millis(500);

/// The time that a plugin with an invisible process may be away. It tries every 5 s, and an upgraded hub is
/// back sooner.
const LONGEST_AWAY: Duration = Duration::from_secs(10 * 60);

/// A plugin and its source.
pub(super) struct Plugged {
    source: SourceId,
    settings: Settings,
    wire: Arc<PluginWire>,
}

/// The data of a plugin for the next hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    link: String,
    /// The one folder that it serves.
    directory: String,
    /// Its process; `None` if this hub cannot see it.
    process: Option<Process>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    pid: u32,
    started: u64,
}

impl Process {
    fn seen(pid: u32) -> Option<Self> {
        let started = process::start_time(i32::try_from(pid).ok()?).ok()??;
        Some(Self { pid, started })
    }
}

impl AttachedServers {
    /// A plugin connects, at first or again: the calls that it has to make, until it goes away.
    pub async fn connect_plugin(
        &self,
        caller: &Caller,
        agent: &str,
        hello: PluginHello,
    ) -> Result<PluginStream, EngineError> {
        caller.needs(Right::Ask)?;
        let hello = hello.checked()?;
        // A task of its own: a plugin that disconnects must not leave a source without a connection.
        let (servers, agent) = (self.clone(), agent.to_owned());
        let linking = tokio::spawn(async move {
            let plugged = servers.known_plugin(&agent, hello).await?;
            let connected = plugged.wire.connect().await;
            let (stream, number, ended) = connected.ok_or(EngineError::NotFound("source of this plugin"))?;
            servers.hub().tasks.spawn(servers.clone().see_out(plugged, number, ended));
            Ok(stream)
        });
        linking.await.unwrap_or(Err(EngineError::NotFound("source of this plugin")))
    }

    /// The plugin of this link, or a new source for it. New plugins take turns; known ones do not wait.
    async fn known_plugin(&self, agent: &str, hello: PluginHello) -> Result<Arc<Plugged>, EngineError> {
        let _turn = self.inner.plugins.greetings.lock().await;
        if let Some(known) = self.plugins().get(&hello.link) {
            return Ok(Arc::clone(known));
        }
        if self.plugins().len() >= MAX_PLUGINS {
            return Err(EngineError::TooManyPlugins);
        }
        let plugged = Arc::new(self.plug_in(agent, hello).await?);
        self.plugins().insert(plugged.settings.link.clone(), Arc::clone(&plugged));
        Ok(plugged)
    }

    async fn plug_in(&self, agent: &str, hello: PluginHello) -> Result<Plugged, EngineError> {
        let adapter = self.hub().agents.registry().get(agent);
        let adapter = adapter.filter(|adapter| adapter.server().is_some());
        let adapter = adapter.ok_or(EngineError::NotFound("agent with plugins"))?;
        let codec = adapter.conversation().map_err(|_| EngineError::NotFound("agent with plugins"))?;
        let PluginHello { link, pid, directory } = hello;
        let new = NewSource {
            kind: PLUGIN.to_owned(),
            agent: agent.to_owned(),
            label: format!("{} in {directory}, process {pid}", adapter.descriptor().title),
            settings: String::new(),
        };
        let settings = Settings { link, directory, process: Process::seen(pid) };
        let new = NewSource { settings: serde_json::to_string(&settings).unwrap_or_default(), ..new };
        let source = self.hub().sources.add(new).await?;
        let wire = Arc::new(PluginWire::new());
        let redeliver = adapter.descriptor().redeliver;
        let id = source.id.clone();
        let stop = self.hub().tasks.stopping().child_token();
        let link = Link::over(wire.clone(), stop.clone());
        let attendant = Attendant::new(self, source, codec, redeliver, link);
        let (start, cwd) = (Start::Observed, settings.directory.clone());
        self.attend_server(attendant, Begin { start, cwd, ..Begin::default() }, stop);
        Ok(Plugged { source: id, settings, wire })
    }

    /// Takes the messages of a connected plugin in order; their meaning is durable soon after.
    pub async fn hear_plugin(
        &self,
        caller: &Caller,
        link: &str,
        messages: Vec<PluginMessage>,
    ) -> Result<(), EngineError> {
        caller.needs(Right::Ask)?;
        self.plugged(link)?.wire.hear(messages).await;
        Ok(())
    }

    /// A plugin says farewell: its agent is about to end.
    pub async fn disconnect_plugin(&self, caller: &Caller, link: &str) -> Result<(), EngineError> {
        caller.needs(Right::Ask)?;
        let plugged = self.plugged(link)?;
        let cause = Cause::SessionEnded { detail: Some("the agent was closed".to_owned()) };
        self.plug_out(&plugged, cause).await
    }

    fn plugged(&self, link: &str) -> Result<Arc<Plugged>, EngineError> {
        self.plugins().get(link).cloned().ok_or(EngineError::NotFound("plugin"))
    }

    async fn plug_out(&self, plugged: &Plugged, cause: Cause) -> Result<(), EngineError> {
        self.hub().sources.end(&plugged.source, cause).await?;
        self.plugins().remove(&plugged.settings.link);
        Ok(())
    }

    /// Waits for the end of a connection, and then for a newer one or the end of the process.
    async fn see_out(self, plugged: Arc<Plugged>, number: u64, ended: CancellationToken) {
        tokio::select! { () = ended.cancelled() => (), () = plugged.wire.let_go() => () }
        plugged.wire.lost(number).await;
        self.until_gone(plugged, number).await;
    }

    async fn until_gone(&self, plugged: Arc<Plugged>, number: u64) {
        let since = Instant::now();
        let is_known = || {
            let known = self.plugged(&plugged.settings.link);
            plugged.wire.is_newest(number) && known.is_ok_and(|known| Arc::ptr_eq(&known, &plugged))
        };
        while is_known() {
            let cause = match plugged.settings.process {
                Some(process) if is_alive(process.pid, Some(process.started)) => None,
                Some(_) => {
                    Some(Cause::AgentExited { code: None, signal: None, stderr: Vec::new(), resume: None })
                }
                None if since.elapsed() < LONGEST_AWAY => None,
                None => Some(Cause::SourceLost { detail: Some("its plugin did not come back".to_owned()) }),
            };
            if let Some(cause) = cause {
                match self.plug_out(&plugged, cause).await {
                    Ok(()) => return,
                    Err(error) => tracing::error!(%error, "cannot end a source; trying again"),
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Expects a plugin of an earlier hub, if its process lives.
    pub(super) async fn resume_plugin(&self, record: &SourceRecord) -> Result<(), String> {
        let settings: Settings = serde_json::from_str(&record.settings).map_err(|error| error.to_string())?;
        let away = self
            .hub()
            .sources
            .set_state(&record.source.id, SourceState::Lost, Some(wire::AWAY.to_owned()))
            .await;
        away.map_err(|error| error.to_string())?;
        let wire = Arc::new(PluginWire::new());
        let stop = self.hub().tasks.stopping().child_token();
        let link = Link::over(wire.clone(), stop.clone());
        self.take_up(record, link, settings.directory.clone(), stop).await?;
        let plugged = Arc::new(Plugged { source: record.source.id.clone(), settings, wire });
        self.plugins().insert(plugged.settings.link.clone(), Arc::clone(&plugged));
        let servers = self.clone();
        self.hub().tasks.spawn(async move { servers.until_gone(plugged, 0).await });
        Ok(())
    }
}
