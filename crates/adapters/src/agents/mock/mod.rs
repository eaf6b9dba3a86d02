//! The scripted agent.

use crate::adapter::{Adapter, AdapterError, Launch, LaunchRequest};
use crate::agents::acp;
use crate::codec::Codec;
use crate::descriptor::{Claim, ClaimState, Descriptor};

#[derive(Debug)]
pub struct MockAgent {
    descriptor: Descriptor,
}
impl MockAgent {
    pub fn new() -> Self {
        Self { descriptor: acp::descriptor("mock", "Mock", Claim::proven("x"), ClaimState::Proven) }
    }
}
impl Adapter for MockAgent {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }
    fn launch(&self, request: &LaunchRequest) -> Result<Launch, AdapterError> {
        Ok(Launch::new(&request.program, vec![]))
    }
    fn codec(&self) -> Result<Box<dyn Codec>, AdapterError> {
        Ok(Box::new(acp::AcpCodec::new("mock")))
    }
}
