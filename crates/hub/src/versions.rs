//! Versions of programs.
//!
//! In: a program, and the argument that prints its version. Out: its first line. A program runs once while
//! its file is unchanged.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::OnceCell;

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(30);
/// Characters of a version that are kept.
const MAX_VERSION: usize = 100;

#[derive(Default)]
pub(super) struct Versions(Mutex<Known>);

type Known = HashMap<(PathBuf, SystemTime), Arc<OnceCell<Option<String>>>>;

impl Versions {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version that a program prints, with the search path for its interpreter. Each file is asked once.
    pub(super) async fn of(&self, program: &Path, argument: &str, path: &OsStr) -> Option<String> {
        let changed = std::fs::metadata(program).and_then(|meta| meta.modified()).ok()?;
        let cell = Arc::clone(self.known().entry((program.to_owned(), changed)).or_default());
        cell.get_or_init(|| ask(program, argument, path)).await.clone()
    }

    /// Forgets a version: the program behind a wrapper can change while the wrapper does not.
    pub(super) fn forget(&self, program: &Path) {
        self.known().retain(|(known, _), _| known != program);
    }
}

/// The first line that a program prints. Its environment has nothing of askd's.
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
