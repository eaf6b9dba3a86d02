//! Starting an agent: hold its process, attend it, talk to it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use askd_agents::{Adapter, AdapterError, Begin, Start};
use askd_core::{Cause, FieldErrors, Right, Session, SessionId, Source, SourceState};
use askd_holder::{HolderId, spawn};
use askd_store::SessionSeen;

use super::attendant::Attendant;
use super::command::Command;
use super::ending::end_unattended;
use super::launch::folder_of;
use super::served::{Served, ServedSettings};
use super::{Attended, Connections, Place, id_taken};
use crate::acp::{AcpServer, Relay};
use crate::sources::{ACP, MANAGED};
use crate::{Caller, EngineError, NewSource, Said, new_bits, now};

/// The time for an agent to read a message before its client hears that it has not: a live agent reads within
/// milliseconds, and a client does not wait long for a stopped one.
const READ_PATIENCE: Duration = Duration::from_secs(10);
/// Characters of a prompt that become the title of a session.
const TITLE_CHARS: usize = 80;

/// A wish to start an agent.
#[derive(Debug, Clone, Default)]
pub struct StartRequest {
    /// The id of the new session; a new one unless given.
    pub id: Option<SessionId>,
    pub agent: String,
    /// The agent's folder; unless given, the hub's own.
    pub cwd: Option<PathBuf>,
    pub prompt: Option<String>,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("there is no agent {name:?}{near}; the agents are {known}")]
    UnknownAgent { name: String, near: String, known: String },
    #[error("{0}")]
    NotBuilt(AdapterError),
    #[error("cannot start {agent}: {why}")]
    NotInstalled { agent: String, why: String },
    /// askd cannot start this version; the text says what to do.
    #[error("{0}")]
    Unsupported(AdapterError),
    #[error("cannot start {agent}: {why}")]
    Failed { agent: String, why: String },
    /// The outcome cannot be sent as a message; the text says why.
    #[error("{0}")]
    Unsendable(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<FieldErrors> for StartError {
    fn from(errors: FieldErrors) -> Self {
        Self::Engine(errors.into())
    }
}

/// The data of a managed source for the next hub. It may hold a password, so it has no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldSettings {
    pub(super) holder: HolderId,
    pub(crate) main: SessionId,
    pub(super) cwd: String,
    /// The first prompt, sent once the agent has a session. A hub that stops before that leaves it to the
    /// next one.
    pub(super) prompt: Option<String>,
    /// The ACP server, if the agent is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<ServerSettings>,
    /// The server that the agent itself runs, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) served: Option<ServedSettings>,
    /// The sessions of the conversation that this agent continues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resumes: Vec<SessionId>,
}

impl HeldSettings {
    /// The stream that the sessions of an ACP server share.
    pub(crate) fn stream(self) -> Option<SessionId> {
        self.server.map(|server| server.stream.unwrap_or(self.main))
    }
}

/// The data of an ACP server for the next hub, and for the next agent under its name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerSettings {
    pub(crate) id: String,
    /// Its stream, which continues when another agent starts under the same name; unless given, the main
    /// session's.
    pub(crate) stream: Option<SessionId>,
    /// How many agents there were before.
    pub(crate) generation: u64,
}

impl ServerSettings {
    pub(super) fn relay(self, source: &Source, main: &SessionId) -> Relay {
        let stream = self.stream.unwrap_or_else(|| main.clone());
        let server = AcpServer::new(self.id, source.agent.clone(), source.id.clone(), stream);
        Relay::new(Arc::new(server), self.generation)
    }
}

impl Connections {
    /// Starts an agent. It runs when this returns; its lines and questions come by the streams.
    pub async fn start(&self, caller: &Caller, request: StartRequest) -> Result<Session, StartError> {
        caller.needs(Right::Manage)?;
        let registry = self.hub().agents.registry();
        let adapter = registry
            .get(&request.agent)
            .cloned()
            .ok_or_else(|| self.hub().agents.unknown_agent(&request.agent))?;
        Ok(self.start_held(adapter, request, None).await?.0)
    }

