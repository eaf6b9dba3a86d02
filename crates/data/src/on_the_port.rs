//! Hooks and plugins that an askd before the hub's socket installed: they speak to the port, and `askd
//! doctor` tells of them.
//!
//! In: what the hub saw, and when. Out: the same, for the doctor. The hub is the only writer.

use std::io;
use std::path::Path;

use askd_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::write_secret;

/// When each kind of client was last seen by the hub to speak to the port with the token that the data folder
/// has for hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OnThePort {
    pub hook: Option<Timestamp>,
    pub plugin: Option<Timestamp>,
}

pub fn note_on_the_port(path: &Path, seen: &OnThePort) -> io::Result<()> {
    write_secret(path, serde_json::to_string(seen)?.as_bytes())
}

/// The record; empty if the file is missing or invalid.
pub fn read_on_the_port(path: &Path) -> OnThePort {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}
