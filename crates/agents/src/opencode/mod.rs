//! OpenCode: its server's HTTP API and event stream, `opencode serve` or a terminal UI with a port.
//!
//! In: the data of the events of `/global/event`, and the replies to calls. Out: questions and permissions
//! with their ends, and calls to the server. `hearing` has the meaning of events, `listing` the requests at
//! every connection and `folders` their folders, `verdict` the ends of questions; `question` and `permission`
//! are the two things that wait for a person; `talk` is the agent's text; `leading` is askd's own session in
//! a server that it started.

mod agent;
mod codec;
mod folders;
mod hearing;
mod leading;
mod listing;
mod open;
mod permission;
mod plugin;
mod question;
mod session;
mod talk;
mod verdict;
mod wire;

pub use agent::OpencodeAgent;
pub(crate) use agent::{NAME, SEEN, server};
pub use codec::OpencodeCodec;
pub use plugin::{
    LOCK_FILE, MODULES_FOLDER, OTHERS, PLUGIN_FILE, is_plugin, lock_text, plugin_data, plugin_text,
};
