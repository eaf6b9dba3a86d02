//! The messages between hub and holder over the socket.
//!
//! `frame` cuts the stream into frames, `messages` gives them a meaning. A holder outlives hubs, so both
//! sides may have different versions: `Hello`/`Welcome` agree on one, the holder answers a frame of an
//! unknown kind with `Unsupported`, the hub skips it, and an unknown field of a known frame is ignored.

mod frame;
mod messages;

pub use frame::{
    FrameDecoder, FrameError, MAX_LINE_BYTES, MAX_UNGREETED_FRAME_BYTES, MAX_WRITE_BYTES, RawFrame,
};
pub(super) use frame::{HEADER_BYTES, split_frame};
pub use messages::{
    Decoded, End, Hello, MAX_DELIVERY_ID_BYTES, MIN_PROTOCOL_VERSION, MessageError, PROTOCOL_VERSION,
    ProbeResult, Refusal, StatusReport, ToHolder, ToHub, Welcome, WriteResult, Written, agree,
};
pub(super) use messages::{encode_line, encode_oversized, line_number};
