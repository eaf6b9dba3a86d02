//! Whether an outcome can be put into an agent's own words, found out before it is stored.
//!
//! In: a question and how it shall end. Out: [`Carried`]. A codec makes its words from the stored request alone, so one that has
//! heard nothing knows as much as the one that talks to the agent, and no caller has to wait for that agent.

use std::sync::Arc;

use askd_agents::{Codec, Registry, Unspeakable};
use askd_core::{Question, Settlement};
use askd_store::{Store, StoreError};
use serde_json::value::RawValue;

use super::Carried;

pub(crate) struct Speller {
    /// Absent where the agent is not known any more: then only its delivery can tell.
    codec: Option<Box<dyn Codec>>,
    store: Arc<dyn Store>,
}

impl Speller {
    pub(super) fn new(registry: &Registry, store: Arc<dyn Store>, agent: &str, by_acp: bool) -> Self {
        let adapter = registry.running(agent, by_acp);
        let codec = adapter.and_then(|adapter| adapter.conversation()).ok();
        Self { codec, store }
    }

    pub(crate) async fn carries(
        &self,
        question: &Question,
        settlement: &Settlement,
    ) -> Result<Carried, StoreError> {
        let Some(codec) = &self.codec else { return Ok(Carried::Yes) };
        let native = self.store.native(&question.id).await?.unwrap_or_default();
        let spoken = RawValue::from_string(native)
            .map_err(|error| Unspeakable::Unreadable(error.to_string()))
            .and_then(|native| codec.speak(&native, &question.ask, settlement));
        Ok(match spoken {
            // An agent that is busy, or whose session comes later, can be told later.
            Ok(_) | Err(Unspeakable::NotNow(_) | Unspeakable::UnknownSession(_)) => Carried::Yes,
            Err(
                error @ (Unspeakable::CannotCarry(_) | Unspeakable::Misfit(_) | Unspeakable::Unreadable(_)),
            ) => Carried::No(error.to_string()),
        })
    }
}
