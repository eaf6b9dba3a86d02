//! Attached sources: agents' own HTTP servers with a stream of events, each attended by one task. A server
//! without a port is reached by its plugin (`plugin/`), which dials in.
//!
//! In: an address with credentials, or a plugin's greeting; events, replies to calls. Out: sessions and
//! questions in the store, answers posted to the server, and the state of the connection. Which server it is,
//! only its codec knows. The credentials are in the store's settings of the source and nowhere else. A server
//! is named by a person, or found (`discovery`).

mod attendant;
mod calls;
mod discovery;
mod hearing;
mod link;
mod mouth;
mod plugin;
mod processes;
mod question_owners;
mod resume;
mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use askd_agents::{Begin, Start};
use askd_core::field::Collector;
use askd_core::{Cause, FieldErrors, Right, Source, SourceState};
use askd_store::Store;

use super::connection_services::ConnectionServices;
use super::{Caller, EngineError, NewSource};
use attendant::Attendant;
pub use discovery::Discovery;
use discovery::FoundProcess;
pub(super) use link::{Link, News, lost_text};
use plugin::Plugged;
pub use plugin::{PluginCall, PluginHello, PluginMessage, PluginMessages, PluginReply, PluginStream};
pub(super) use question_owners::QuestionOwners;

/// Commands that wait for one connection.
const COMMANDS: usize = 256;
/// Bytes of an address or of a credential.
const MAX_FIELD_BYTES: usize = 1024;

/// A request to attach to a server.
#[derive(Clone, Default)]
pub struct AttachRequest {
    /// The agent of the server.
    pub kind: String,
    /// Its address; unless given, the agent's usual one.
    pub url: Option<String>,
    pub username: Option<String>,
    pub password: Option<String>,
}

/// The data of an attached source for the next hub. Without `Debug`, so that no log shows it by accident.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AttachedSettings {
    pub(super) url: String,
    pub(super) username: String,
    pub(super) password: Option<String>,
    /// The process, if discovery found the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) found: Option<FoundProcess>,
}

impl AttachedSettings {
    /// A server without a password.
    fn open(url: String, username: String) -> Self {
        Self { url, username, password: None, found: None }
    }

    fn label(&self) -> String {
        match self.found {
            Some(found) => format!("{} (found, process {})", self.url, found.pid),
            None => self.url.clone(),
        }
    }

    fn same_access(&self, other: &Self) -> bool {
        self.url == other.url && self.username == other.username && self.password == other.password
    }
}

/// The known plugins.
#[derive(Default)]
struct Plugins {
    /// The known plugins, by the names of their links.
    known: Mutex<HashMap<String, Arc<Plugged>>>,
    /// Held while a plugin becomes a source, so that it becomes one only.
    greetings: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
pub struct AttachedServers {
    inner: Arc<Inner>,
}

struct Inner {
    hub: ConnectionServices,
    owners: QuestionOwners,
    plugins: Plugins,
}

impl AttachedServers {
    pub(super) fn new(hub: ConnectionServices, owners: QuestionOwners) -> Self {
        Self { inner: Arc::new(Inner { hub, owners, plugins: Plugins::default() }) }
    }

    fn hub(&self) -> &ConnectionServices {
        &self.inner.hub
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.hub.store
    }

    fn owners(&self) -> &QuestionOwners {
        &self.inner.owners
    }

    fn plugins(&self) -> MutexGuard<'_, HashMap<String, Arc<Plugged>>> {
        self.inner.plugins.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches to a running server. The source's state shows whether it can be reached.
    pub async fn attach(&self, caller: &Caller, request: AttachRequest) -> Result<Source, EngineError> {
        caller.needs(Right::Manage)?;
        self.attach_server(request, None).await
    }

