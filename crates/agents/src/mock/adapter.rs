//! The mock as an agent of the registry: askd's own binary, started with one argument.

use std::ffi::OsStr;

use crate::acp;
use crate::adapter::{Adapter, AdapterError, FoundProgram, Launch, LaunchRequest};
use crate::capability::Level;
use crate::codec::Codec;
use crate::descriptor::{Claim, ClaimState, Descriptor};

/// The hidden argument that turns a binary into the mock.
pub const MOCK_ARGUMENT: &str = "mock-agent";

#[derive(Debug)]
pub struct MockAgent {
    descriptor: Descriptor,
}

impl Default for MockAgent {
    fn default() -> Self {
        Self::new()
    }
}

impl MockAgent {
    pub fn new() -> Self {
        let questions =
            Claim::proven("built in and scripted, for the demo and the tests; no model is behind it");
        let mut descriptor = acp::descriptor("mock", "Mock agent", questions, ClaimState::Proven);
        for claim in descriptor.capabilities.iter_mut().filter(|claim| claim.level == Level::Live) {
            claim.state = ClaimState::Proven;
            claim.why = Some(
                "played with a hub, a holder and a process by crates/askd/tests/live_conformance".to_owned(),
            );
        }
        descriptor.process_names = vec!["askd-mock-agent".to_owned()];
        descriptor.install = Some("built in".to_owned());
        descriptor.seen = &[env!("CARGO_PKG_VERSION")];
        Self { descriptor }
    }
}

impl Adapter for MockAgent {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The running program itself, wherever it is.
    fn find(&self, _path_var: &OsStr) -> Vec<FoundProgram> {
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        std::env::current_exe()
            .into_iter()
            .map(|path| FoundProgram { path, version: version.clone(), roads: Vec::new() })
            .collect()
    }

    fn launch(&self, request: &LaunchRequest) -> Result<Launch, AdapterError> {
        let args = std::iter::once(MOCK_ARGUMENT.to_owned()).chain(request.args.iter().cloned());
        Ok(Launch::new(&request.program, args.collect()))
    }

    fn codec(&self) -> Result<Box<dyn Codec>, AdapterError> {
        Ok(Box::new(acp::AcpCodec::new(&self.descriptor.name)))
    }
}
