//! askd
