//! JSON-RPC 2.0 without IO: `message` turns one line into a value and values into lines, `peer` remembers what is open
//! on both sides. Ids, params, results and errors stay the bytes that they were.

mod id;
mod message;
mod peer;

pub use id::Id;
pub use message::{
    Defect, JsonRpcError, Message, Outcome, Parsed, encode_error, encode_notification, encode_request,
    encode_result, error_code,
};
pub use peer::{CANCEL_METHOD, Incoming, MAX_OPEN_REQUESTS, Peer, PeerError, VersionField};
