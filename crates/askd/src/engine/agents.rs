//! The agents that askd knows, and what of them is on this machine.

use askd_adapters::AgentListing;
use askd_core::Right;

use super::questions::Caller;
use super::{Engine, EngineError};

impl Engine {
    pub fn agents(&self, caller: &Caller) -> Result<Vec<AgentListing>, EngineError> {
        caller.needs(Right::Read)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        Ok(self.inner.managed.settings.registry.list(&path))
    }
}
