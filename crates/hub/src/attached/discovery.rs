//! Finds the servers that this user runs on this machine, and reports when one has ended.
//!
//! In: the table of processes, again and again. Out: sources like those that a person attached, with the
//! process that was found. A password is read from a process only if the user allowed it; otherwise a server
//! that needs one is shown as refusing.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use askd_agents::{Call, CallMethod, ServerWay};
use askd_core::{Cause, SourceState};
use askd_holder::SESSION_VARIABLE;
use askd_holder::process::{self, OwnProcess};

use super::calls::Server;
use super::processes::Processes;
use super::wire::{Reply, Wire as _};
use super::{AttachRequest, AttachedServers, AttachedSettings};
use crate::EngineError;
use crate::observed::is_alive;

/// How often the table of processes is looked at: a new server is asked about nothing in its first seconds.
const EVERY: Duration = Duration::from_secs(5);
/// Servers that discovery attaches. No person runs more.
const MAX_FOUND: usize = 32;

/// The limits of discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// True if a password from the environment of a server's process may be used.
    pub passwords: bool,
    /// Only servers with this home, for tests, which must not touch their developer's own.
    pub home: Option<String>,
}

/// The process of a server that was found. A pid alone is not an identity, pid and start time are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FoundProcess {
    pub(crate) pid: i32,
    started: u64,
}

impl FoundProcess {
    pub(super) fn is_alive(self) -> bool {
        u32::try_from(self.pid).is_ok_and(|pid| is_alive(pid, Some(self.started)))
    }
}

/// Memory between looks.
#[derive(Default)]
struct Known {
    processes: Processes,
    /// The attached servers whose end must be reported.
    attached: HashSet<FoundProcess>,
    /// Listeners that need no further look. A server that a person detached is not attached again while its
    /// process lives.
    met: HashSet<(FoundProcess, String)>,
}

/// A listening process of an agent.
#[derive(Debug, Clone)]
struct Listener {
    agent: String,
    process: FoundProcess,
    url: String,
}

impl AttachedServers {
    /// Looks for servers until the hub stops.
    pub fn discover(&self, discovery: Discovery) {
        let servers = self.clone();
        self.hub().tasks.spawn(async move {
            let mut known = Known::default();
            loop {
                if let Err(error) = servers.look_for_servers(&discovery, &mut known).await {
                    tracing::error!(%error, "cannot look for servers; trying again");
                }
                tokio::time::sleep(EVERY).await;
            }
        });
    }

    async fn look_for_servers(&self, discovery: &Discovery, known: &mut Known) -> Result<(), EngineError> {
        if known.processes.is_thorough() || known.attached.iter().any(|process| !process.is_alive()) {
            known.attached = self.let_go_of_the_dead().await?;
            known.met.retain(|(process, _)| process.is_alive());
        }
        let all = || process::process_ids().unwrap_or_default();
        let to_judge = known.processes.look(process::newest_id().ok(), all);
        if to_judge.is_empty() {
            return Ok(());
        }
        let registry = self.hub().agents.registry().clone();
        let home = discovery.home.clone();
        let agent_of = move |process: &OwnProcess, arguments: &[String]| {
            let agent = registry.agent_of_process(&process.name, arguments);
            let Some(agent) =
                agent.filter(|agent| registry.get(agent).is_some_and(|adapter| adapter.server().is_some()))
            else {
                return Ok(None);
            };
            // A process that a hub started belongs to that hub.
            let stranger = process::variable(process.pid, SESSION_VARIABLE)?.is_none();
            let at_home = home.is_none() || process::variable(process.pid, "HOME")? == home;
            Ok(Some(agent).filter(|_| stranger && at_home))
        };
        let looked = tokio::task::spawn_blocking(move || listeners(&to_judge, agent_of)).await;
        let listeners = looked.unwrap_or_default();
        for listener in listeners {
            let key = (listener.process, listener.url.clone());
            if known.met.contains(&key) || known.met.len() >= MAX_FOUND {
                continue;
            }
            if self.attach_found(discovery, &listener).await? {
                known.attached.insert(listener.process);
                known.met.insert(key);
            }
        }
        Ok(())
    }

