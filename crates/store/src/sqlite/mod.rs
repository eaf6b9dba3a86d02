//! The embedded store: one SQLite file, one writer thread with group commit, a few readers with
//! connections of their own. It knows SQL; every decision about a question is core's.

mod backup;
mod database;
mod deliveries;
mod events;
mod failures;
mod growth;
mod identity;
mod keys;
mod lists;
mod questions;
mod readers;
mod retention;
mod retention_sessions;
mod rows;
mod sessions;
mod settle;
mod tokens;
mod transaction;
mod transcript_head;
mod transcripts;
mod writer;

pub use crate::questions::MAX_OPEN_QUESTIONS;
pub use backup::restore;
pub use database::SqliteStore;
