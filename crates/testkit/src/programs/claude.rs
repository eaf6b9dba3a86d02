//! Claude Code: `claude` (and `claude-2.0.76`, `claude-2.1.120`, `claude-2.1.328`).
//!
//! In: the address of a scripted model. Out: a place in which every version starts without a dialog, headless
//! or in a terminal, and talks to that model only.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::place::{AgentEnv, DUMMY_KEY, Place};

#[derive(Debug)]
pub struct ClaudeEnv {
    place: Place,
    config: PathBuf,
    base_url: String,
}

impl ClaudeEnv {
    /// What makes headless Claude Code ask its host over stdin and stdout.
    pub const HEADLESS: [&str; 8] = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-prompt-tool",
        "stdio",
    ];

    /// `base_url` without `/v1`.
    pub fn new(base_url: &str) -> io::Result<Self> {
        let place = Place::new()?;
        let project = json!({
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "projectOnboardingSeenCount": 4,
        });
        // With CLAUDE_CONFIG_DIR set, this file lives inside that folder.
        let state = json!({
            "hasCompletedOnboarding": true, "lastOnboardingVersion": "2.1.325", "numStartups": 5, "theme": "dark",
            "bypassPermissionsModeAccepted": true,
            "customApiKeyResponses": { "approved": [DUMMY_KEY], "rejected": [] },
            "projects": { place.work().to_string_lossy(): project },
        });
        place.seed(".claude/.claude.json", &state.to_string())?;
        let config = place.home().join(".claude");
        Ok(Self { place, config, base_url: base_url.to_owned() })
    }

    /// `CLAUDE_CONFIG_DIR`: settings, transcripts, plans, live sessions.
    pub fn config_dir(&self) -> &Path {
        &self.config
    }
}

impl AgentEnv for ClaudeEnv {
    fn place(&self) -> &Place {
        &self.place
    }

    fn env(&self) -> Vec<(String, String)> {
        let mut env = self.place.env();
        env.set("CLAUDE_CONFIG_DIR", self.config.to_string_lossy());
        env.set("ANTHROPIC_BASE_URL", &self.base_url).set("ANTHROPIC_API_KEY", DUMMY_KEY);
        for name in ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] {
            env.set(name, "1");
        }
        // Allows --dangerously-skip-permissions where tests run as root.
        env.set("IS_SANDBOX", "1").done()
    }
}
