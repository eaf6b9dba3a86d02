//! JSON-RPC 2.0 without IO: one line of it as a value. Ids, params, results and errors stay the bytes that
//! they were.

mod id;
mod message;

pub use id::Id;
pub use message::{Defect, JsonRpcError, Message, Outcome, Parsed};

/// The notification that asks the other side to abandon a request.
pub const CANCEL_METHOD: &str = "$/cancel_request";
