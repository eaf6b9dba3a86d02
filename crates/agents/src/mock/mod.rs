//! The mock agent: a real ACP program on standard streams that asks, and misbehaves, on demand.
//!
//! In: prompts; their words name the actions. Out: questions by every method of ACP, the received answers,
//! and faults. It runs as a subprocess like any other agent; no handler of the hub contains a part of it.

mod adapter;
mod machine;
mod payload;
mod run;
mod script;

pub use adapter::{MOCK_ARGUMENT, MockAgent};
pub use machine::{Effect, Mock, Timer};
pub use run::run;
