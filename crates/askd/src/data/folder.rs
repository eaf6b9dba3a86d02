//! Where the data folder is and what its files are called.
//!
//! In: `--data`, `ASKD_DATA` or the platform's habit. Out: paths, and what a running hub says about itself.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::secret_file::write_secret;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder(PathBuf);

/// What a running hub writes down so that the CLI and hooks find it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HubInfo {
    pub url: String,
    pub pid: u32,
    pub version: String,
}

impl DataFolder {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// `ASKD_DATA`, else the folder that the platform keeps for a user's data.
    pub fn from_environment() -> Option<Self> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = set("ASKD_DATA") {
            return Some(Self(path));
        }
        let home = set("HOME");
        let base = if cfg!(target_os = "macos") {
            home.map(|home| home.join("Library/Application Support"))
        } else {
            set("XDG_DATA_HOME")
                .filter(|path| path.is_absolute())
                .or_else(|| home.map(|home| home.join(".local/share")))
        };
        base.map(|base| Self(base.join("askd")))
    }

    /// Makes the folder, for this user's eyes only.
    pub fn create(&self) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("askd.db")
    }

    /// The token with all rights, for this user's own CLI.
    pub fn token(&self) -> PathBuf {
        self.0.join("token")
    }

    /// The token that may only ask, for hooks.
    pub fn ask_token(&self) -> PathBuf {
        self.0.join("ask-token")
    }

    /// The key that seals secret answers.
    pub fn secret_key(&self) -> PathBuf {
        self.0.join("secret-key")
    }

    /// Agents that the user registers for every start: a line `NAME=COMMAND` for each.
    pub fn agents(&self) -> PathBuf {
        self.0.join("agents")
    }

    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Questions that hooks could not bring to the hub.
    pub fn missed(&self) -> PathBuf {
        self.0.join("missed.jsonl")
    }

    fn hub_info(&self) -> PathBuf {
        self.0.join("hub.json")
    }

    pub fn write_hub_info(&self, info: &HubInfo) -> io::Result<()> {
        write_secret(&self.hub_info(), serde_json::to_string(info)?.as_bytes())
    }

    /// What the hub of this folder last said about itself; it may have ended since.
    pub fn read_hub_info(&self) -> Option<HubInfo> {
        serde_json::from_slice(&std::fs::read(self.hub_info()).ok()?).ok()
    }

    pub fn remove_hub_info(&self) {
        // A stale file does no harm: whoever reads it asks the address.
        drop(std::fs::remove_file(self.hub_info()));
    }
}
