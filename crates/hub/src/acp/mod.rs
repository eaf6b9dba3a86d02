//! ACP servers: agents that clients talk to themselves, through the hub, over HTTP.
//!
//! In: JSON-RPC messages of any number of clients. Out: the agent's messages as a stored stream, its
//! questions as questions of the inbox, answers of whichever surface as the agent's response. The process is
//! held and attended like every managed agent's.

mod attending;
mod calls;
mod error;
mod ids;
mod notice;
mod open;
mod relay;
mod respond;
mod server;

pub use calls::{AcpStream, acp_event};
pub use error::AcpError;
pub(super) use ids::id_of;
pub use relay::ClientCall;
pub(super) use relay::{Done, Relay, Relayed, Response};
pub use server::AcpServer;
pub(super) use server::Servers;
