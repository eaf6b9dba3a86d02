//! The real agent programs, found and started so that they touch nothing of the user's and reach nothing but
//! loopback.
//!
//! In: the cache that `tests/agents/install` fills, and the address of a scripted model. Out: programs by
//! name (`cache.rs`), an isolated place with seeded settings for each agent (one file per agent, each a
//! struct `…Env` with the same doors by way of [`AgentEnv`]), a process that cannot outlive its test
//! (`running.rs`), and a runner for tests that need such programs (`live.rs`).
//!
//! To add a program: pin it in `tests/agents/package.json`, give it a line in `tests/agents/install`, and add
//! one file here.

mod cache;
mod claude;
mod claude_agent_acp;
mod codex;
mod codex_acp;
pub mod live;
mod opencode;
mod place;
mod running;

pub use cache::{CacheError, program, required};
pub use claude::ClaudeEnv;
pub use claude_agent_acp::ClaudeAgentAcpEnv;
pub use codex::CodexEnv;
pub use codex_acp::CodexAcpEnv;
pub use opencode::OpencodeEnv;
pub use place::{AgentEnv, Place};
pub use running::{RunError, Running};
