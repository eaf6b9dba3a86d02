//! askd's test kit: what tests need and the product must not contain.
//!
//! In: scripts, and the binary under test. Out: a scripted model that real agents take for their provider (`model`), the real
//! agent programs, found and started in isolation (`programs`), a real terminal for them (`terminal`), and a hub that really runs (`hub`).

pub mod hub;
pub mod model;
pub mod programs;
pub mod terminal;