    /// True if this listener needs no further look: it is an attached server, or it is no server.
    async fn attach_found(&self, discovery: &Discovery, found: &Listener) -> Result<bool, EngineError> {
        let adapter = self.hub().agents.registry().get(&found.agent).cloned();
        let Some(way) = adapter.and_then(|adapter| adapter.server()) else { return Ok(true) };
        match health(way, &found.url).await {
            Some(true) => {}
            Some(false) => return Ok(true),
            // It is starting: it accepts connections before it answers.
            None => return Ok(false),
        }
        let variable = |name: &str| process::variable(found.process.pid, name).ok().flatten();
        let (mut username, mut password) = (None, None);
        if discovery.passwords {
            username = variable(way.user_variable).filter(|name| !name.is_empty());
            password = variable(way.password_variable).filter(|password| !password.is_empty());
        }
        let request =
            AttachRequest { kind: found.agent.clone(), url: Some(found.url.clone()), username, password };
        match self.attach_server(request, Some(found.process)).await {
            Ok(source) => {
                tracing::info!(url = found.url, pid = found.process.pid, source = %source.id, "found a server")
            }
            Err(EngineError::Invalid(errors)) => tracing::debug!(url = found.url, %errors, "not attached"),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Ends the sources of servers that ended, and returns the processes of the others.
    async fn let_go_of_the_dead(&self) -> Result<HashSet<FoundProcess>, EngineError> {
        let mut living = HashSet::new();
        for record in self.store().sources().await? {
            if record.source.state == SourceState::Ended {
                continue;
            }
            let settings = serde_json::from_str::<AttachedSettings>(&record.settings).ok();
            let Some(found) = settings.and_then(|settings| settings.found) else { continue };
            if found.is_alive() {
                living.insert(found);
            } else {
                let detail = format!("the server that was found has ended (process {})", found.pid);
                self.hub().sources.end(&record.source.id, Cause::SourceLost { detail: Some(detail) }).await?;
            }
        }
        Ok(living)
    }
}

/// The processes among these that are this user's agents with a server, by the ports on which they listen.
fn listeners(
    pids: &[i32],
    agent_of: impl Fn(&OwnProcess, &[String]) -> io::Result<Option<String>>,
) -> Vec<Listener> {
    let mut found = Vec::new();
    for pid in pids {
        let arguments = process::command_line(*pid).ok().flatten().unwrap_or_default();
        if arguments.is_empty() {
            // It is the kernel's, is just becoming another program, or is ending.
            continue;
        }
        // A process may end while it is looked at; then it is not there.
        let Ok(Some(own)) = process::own_process(*pid) else { continue };
        let Ok(Some(agent)) = agent_of(&own, &arguments) else { continue };
        let process = FoundProcess { pid: own.pid, started: own.started };
        let ports = process::listening_ports(own.pid).unwrap_or_default();
        let listener =
            |port: u16| Listener { agent: agent.clone(), process, url: format!("http://127.0.0.1:{port}") };
        found.extend(ports.into_iter().map(listener));
    }
    found
}

/// Whether it is such a server, as far as its password allows; `None` without an answer.
async fn health(way: ServerWay, url: &str) -> Option<bool> {
    let settings = AttachedSettings::open(url.to_owned(), way.user.to_owned());
    let server = Server::new(settings, way.events).ok()?;
    let path = way.health.to_owned();
    let call = Call { tag: String::new(), method: CallMethod::Get, path, query: Vec::new(), body: None };
    match server.call(&call).await {
        Reply::Answered { status, .. } => Some(matches!(status, 200 | 401)),
        Reply::NotSent(_) | Reply::Broken(_) => None,
    }
}
