//! Checks that an agent's protocol can carry an outcome, before the outcome is stored.
//!
//! In: a question and an outcome. Out: [`Carried`]. A codec encodes from the stored request alone, so a fresh
//! codec knows as much as the connected one, and the check waits for no agent.

use std::sync::Arc;

use askd_agents::{Codec, Registry, Unspeakable};
use askd_core::{Question, Settlement};
use askd_store::{Store, StoreError};
use serde_json::value::RawValue;

use super::Carried;

pub(crate) struct Speller {
    /// `None` for an agent that is no longer registered: only its delivery can show the limit.
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
            // A busy agent, or one whose session has not started, can receive it later.
            Ok(_) | Err(Unspeakable::NotNow(_) | Unspeakable::UnknownSession(_)) => Carried::Yes,
            Err(
                error @ (Unspeakable::CannotCarry(_) | Unspeakable::Misfit(_) | Unspeakable::Unreadable(_)),
            ) => Carried::No(error.to_string()),
        })
    }
}
