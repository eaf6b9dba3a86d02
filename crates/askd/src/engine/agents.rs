//! The agents that askd knows, and what of them is on this machine.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::OnceCell;

use askd_adapters::{AgentListing, Claim, ClaimState, FoundProgram};
use askd_core::Right;

use super::questions::Caller;
use super::{Engine, EngineError};

/// How long a program may take to say its version, and how long a list waits for it: a later list has it.
const PATIENCE: Duration = Duration::from_secs(30);
const AT_ONCE: Duration = Duration::from_secs(3);
/// Programs of one agent that are asked; the rest is listed without a version.
const MAX_ASKED: usize = 4;
/// What makes an ACP command say its version.
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
        for listing in &mut list {
            let name = &listing.descriptor.name;
            if let (Some(acp), Some(seen)) =
                (&mut listing.acp, registry.acp(name).and_then(|adapter| adapter.seen_version()))
            {
                self.ask_versions(&mut acp.found, SAY_VERSION, &path).await;
                acp.questions = claim_here(&acp.questions, seen, acp.found.first());
            }
            let Some(adapter) = registry.get(name) else { continue };
            let Some(argument) = adapter.version_argument() else { continue };
            self.ask_versions(&mut listing.found, argument, &path).await;
            for found in &mut listing.found {
                found.roads =
                    found.version.as_deref().map(|version| adapter.roads_of(version)).unwrap_or_default();
            }
        }
        Ok(list)
    }

    async fn ask_versions(&self, programs: &mut [FoundProgram], argument: &'static str, path: &OsStr) {
        for found in programs.iter_mut().take(MAX_ASKED) {
            let (versions, program, path) =
                (Arc::clone(&self.inner.versions), found.path.clone(), path.to_owned());
            // It is asked to the end, also where this list does not wait for it.
            let asking = tokio::spawn(async move { versions.of(&program, argument, &path).await });
            found.version = tokio::time::timeout(AT_ONCE, asking).await.ok().and_then(Result::ok).flatten();
        }
    }
}

/// What was seen with one version is only declared of another one, which is what would be started here.
fn claim_here(claim: &Claim, seen: &str, here: Option<&FoundProgram>) -> Claim {
    let Some(here) = here.filter(|_| claim.state == ClaimState::Proven) else { return claim.clone() };
    let version = here.version.as_deref().unwrap_or("of an unknown version");
    if version.split_whitespace().any(|word| word == seen) {
        return claim.clone();
    }
    Claim::declared(&format!("{}; the one on this machine is {version}", claim.why))
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
