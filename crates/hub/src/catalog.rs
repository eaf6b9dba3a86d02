//! The service `AgentCatalog`: the agents that askd knows, and what of them is on this machine.
//!
//! In: the registry of adapters, and the programs that are found. Out: the list for `GET /v1/agents`, an
//! adapter by its agent's name, the version of a program, and how a person goes on with a conversation.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use askd_agents::{Adapter, AgentListing, Registry};
use askd_core::{Right, Session, near};

use super::versions::Versions;
use super::{Caller, EngineError, StartError};

/// How long a list waits for the versions of programs: a later list has them.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Programs of one agent that are asked for a version; the list shows the others without one.
const MAX_ASKED: usize = 4;
/// The argument that prints a version.
const SAY_VERSION: &str = "--version";

#[derive(Clone)]
pub struct AgentCatalog {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Registry,
    versions: Versions,
}

impl AgentCatalog {
    pub(super) fn new(registry: Registry) -> Self {
        Self { inner: Arc::new(Inner { registry, versions: Versions::default() }) }
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    pub async fn list(&self, caller: &Caller) -> Result<Vec<AgentListing>, EngineError> {
        caller.needs(Right::Read)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut list = self.registry().list(&path);
        self.ask_versions(&mut list, &path).await;
        list.iter_mut().for_each(|listing| self.registry().judge(listing));
        Ok(list)
    }

    /// Asks each program that has a claim. The user's own commands never run for a list.
    async fn ask_versions(&self, list: &mut [AgentListing], path: &OsStr) {
        let until = Instant::now() + AT_ONCE;
        let mut asked = Vec::new();
        for AgentListing { descriptor, found, acp } in list {
            let own = found.iter_mut().filter(|_| !descriptor.seen.is_empty()).take(MAX_ASKED);
            let by_acp = acp.iter_mut().flat_map(|acp| acp.found.iter_mut().take(MAX_ASKED));
            for found in own.chain(by_acp).filter(|found| found.version.is_none()) {
                let (catalog, program, path) = (self.clone(), found.path.clone(), path.to_owned());
                // The question for the version finishes in its task, even if this list stops waiting.
                let asking =
                    tokio::spawn(
                        async move { catalog.inner.versions.of(&program, SAY_VERSION, &path).await },
                    );
                asked.push((found, asking));
            }
        }
        for (found, asking) in asked {
            found.version = tokio::time::timeout_at(until, asking).await.ok().and_then(Result::ok).flatten();
        }
    }

    pub(super) async fn version_of(
        &self,
        adapter: &dyn Adapter,
        program: &Path,
        path: &OsStr,
    ) -> Option<String> {
        self.inner.versions.of(program, adapter.version_argument()?, path).await
    }

    /// The version of a program, asked anew: it may have been updated behind a wrapper that stayed the same.
    pub(super) async fn version_now(
        &self,
        adapter: &dyn Adapter,
        program: &Path,
        path: &OsStr,
    ) -> Option<String> {
        self.inner.versions.forget(program);
        self.version_of(adapter, program, path).await
    }

    pub(super) fn unknown_agent(&self, name: &str) -> StartError {
        let names = self.registry().names();
        let near = near::name(name, &names);
        let near = near.map(|near| format!(" (did you mean {near:?}?)")).unwrap_or_default();
        StartError::UnknownAgent { name: name.to_owned(), near, known: names.join(", ") }
    }

    /// The command that continues the conversation of an ended session.
    pub(super) fn resume_command(&self, session: &Session) -> Option<String> {
        let adapter = self.registry().get(&session.agent)?;
        adapter.resume_command(&session.native_id).filter(|_| session.native_id != session.id.as_str())
    }
}
