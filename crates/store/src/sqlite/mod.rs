//! The embedded store: one SQLite file, one writer thread with group commit, a few readers.

mod deliveries;
mod events;
mod growth;
mod heads;
mod keys;
mod lists;
mod memory;
mod open;
mod questions;
mod readers;
mod retention;
mod rows;
mod sessions;
mod settle;
mod tokens;
mod transcripts;
mod writer;

pub use crate::questions::MAX_OPEN_QUESTIONS;
pub use open::SqliteStore;
