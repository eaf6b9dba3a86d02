//! Claude Code: the CLI in stream-json with askd as its permission host, for sessions that askd starts. What its two tools ask and how
//! they are answered is known here for every road.

mod agent;
pub(crate) mod answers;
mod codec;
mod elicitation;
mod evidence;
mod hearing;
mod open;
mod permission;
pub(crate) mod plan;
pub(crate) mod question;
mod versions;
mod wire;

pub use agent::ClaudeAgent;
pub use codec::ClaudeCodec;
pub use question::Takes;
