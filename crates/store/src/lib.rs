//! Memory: where questions, outcomes, deliveries, sessions and the log of events are kept.
//!
//! In: values of `askd_core` and the current time. Out: values of `askd_core`, after they are durable. One
//! trait, [`Store`], in parts by noun; `sqlite` is the embedded store. Every decision about a question's life
//! is made by `askd_core` inside the store's transaction, so two stores cannot disagree. The store knows no
//! agent and no HTTP.

mod chain;
mod deliveries;
mod error;
mod log;
mod maintenance;
mod questions;
pub mod seal;
mod sessions;
pub mod sqlite;
mod tokens;
mod transcripts;

pub use chain::Chain;
pub use deliveries::{Claim, ClaimedDelivery, Deliveries};
pub use error::{StoreError, StoreResult};
pub use log::{EventLog, LOG_PAGE, LOG_PAGE_BYTES, LoggedEvent, Tail};
pub use maintenance::Maintenance;
pub use questions::{
    Asked, ClaimHolder, Expired, Idempotency, MAX_ENDED_LAST, MAX_OPEN_QUESTIONS, NewQuestion, Order, Origin,
    QuestionFilter, QuestionPage, Questions, Record, Resolve, Resolved, Retention, SECRET_RETRY_MS,
};
pub use sessions::{SessionSeen, Sessions, SourceRecord};
pub use tokens::{TokenRecord, Tokens};
pub use transcripts::{
    AskedIn, AsksHere, Entry, MAX_TRANSCRIPT_BYTES, NewEntry, Piece, RESOLVED, TRANSCRIPT_PAGE,
    TRANSCRIPT_PAGE_BYTES, TURN, TranscriptPage, Transcripts,
};

/// The whole store, as the engine uses it.
///
/// A new noun is a trait of its own in a file of its own, beside [`Questions`], [`Deliveries`], [`Sessions`],
/// [`Transcripts`], [`Tokens`] and [`EventLog`]; a file of the same name in `sqlite/` implements it; a
/// numbered file in `migrations/` has its table; `tests/story` tells its life, for every store.
pub trait Store: Questions + Deliveries + Sessions + Transcripts + Tokens + EventLog + Maintenance {}

impl<T: Questions + Deliveries + Sessions + Transcripts + Tokens + EventLog + Maintenance> Store for T {}
