//! A question of the server in the words of the extension, and back.
//!
//! In: the question as the server's codec heard it. Out: the request that clients see in the stream and that
//! is stored, with the server's own event inside, byte for byte: from it alone an answer can be spoken.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::acp::question;
use crate::heard::Asked;
use askd_wire::json_edit;

/// The path of the event in the request.
const INSIDE: [&str; 3] = ["params", "_meta", "opencode"];

#[derive(Serialize)]
struct Meta<'a> {
    opencode: &'a RawValue,
}

/// The same question for a session that clients know, with the request as the native one.
pub(super) fn shown(asked: Asked, session: &str) -> Option<Asked> {
    let meta = Meta { opencode: &asked.native };
    let native = question::Request::new(session, &asked.native_id, &asked.ask, meta).message()?;
    Some(Asked { native, native_session: Some(session.to_owned()), ..asked })
}

/// The server's event in a stored request; none if the request came on the lines.
pub(super) fn event(native: &RawValue) -> Option<Box<RawValue>> {
    RawValue::from_string(json_edit::at(native.get(), &INSIDE)?.to_owned()).ok()
}
