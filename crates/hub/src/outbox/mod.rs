//! The way of outcomes back to agents: the queue of deliveries, and the targets that take them.

mod claims;
mod late;
mod speller;
mod targets;
mod worker;

pub use late::LateAnswers;
pub(super) use speller::Speller;
pub use targets::{Carried, DeliveryTarget, DeliveryTargets, Said};
pub use worker::Outbox;