    /// Starts an agent in a holder, for askd itself to lead or, as an ACP server, for clients.
    pub(crate) async fn start_held(
        &self,
        adapter: Arc<dyn Adapter>,
        request: StartRequest,
        server: Option<ServerSettings>,
    ) -> Result<(Session, Option<Arc<AcpServer>>), StartError> {
        let codec = adapter.conversation().map_err(StartError::NotBuilt)?;
        let cwd = folder_of(&request)?;
        let session_id = match &request.id {
            Some(id) if self.store().session(id).await.map_err(EngineError::from)?.is_some() => {
                return Err(id_taken().into());
            }
            Some(id) => id.clone(),
            None => SessionId::from_bits(new_bits()),
        };
        let mut spec = self.holder_spec(adapter.as_ref(), &request, &cwd, &session_id).await?;
        let failed = |why: String| StartError::Failed { agent: request.agent.clone(), why };
        let resumes = match adapter.resumed(&request.args) {
            Some(native_id) => self.hub().sessions.of_conversation(&request.agent, native_id).await?,
            None => Vec::new(),
        };
        let way = adapter.server();
        let served = way.map(|way| ServedSettings::new(way, &mut spec)).transpose()?;
        let held = HeldSettings {
            holder: spec.id.clone(),
            main: session_id.clone(),
            cwd: cwd.display().to_string(),
            prompt: request.prompt.clone(),
            server,
            served,
            resumes,
        };
        let new = NewSource {
            kind: if held.server.is_some() { ACP } else { MANAGED }.to_owned(),
            agent: request.agent.clone(),
            label: std::iter::once(&spec.command)
                .chain(&spec.args)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" "),
            settings: serde_json::to_string(&held).unwrap_or_default(),
        };
        let source = self.hub().sources.add(new).await?;
        let place = match self.reserve_place(&source.id, &session_id, held.server.is_none()) {
            // From here on, an end waits for the connection. An earlier one is in the store.
            Ok(place) if self.is_going_on(&source).await? => place,
            Ok(_) => return Err(failed("its source was ended meanwhile".to_owned())),
            Err(error) => {
                self.hub()
                    .sources
                    .end(&source.id, Cause::SourceLost { detail: Some(error.to_string()) })
                    .await?;
                return Err(error.into());
            }
        };
        let handle = match spawn(&self.inner.settings.exe, spec).await {
            Ok(handle) => handle,
            Err(error) => {
                let cause = Cause::SourceLost { detail: Some(error.to_string()) };
                self.hub().sources.end(&source.id, cause).await?;
                return Err(failed(error.to_string()));
            }
        };
        let seen = SessionSeen {
            id: session_id.clone(),
            source: source.id.clone(),
            agent: request.agent.clone(),
            // Until the agent names it.
            native_id: session_id.to_string(),
            cwd: Some(held.cwd.clone()),
            title: request.prompt.as_deref().map(title_of),
            parent: None,
            pid: u32::try_from(handle.agent_pid).ok(),
            managed: true,
            at: now(),
        };
        let session = match self.hub().sessions.see(seen).await {
            Ok(session) => session,
            Err(error) => {
                // No task would attend the agent.
                end_unattended(&handle.folder, held.holder).await;
                self.hub()
                    .sources
                    .end(&source.id, Cause::SourceLost { detail: Some(error.to_string()) })
                    .await?;
                return Err(error.into());
            }
        };
        let begin = Begin {
            start: if held.server.is_some() { Start::Observed } else { Start::Fresh },
            epoch: 0,
            cwd: held.cwd,
            prompt: request.prompt.clone(),
            ..Begin::default()
        };
        let mut attendant = Attendant::new(
            self,
            source,
            session.clone(),
            codec,
            adapter.descriptor().redeliver,
            handle.folder,
        );
        attendant.served = way.zip(held.served).map(|(way, settings)| Served::new(way, settings));
        attendant.relay = held.server.map(|server| server.relay(attendant.source(), attendant.main()));
        if let Some(prompt) = request.prompt {
            attendant.note_prompt(None, prompt);
        }
        let server = attendant.relay.as_ref().map(|relay| relay.server.clone());
        self.attend(attendant, begin, place);
        Ok((session, server))
    }

    async fn is_going_on(&self, source: &Source) -> Result<bool, EngineError> {
        let record = self.store().source(&source.id).await?;
        Ok(record.is_some_and(|record| record.source.state != SourceState::Ended))
    }

    /// Runs an attendant until its agent is gone or the hub stops.
    pub(super) fn attend(&self, attendant: Attendant, begin: Begin, mut place: Place) {
        let server = attendant.relay.as_ref().map(|relay| relay.server.clone());
        if let Some(server) = &server {
            self.inner.servers.add(server.clone());
        }
        let servers = self.inner.servers.clone();
        self.hub().tasks.spawn(async move {
            attendant.run(begin, place.commands.clone(), &mut place.wishes).await;
            drop(place);
            if let Some(server) = server {
                servers.remove(&server);
            }
        });
    }

    /// Says something to a managed session.
    pub async fn prompt(&self, caller: &Caller, id: &SessionId, text: String) -> Result<(), StartError> {
        caller.needs(Right::Manage)?;
        // An agent that is busy reads the message later.
        self.say(id, None, text).await.map(|_| ())
    }

    /// Sends a message to a managed session. True if the agent has it; false if it has not read it yet and
    /// will.
    pub(crate) async fn say(
        &self,
        id: &SessionId,
        name: Option<String>,
        text: String,
    ) -> Result<bool, StartError> {
        let (session, attended) = self.attended(id).await?;
        let native = (session.native_id != session.id.as_str()).then_some(session.native_id);
        let (reply, answer) = oneshot::channel();
        let failed = |why: String| StartError::Failed { agent: session.agent.clone(), why };
        let gone = || failed("it is not reachable at this moment".to_owned());
        let prompt = Command::Prompt { session: native, name, text, reply };
        attended.commands.send(prompt).await.map_err(|_| gone())?;
        let Ok(said) = tokio::time::timeout(READ_PATIENCE, answer).await else { return Ok(false) };
        match said.map_err(|_| gone())? {
            Said::Written | Said::Confirmed => Ok(true),
            Said::NotNow(why) | Said::Undecided(why) | Said::Failed { detail: why, .. } => Err(failed(why)),
            Said::Unknown => Err(failed("the way to it broke while this was being said".to_owned())),
        }
    }

    async fn attended(&self, id: &SessionId) -> Result<(Session, Attended), StartError> {
        let session = self.store().session(id).await.map_err(EngineError::from)?;
        let session = session.ok_or(EngineError::NotFound("session"))?;
        match self.inner.managed.get(&session.source_id) {
            Some(attended) => Ok((session, attended)),
            None => Err(StartError::Failed {
                agent: session.agent,
                why: if session.managed { "it has ended" } else { "askd did not start it" }.to_owned(),
            }),
        }
    }
}

fn title_of(prompt: &str) -> String {
    prompt.lines().next().unwrap_or("").chars().take(TITLE_CHARS).collect()
}
