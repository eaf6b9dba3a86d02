//! Known agents without an adapter. They are listed with the reason.

use crate::adapter::{Adapter, AdapterError, Launch, LaunchRequest};
use crate::codec::Codec;
use crate::descriptor::Descriptor;

#[derive(Debug)]
pub struct Unbuilt {
    descriptor: Descriptor,
}

impl Unbuilt {
    pub fn new(name: &str, title: &str, why: &str, install: Option<&str>) -> Self {
        Self { descriptor: Descriptor::unsupported(name, title, why, install) }
    }

    fn refusal(&self) -> AdapterError {
        AdapterError::NotBuilt {
            agent: self.descriptor.name.clone(),
            why: self.descriptor.questions.why.clone(),
        }
    }
}

impl Adapter for Unbuilt {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn launch(&self, _request: &LaunchRequest) -> Result<Launch, AdapterError> {
        Err(self.refusal())
    }

    fn codec(&self) -> Result<Box<dyn Codec>, AdapterError> {
        Err(self.refusal())
    }
}
