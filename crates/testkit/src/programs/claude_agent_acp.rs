//! Claude Code behind ACP: `claude-agent-acp`.
//!
//! In: the address of a scripted model and the `claude` to run. Out: the place of Claude Code, with that
//! program named.

use std::io;
use std::path::{Path, PathBuf};

use super::claude::ClaudeEnv;
use super::place::{AgentEnv, Place};

#[derive(Debug)]
pub struct ClaudeAgentAcpEnv {
    inner: ClaudeEnv,
    claude: PathBuf,
}

impl ClaudeAgentAcpEnv {
    /// `base_url` without `/v1`; `claude` is used instead of the version that the adapter brings along.
    pub fn new(base_url: &str, claude: &Path) -> io::Result<Self> {
        Ok(Self { inner: ClaudeEnv::new(base_url)?, claude: claude.to_owned() })
    }
}

impl AgentEnv for ClaudeAgentAcpEnv {
    fn place(&self) -> &Place {
        self.inner.place()
    }

    fn env(&self) -> Vec<(String, String)> {
        let mut env = self.inner.env();
        env.push(("CLAUDE_CODE_EXECUTABLE".to_owned(), self.claude.to_string_lossy().into_owned()));
        env
    }
}
