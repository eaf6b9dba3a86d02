//! OpenCode: `opencode`.
//!
//! In: the address of a scripted model. Out: a place whose working folder has an `opencode.json` that knows
//! that model as its one provider, and a password for its server.

use std::path::Path;
use std::{fs, io};

use serde_json::json;

use super::place::{AgentEnv, DUMMY_KEY, Place};

#[derive(Debug)]
pub struct OpencodeEnv {
    place: Place,
}

impl OpencodeEnv {
    /// The HTTP Basic user of the server.
    pub const USER: &str = "opencode";
    pub const PASSWORD: &str = "dummy-password";
    /// What the server prints, followed by its address, when it can be asked. Before that it accepts
    /// connections and never answers them.
    pub const READY: &str = "listening on ";

    /// `base_url` with `/v1`.
    pub fn new(base_url: &str) -> io::Result<Self> {
        let place = Place::new()?;
        let model = json!({ "name": "Scripted 1", "tool_call": true, "limit": { "context": 100_000, "output": 8_000 } });
        let config = json!({
            "model": "scripted/scripted-1", "small_model": "scripted/scripted-1",
            "autoupdate": false, "share": "disabled", "snapshot": false,
            "provider": { "scripted": {
                "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
                "options": { "baseURL": base_url, "apiKey": DUMMY_KEY }, "models": { "scripted-1": model },
            } },
            "permission": { "bash": "ask" },
            "agent": { "asker": {
                "mode": "subagent", "description": "A subagent that may ask", "permission": { "question": "allow" },
            } },
        });
        fs::write(place.work().join("opencode.json"), config.to_string())?;
        Ok(Self { place })
    }

    /// The arguments of a server on a free port of loopback.
    pub const SERVE: [&str; 5] = ["serve", "--port", "0", "--hostname", "127.0.0.1"];

    /// Its `HOME`, which nobody else has.
    pub fn home(&self) -> &Path {
        self.place.home()
    }

    /// The `directory` that goes with every call of its API.
    pub fn directory(&self) -> &Path {
        self.place.work()
    }
}

impl AgentEnv for OpencodeEnv {
    fn place(&self) -> &Place {
        &self.place
    }

    fn env(&self) -> Vec<(String, String)> {
        let mut env = self.place.env();
        for (name, folder) in
            [("CONFIG", ".config"), ("DATA", ".local/share"), ("STATE", ".local/state"), ("CACHE", ".cache")]
        {
            env.set(&format!("XDG_{name}_HOME"), self.place.home().join(folder).to_string_lossy());
        }
        for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
            env.set(&format!("OPENCODE_DISABLE_{name}"), "1");
        }
        env.set("OPENCODE_SERVER_PASSWORD", Self::PASSWORD).done()
    }
}
