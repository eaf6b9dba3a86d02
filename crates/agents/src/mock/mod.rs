//! The mock agent: a real ACP program on standard streams that asks, and misbehaves, on demand.
//!
//! In: prompts whose words say what to do. Out: questions by every way of ACP, what was received, and faults. It is started
//! as a subprocess like any other agent; nothing of it lives in a handler of the hub.

mod adapter;
mod machine;
mod payload;
mod run;
mod script;

pub use adapter::{MOCK_ARGUMENT, MockAgent};
pub use machine::{Effect, Mock, Timer};
pub use run::run;
