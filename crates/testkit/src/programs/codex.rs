//! Codex: `codex`.
//!
//! In: the address of a scripted model. Out: a place whose `config.toml` knows that model as its one
//! provider.

use std::io;
use std::path::{Path, PathBuf};

use super::place::{AgentEnv, DUMMY_KEY, Place};

#[derive(Debug)]
pub struct CodexEnv {
    place: Place,
    codex_home: PathBuf,
}

impl CodexEnv {
    /// The provider in `config.toml`, to be named in `thread/start`.
    pub const PROVIDER: &str = "scripted";
    /// A model that Codex has no metadata for, so that it falls back to the plain set of tools.
    pub const MODEL: &str = "scripted-1";

    /// `base_url` with `/v1`.
    pub fn new(base_url: &str) -> io::Result<Self> {
        let place = Place::new()?;
        let config = format!(
            r#"model = "{model}"
model_provider = "{provider}"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.{provider}]
name = "Scripted"
base_url = "{base_url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
"#,
            model = Self::MODEL,
            provider = Self::PROVIDER,
        );
        place.seed(".codex/config.toml", &config)?;
        let codex_home = place.home().join(".codex");
        Ok(Self { place, codex_home })
    }

    /// `CODEX_HOME`: settings, sessions, the daemon's socket.
    pub fn codex_home(&self) -> &Path {
        &self.codex_home
    }
}

impl AgentEnv for CodexEnv {
    fn place(&self) -> &Place {
        &self.place
    }

    fn env(&self) -> Vec<(String, String)> {
        let mut env = self.place.env();
        env.set("CODEX_HOME", self.codex_home.to_string_lossy()).set("SCRIPTED_KEY", DUMMY_KEY).done()
    }
}
