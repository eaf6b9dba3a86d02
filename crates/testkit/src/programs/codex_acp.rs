//! Codex behind ACP: `codex-acp`.
//!
//! In: the address of a scripted model and the `codex` to run. Out: the place of Codex, with that program
//! named.

use std::io;
use std::path::{Path, PathBuf};

use super::codex::CodexEnv;
use super::place::{AgentEnv, Place};

#[derive(Debug)]
pub struct CodexAcpEnv {
    inner: CodexEnv,
    codex: PathBuf,
}

impl CodexAcpEnv {
    /// `base_url` with `/v1`.
    pub fn new(base_url: &str, codex: &Path) -> io::Result<Self> {
        Ok(Self { inner: CodexEnv::new(base_url)?, codex: codex.to_owned() })
    }
}

impl AgentEnv for CodexAcpEnv {
    fn place(&self) -> &Place {
        self.inner.place()
    }

    fn env(&self) -> Vec<(String, String)> {
        let mut env = self.inner.env();
        env.push(("CODEX_PATH".to_owned(), self.codex.to_string_lossy().into_owned()));
        env.push(("MODEL_PROVIDER".to_owned(), CodexEnv::PROVIDER.to_owned()));
        env
    }
}
