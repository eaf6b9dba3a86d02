//! What programs say of their versions.
//!
//! In: a program, and what makes it say its version. Out: its first line. A program is run once, as long as its file is the same.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::OnceCell;

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(30);
/// Characters of what a program says.
const MAX_VERSION: usize = 100;

#[derive(Default)]
pub(super) struct Versions(Mutex<Known>);

type Known = HashMap<(PathBuf, SystemTime), Arc<OnceCell<Option<String>>>>;

impl Versions {
    fn known(&self) -> MutexGuard<'_, Known> {
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
