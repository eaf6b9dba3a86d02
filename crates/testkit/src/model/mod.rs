//! The scripted model: a server on loopback that real agent programs take for their model provider.
//!
//! In: a [`Script`] (a plain JSON file, its form is described in `script.rs`) and the requests of any number of
//! agents, in the Anthropic Messages, OpenAI chat completions or OpenAI responses protocol. Out: the scripted turns
//! in that protocol, and a log of what every agent told the model.
//!
//! ```text
//! request --dialect--> Conversation --reply.rs, with the Script--> Reply --dialect--> response
//!                           `--> log.rs: what the model saw
//! ```

mod anthropic;
mod chat;
mod conversation;
mod dialect;
mod http;
mod log;
mod reply;
mod responses;
mod script;
mod server;

pub use conversation::ToolResult;
pub use dialect::Protocol;
pub use log::{LOG_BODY_BYTES, LOG_REQUESTS, LOG_RESULTS, LogPage, Request};
pub use reply::Reply;
pub use script::{Call, Failure, Script, ScriptError, Turn};
pub use server::{ModelError, ScriptedModel};
