//! The embedded store: one SQLite file, one writer thread with group commit, a few readers.

mod changes;
mod commit;
mod deliveries;
mod events;
mod fold;
mod growth;
mod heads;
mod journal;
mod keys;
mod lists;
mod memory;
mod open;
mod questions;
mod readers;
mod redo;
mod retention;
mod rows;
mod sessions;
mod settle;
mod tokens;
mod transcripts;
mod tx;
mod writer;

pub use crate::questions::MAX_OPEN_QUESTIONS;
pub use open::SqliteStore;
