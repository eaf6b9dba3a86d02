//! The ways by which bytes travel between askd and an agent. No agent's meaning is known here: bytes come in,
//! framed and bounded values go out, and back.

pub mod holder;
pub mod http_sse;
pub mod jsonrpc;
pub mod lines;
pub mod process;
pub mod regular;
pub mod socket_path;
pub mod sse;
pub mod tail;
pub mod tmux;
