//! askd's test kit: what tests need and the product must not contain.
//!
//! In: scripts. Out: a scripted model that real agents take for their provider (`model`), and the real agent programs,
//! found and started in isolation (`programs`).

pub mod model;
pub mod programs;
