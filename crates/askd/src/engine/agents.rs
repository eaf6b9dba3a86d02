//! The agents that askd knows, and what of them is on this machine.

use askd_adapters::{Descriptor, FoundProgram};
use askd_core::Right;

use super::questions::Caller;
use super::{Engine, EngineError};

impl Engine {
    pub fn agents(&self, caller: &Caller) -> Result<Vec<(Descriptor, Vec<FoundProgram>)>, EngineError> {
        caller.needs(Right::Read)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let registry = &self.inner.managed.settings.registry;
        Ok(registry.iter().map(|adapter| (adapter.descriptor().clone(), adapter.find(&path))).collect())
    }
}