    async fn attach_server(
        &self,
        request: AttachRequest,
        found: Option<FoundProcess>,
    ) -> Result<Source, EngineError> {
        let registry = self.hub().agents.registry();
        let adapter = registry.get(&request.kind).cloned();
        let way = adapter.as_ref().and_then(|adapter| adapter.server());
        let (Some(adapter), Some(way)) = (adapter, way) else {
            let with_server = registry.iter().filter(|adapter| adapter.server().is_some());
            let names: Vec<&str> = with_server.map(|adapter| adapter.descriptor().name.as_str()).collect();
            let mut errors = Collector::default();
            let message =
                format!("askd cannot attach to a server of {:?}; use {}", request.kind, names.join(", "));
            errors.add("kind", "unknown_kind", message);
            return Err(errors.into_errors().into());
        };
        let settings = AttachedSettings {
            url: address(request.url.as_deref().unwrap_or(way.url))?,
            username: request.username.unwrap_or_else(|| way.user.to_owned()),
            password: request.password.filter(|password| !password.is_empty()),
            found,
        };
        check_credentials(&settings)?;
        if let Some(known) = self.known_source(&request.kind, &settings).await? {
            return Ok(known);
        }
        let codec = adapter.conversation().map_err(|error| not_built(&error.to_string()))?;
        let new = NewSource {
            kind: request.kind.clone(),
            agent: request.kind,
            label: settings.label(),
            settings: serde_json::to_string(&settings).unwrap_or_default(),
        };
        let stop = self.hub().tasks.stopping().child_token();
        let link = Link::open(settings, way, stop.clone()).map_err(|error| not_built(&error))?;
        let source = self.hub().sources.add(new).await?;
        let redeliver = adapter.descriptor().redeliver;
        let attendant = Attendant::new(self, source.clone(), codec, redeliver, link);
        self.attend_server(attendant, Begin { start: Start::Observed, ..Begin::default() }, stop);
        Ok(source)
    }

    /// The same server once more is the same source; with other credentials it has to be detached first.
    async fn known_source(
        &self,
        kind: &str,
        settings: &AttachedSettings,
    ) -> Result<Option<Source>, EngineError> {
        for record in self.store().sources().await? {
            let source = record.source;
            if source.kind != kind || source.state == SourceState::Ended {
                continue;
            }
            let Ok(known) = serde_json::from_str::<AttachedSettings>(&record.settings) else { continue };
            if known.url != settings.url {
                continue;
            }
            if known.same_access(settings) || settings.found.is_some() {
                return Ok(Some(source));
            }
            if known.found.is_some() {
                // A person who names a found server knows better how to log in.
                let detail = Some("attached again by hand".to_owned());
                self.hub().sources.end(&source.id, Cause::SourceLost { detail }).await?;
                return Ok(None);
            }
            let mut errors = Collector::default();
            let message =
                format!("{} is attached with other credentials; detach {} first", known.url, source.id);
            errors.add("url", "already_attached", message);
            return Err(errors.into_errors().into());
        }
        Ok(None)
    }

    fn attend_server(&self, attendant: Attendant, begin: Begin, stop: CancellationToken) {
        let (commands, wishes) = mpsc::channel(COMMANDS);
        let source = attendant.source.id.clone();
        self.hub().sources.stop_with(source, stop.clone());
        self.hub().tasks.spawn(attendant.run(begin, commands, wishes, stop));
    }
}

fn not_built(why: &str) -> EngineError {
    let mut errors = Collector::default();
    errors.add("kind", "unavailable", why);
    errors.into_errors().into()
}

/// The address without a slash at its end. Credentials do not belong into it: it is shown.
fn address(url: &str) -> Result<String, FieldErrors> {
    let mut errors = Collector::default();
    errors.bounded("url", url, MAX_FIELD_BYTES);
    let parsed = reqwest::Url::parse(url).ok().filter(|url| url.scheme() == "http" && url.host().is_some());
    match parsed {
        None => errors.add("url", "invalid", "must be an address such as http://127.0.0.1:4096"),
        Some(parsed) if !parsed.username().is_empty() || parsed.password().is_some() => {
            errors.add("url", "credentials", "must not have credentials in it; give username and password");
        }
        Some(parsed) if parsed.query().is_some() || parsed.fragment().is_some() => {
            errors.add("url", "invalid", "must not have a query or a fragment");
        }
        Some(_) => {}
    }
    errors.finish(url.trim_end_matches('/').to_owned())
}

fn check_credentials(settings: &AttachedSettings) -> Result<(), FieldErrors> {
    let mut errors = Collector::default();
    errors.bounded("username", &settings.username, MAX_FIELD_BYTES);
    errors.bounded("password", settings.password.as_deref().unwrap_or(""), MAX_FIELD_BYTES);
    if settings.username.contains(':') {
        errors.add("username", "invalid", "must not have a colon in it");
    }
    errors.finish(())
}
