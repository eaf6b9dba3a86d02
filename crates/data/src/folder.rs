//! The place of the data folder and the names of its files.
//!
//! In: `--data`, `ASKD_DATA` or the platform's convention. Out: paths, and the record of a running hub.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::socket_path::{SocketPath, SocketPathError};

use super::config::Config;
use super::private::{self, Kind, NotPrivate};
use super::secret_file::{read_secret, write_secret};

/// The hub's socket in the folder.
const SOCKET_NAME: &str = "hub.sock";
/// The same while it is made.
const NEW_SOCKET_NAME: &str = "hub.new";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder {
    path: PathBuf,
    /// True for the folder that askd chose and made, because the user named none.
    is_default: bool,
}

/// A running hub's record for people, and for hooks and plugins of the version before the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HubInfo {
    pub url: String,
    pub pid: u32,
    pub version: String,
}

/// A variable that is set and not empty.
fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl DataFolder {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_default: false }
    }

    /// `ASKD_DATA`, else the folder of the configuration, else the one that the platform keeps for a user's
    /// data. A mistake in the configuration is told by the command, before it comes here.
    pub fn from_environment() -> Option<Self> {
        let configured = || Config::load().ok().and_then(|config| config.data.value);
        Self::told_by_environment().or_else(configured).map(Self::at).or_else(Self::usual)
    }

    /// `ASKD_DATA`.
    pub fn told_by_environment() -> Option<PathBuf> {
        set("ASKD_DATA")
    }

    /// The platform's folder for a user's data.
    pub fn usual() -> Option<Self> {
        let home = set("HOME");
        let base = if cfg!(target_os = "macos") {
            home.map(|home| home.join("Library/Application Support"))
        } else {
            set("XDG_DATA_HOME")
                .filter(|path| path.is_absolute())
                .or_else(|| home.map(|home| home.join(".local/share")))
        };
        base.map(|base| Self { path: base.join("askd"), is_default: true })
    }

    /// Makes the folder for this user alone; an existing one must be private.
    pub fn create(&self) -> Result<(), NotPrivate> {
        use std::os::unix::fs::DirBuilderExt;
        // Nothing is made below a folder that other users can exchange.
        self.check()?;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| NotPrivate::Unseen { action: "make", path: self.path.clone(), error })?;
        self.check().map(drop)
    }

    /// True if the folder exists; an error if other users can use it.
    pub fn check(&self) -> Result<bool, NotPrivate> {
        private::check(Kind::Folder, &self.path)
    }

    /// Checks the folder and everything in it; the hub does this before its first read.
    pub fn check_all(&self) -> Result<(), NotPrivate> {
        private::check_all(self)
    }

    /// Closes the default folder, which askd itself has made, to other users; returns a notice for the user.
    pub fn mend_default(&self) -> Option<String> {
        if !self.is_default {
            return None;
        }
        let was = private::close(&self.path)?;
        let path = self.path.display();
        Some(format!("the data folder {path} was open to others (mode {was:o}); it is closed now (mode 700)"))
    }

    /// A token of the folder, looked at before it is read.
    pub fn read_token(&self, path: &Path) -> Result<Option<String>, NotPrivate> {
        if !self.check()? || !private::check(Kind::Secret, path)? {
            return Ok(None);
        }
        let unseen = |error| NotPrivate::Unseen { action: "read", path: path.to_owned(), error };
        Ok(read_secret(path).map_err(unseen)?.filter(|token| !token.is_empty()))
    }

    /// True if the hub's socket exists; an error if it or its folder is not this user's own.
    pub fn check_socket(&self) -> Result<bool, NotPrivate> {
        Ok(self.check()? && private::check(Kind::Socket, &self.socket())?)
    }

    pub fn socket(&self) -> PathBuf {
        self.path.join(SOCKET_NAME)
    }

    /// The socket by a path that fits a socket address.
    pub fn socket_path(&self) -> Result<SocketPath, SocketPathError> {
        SocketPath::of(&self.path, SOCKET_NAME)
    }

    /// The place of a new socket before it is renamed.
    pub fn new_socket_path(&self) -> Result<SocketPath, SocketPathError> {
        SocketPath::of(&self.path, NEW_SOCKET_NAME)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        self.path.join("askd.db")
    }

    /// The token with all rights, for this user's own CLI.
    pub fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// The token for hooks, which may only ask.
    pub fn ask_token(&self) -> PathBuf {
        self.path.join("ask-token")
    }

    /// The key for secret answers.
    pub fn secret_key(&self) -> PathBuf {
        self.path.join("secret-key")
    }

    /// Agents that the user registered before there was a configuration file: a line `NAME=COMMAND` for each.
    pub fn agents(&self) -> PathBuf {
        self.path.join("agents")
    }

    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Questions that hooks could not bring to the hub.
    pub fn missed(&self) -> PathBuf {
        self.path.join("missed.jsonl")
    }

    /// The hooks and plugins that still use the port.
    pub fn on_the_port(&self) -> PathBuf {
        self.path.join("on-the-port.json")
    }

    /// The config folders of Claude Code that the user has named.
    pub fn claude_folders(&self) -> PathBuf {
        self.path.join("claude-folders.json")
    }

    /// Config folders of Claude Code that hooks have named and the user has not told askd of.
    pub fn claude_folders_untold(&self) -> PathBuf {
        self.path.join("claude-folders-untold.json")
    }

    fn hub_info(&self) -> PathBuf {
        self.path.join("hub.json")
    }

    pub fn write_hub_info(&self, info: &HubInfo) -> io::Result<()> {
        write_secret(&self.hub_info(), serde_json::to_string(info)?.as_bytes())
    }

    /// The last record of this folder's hub, which may have ended since.
    pub fn read_hub_info(&self) -> Option<HubInfo> {
        serde_json::from_slice(&std::fs::read(self.hub_info()).ok()?).ok()
    }

    pub fn remove_hub_info(&self) {
        // A stale file does no harm: no program shows a token to the address in it.
        drop(std::fs::remove_file(self.hub_info()));
    }
}
