//! An isolated place for one agent: a fresh home and working folder, and an environment made from nothing.
//!
//! In: nothing of the user's. Out: a [`Place`] that is deleted when it is dropped, and the doors that all
//! agents share, [`AgentEnv`].

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use tempfile::TempDir;

/// A port on which nothing listens (discard). Agents that try to reach the world over HTTPS are refused at
/// once instead of trying for long; loopback is reached directly.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The key that agents are given; no provider would take it.
pub(super) const DUMMY_KEY: &str = "dummy-key";

#[derive(Debug)]
pub struct Place {
    root: TempDir,
    home: PathBuf,
    work: PathBuf,
}

impl Place {
    pub fn new() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("askd-agent-").tempdir()?;
        // Agents name sessions by the real path of their folder.
        let real = root.path().canonicalize()?;
        let (home, work) = (real.join("home"), real.join("work"));
        for folder in [&home, &work, &real.join("tmp")] {
            fs::create_dir(folder)?;
        }
        Ok(Self { root, home, work })
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder in which the agent works.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Writes a file below the home, with its folders.
    pub fn seed(&self, path: impl AsRef<Path>, text: &str) -> io::Result<PathBuf> {
        let path = self.home.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text)?;
        Ok(path)
    }

    /// What every program gets, and all that it gets besides its own.
    pub(super) fn env(&self) -> Env {
        let mut all = Env::default();
        all.set("PATH", "/usr/local/bin:/usr/bin:/bin").set("HOME", self.home.to_string_lossy());
        all.set("TMPDIR", self.root.path().join("tmp").to_string_lossy());
        all.set("LANG", "C.UTF-8").set("TERM", "xterm-256color");
        all.set("HTTPS_PROXY", NOWHERE).set("NO_PROXY", "127.0.0.1,localhost");
        all
    }
}

/// Environment variables in the making.
#[derive(Debug, Default, Clone)]
pub(super) struct Env(Vec<(String, String)>);

impl Env {
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn done(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.0)
    }
}

/// The doors that every agent's isolated place has.
pub trait AgentEnv {
    fn place(&self) -> &Place;

    /// The whole environment; the program must see no other variable.
    fn env(&self) -> Vec<(String, String)>;

    fn cwd(&self) -> &Path {
        self.place().work()
    }

    /// A command in this place, with this environment and nothing of ours.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env()).current_dir(self.cwd());
        command
    }
}
