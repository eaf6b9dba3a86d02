//! Agents with another adapter that also offer ACP, by a program of their own: `claude` through
//! `claude-agent-acp`, `codex` through `codex-acp`. (`opencode acp` asks in another way: `opencode_acp`.)
//!
//! Each shares its name with the agent's own adapter, and is used for ACP clients (`/v1/acp`).

use super::AcpAgent;
use super::agent::descriptor;
use crate::descriptor::{Claim, ClaimState};

/// Every agent with an ACP command of its own.
pub(crate) fn known() -> Vec<AcpAgent> {
    let claude = Claim::proven(
        "seen with claude-agent-acp 0.99.0 and Claude Code 2.1.325: AskUserQuestion comes as elicitation/create",
    );
    let codex = Claim::proven(
        "seen with codex-acp 2.6.0 and Codex 0.166: request_user_input comes as elicitation/create, in plan mode only",
    );
    vec![
        AcpAgent::named("claude", "Claude Code (ACP)", claude, ClaimState::Declared)
            .program("claude-agent-acp", &["0.99.0"])
            .install("npm install -g @agentclientprotocol/claude-agent-acp"),
        AcpAgent::named("codex", "Codex (ACP)", codex, ClaimState::Declared)
            .program("codex-acp", &["2.6.0"])
            .install("npm install -g @agentclientprotocol/codex-acp"),
    ]
}

impl AcpAgent {
    fn named(name: &str, title: &str, questions: Claim, state: ClaimState) -> Self {
        Self { descriptor: descriptor(name, title, questions, state), args: Vec::new() }
    }

    /// Sets the program, and its versions that were seen.
    fn program(mut self, program: &str, seen: &'static [&'static str]) -> Self {
        self.descriptor.programs = vec![program.to_owned()];
        self.descriptor.process_names.push(program.to_owned());
        self.descriptor.seen = seen;
        self
    }

    fn install(mut self, how: &str) -> Self {
        self.descriptor.install = Some(how.to_owned());
        self
    }
}
