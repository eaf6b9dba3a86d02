//! The agents that askd knows, and what of them is on this machine.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::OnceCell;
use tokio::time::Instant;

use askd_adapters::AgentListing;
use askd_core::Right;

use super::questions::Caller;
use super::{Engine, EngineError};

/// How long a program may take to say its version, and how long a list waits for it: a later list has it.
const PATIENCE: Duration = Duration::from_secs(30);
const AT_ONCE: Duration = Duration::from_secs(3);
/// Programs of one agent that are asked; the rest is listed without a version.
const MAX_ASKED: usize = 4;
/// What makes a program say its version.
const SAY_VERSION: &str = "--version";
/// Characters of what a program says.
const MAX_VERSION: usize = 100;

/// What programs said of their versions, as long as their files are the same.
#[derive(Default)]
pub(super) struct Versions(Mutex<Known>);

type Known = HashMap<(PathBuf, SystemTime), Arc<OnceCell<Option<String>>>>;

impl Engine {
    pub async fn agents(&self, caller: &Caller) -> Result<Vec<AgentListing>, EngineError> {
        caller.needs(Right::Read)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let registry = &self.inner.managed.settings.registry;
        let mut list = registry.list(&path);
        self.ask_versions(&mut list, &path).await;
        list.iter_mut().for_each(|listing| registry.judge(listing));
        Ok(list)
    }

    /// Asks every program that something is claimed of; the user's own commands are not run for a list.
    async fn ask_versions(&self, list: &mut [AgentListing], path: &OsStr) {
        let until = Instant::now() + AT_ONCE;
        let mut asked = Vec::new();
        for AgentListing { descriptor, found, acp } in list {
            let own = found.iter_mut().filter(|_| !descriptor.seen.is_empty()).take(MAX_ASKED);
            let by_acp = acp.iter_mut().flat_map(|acp| acp.found.iter_mut().take(MAX_ASKED));
            for found in own.chain(by_acp).filter(|found| found.version.is_none()) {
                let (versions, program, path) =
                    (Arc::clone(&self.inner.versions), found.path.clone(), path.to_owned());
                // It is asked to the end, also where this list does not wait for it.
                let asking = tokio::spawn(async move { versions.of(&program, SAY_VERSION, &path).await });
                asked.push((found, asking));
            }
        }
        for (found, asking) in asked {
            found.version = tokio::time::timeout_at(until, asking).await.ok().and_then(Result::ok).flatten();
        }
    }
}

impl Versions {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a program says of its version, with the search path that its own interpreter is found by. Each file is asked once.
    pub(super) async fn of(&self, program: &Path, argument: &str, path: &OsStr) -> Option<String> {
        let changed = std::fs::metadata(program).and_then(|meta| meta.modified()).ok()?;
        let cell = Arc::clone(self.known().entry((program.to_owned(), changed)).or_default());
        cell.get_or_init(|| ask(program, argument, path)).await.clone()
    }

    /// Forgets what a program said: what a wrapper runs can change without the wrapper.
    pub(super) fn forget(&self, program: &Path) {
        self.known().retain(|(known, _), _| known != program);
    }
}

/// The first line that a program prints; it gets nothing of askd's own.
async fn ask(program: &Path, argument: &str, path: &OsStr) -> Option<String> {
    let mut command = tokio::process::Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ASKD_")) {
        command.env_remove(name);
    }
    command.env("PATH", path);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line: String = text.lines().next()?.trim().chars().take(MAX_VERSION).collect();
    (output.status.success() && !line.is_empty()).then_some(line)
}
