//! Meaning: questions, answers, deliveries, and the changes that they allow.
//!
//! In: values and the current time as parameters. Out: values, decisions and errors that name the field. This
//! crate has no IO, async, clock or randomness, so tests can simulate order and crashes.
//!
//! The way of a question through the crate: [`AskInput::complete`] makes an [`Ask`]; [`Reply::check`] makes
//! an [`Answer`]; [`lifecycle::decide`] says what the store does with a [`Resolution`]; [`Delivery::after`]
//! follows the outcome to the agent.

pub mod answer;
pub mod ask;
pub mod delivery;
pub mod event;
pub mod field;
pub mod id;
pub mod keys;
pub mod lifecycle;
pub mod limits;
mod meetable;
pub mod near;
pub mod outcome;
pub mod question;
pub mod reading;
pub mod rights;
pub mod search;
pub mod session;
pub mod time;
pub mod unseen;

pub use answer::{Answer, Reply};
pub use ask::{Ask, AskInput};
pub use delivery::{Delivery, DeliveryState};
pub use event::{Event, EventType, Seq};
pub use field::{FieldError, FieldErrors};
pub use id::{DeliveryId, QuestionId, SessionId, SourceId, TokenId};
pub use lifecycle::{Decision, Resolution};
pub use outcome::{By, Cause, Outcome, RejectMode, Settlement, Status, Surface};
pub use question::{Context, Item, Kind, Question, ToolRef};
pub use reading::{GivenAnswer, ItemAnswer, Reading, ShownAnswer};
pub use rights::{Right, Rights};
pub use session::{Session, Source, SourceState};
pub use time::Timestamp;
