//! The Agent Client Protocol: any agent that offers it on its standard streams.

mod agent;
mod asking;
mod codec;
mod companion;
pub(crate) mod draft;
pub(crate) mod elicitation;
mod form;
mod hearing;
mod ids;
mod known;
mod observed;
mod open;
mod permission;
pub(crate) mod question;
mod raw;
mod replying;
mod session;
pub(crate) mod tool_content;
mod update;
mod value;
mod wire;

pub use agent::AcpAgent;
pub(crate) use agent::descriptor;
pub use codec::AcpCodec;
pub(crate) use codec::cancelled_turn;
pub(crate) use known::known;
pub use raw::{carries_raw, is_raw};

/// True if a request of this method asks a human, in any form.
pub fn asks(method: &str) -> bool {
    open::Way::of(method).is_some()
}
