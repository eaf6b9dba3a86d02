//! OpenCode as clients lead it over ACP: `opencode acp`, which speaks ACP on its lines and asks by its
//! server.
//!
//! In: its lines, the events of its server, and what clients write to it. Out: what every ACP agent says, and
//! the questions of the server as requests of the extension, joined to the lines by the session and the call.
//! `codec` puts the two codecs together, `request` is the form in which a question is shown and kept.

mod agent;
mod codec;
mod request;

pub use agent::OpencodeAcpAgent;
pub use codec::OpencodeAcpCodec;
