//! Claude Code: the CLI in stream-json with askd as its permission host, for sessions that askd starts.

mod agent;
mod answers;
mod codec;
mod elicitation;
mod evidence;
mod hearing;
mod open;
mod permission;
mod plan;
mod question;
mod versions;
mod wire;

pub use agent::ClaudeAgent;
pub use codec::ClaudeCodec;
