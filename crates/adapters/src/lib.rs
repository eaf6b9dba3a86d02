//! askd
pub mod transport;
