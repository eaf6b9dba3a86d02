//! Bytes to values and back, without IO: what more than one crate reads or writes.
//!
//! In: lines, bodies and streams in pieces of any size, whatever they are. Out: values that borrow from them,
//! or the reason why there is none. Here is the one JSON-RPC parser, the one SSE parser, the one edit inside
//! a JSON text, and the framing of lines; each has a named limit for what it keeps. `api` has the types of
//! the HTTP API that `askd-core` does not have.
//!
//! Uses `askd-core` alone. Never here: a file, socket, process, task, clock or random number; what a message
//! means to an agent or to the inbox.

pub mod api;
pub mod json_edit;
pub mod jsonrpc;
pub mod lines;
pub mod readable;
pub mod sse;
