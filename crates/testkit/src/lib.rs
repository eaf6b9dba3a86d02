//! askd's test kit: what tests need and the product must not contain.
//!
//! In: the binary under test. Out: a hub that really runs, and the command line against it (`hub`).

pub mod hub;
