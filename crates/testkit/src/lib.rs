//! askd's test kit: what tests need and the product must not contain.
//!
//! In: the binary under test, and scripts. Out: a hub that really runs with the command line against it (`hub`), a scripted
//! model that real agents take for their provider (`model`), and the real agent programs, found and started in isolation
//! (`programs`).

pub mod hub;
pub mod model;
pub mod programs;
