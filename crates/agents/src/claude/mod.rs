//! Claude Code in stream-json with askd as its permission host, for sessions that askd starts. The questions
//! of its two tools and their answers are known here for every channel.

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
