//! Meaning: what a question, an answer and a delivery are, and which changes of them are allowed.
//!
//! In: values and the current time as parameters. Out: values, decisions and errors that name the field.
//! There is no IO, no async, no clock and no randomness in this crate, so order and crashes can be simulated.

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
