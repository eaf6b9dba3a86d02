//! Who calls: a token, and the surface that it is used from.

use askd_core::{By, Right, Surface};
use askd_store::{Idempotency, Record, TokenRecord};

use super::EngineError;

#[derive(Debug, Clone)]
pub struct Caller {
    pub token: TokenRecord,
    pub surface: Surface,
}

impl Caller {
    pub fn needs(&self, right: Right) -> Result<(), EngineError> {
        if self.token.rights.allows(right) { Ok(()) } else { Err(EngineError::Forbidden(right)) }
    }

    pub(super) fn by(&self) -> By {
        By { surface: self.surface, actor: Some(self.token.name.clone()) }
    }

    pub(super) fn owns(&self, record: &Record) -> bool {
        self.token.rights.allows(Right::Ask) && record.asker.as_ref() == Some(&self.token.id)
    }

    /// What makes a request that is sent again the same request.
    pub(super) fn idempotency(
        &self,
        key: Option<String>,
        request: &impl serde::Serialize,
    ) -> Option<Idempotency> {
        key.map(|key| {
            let mut hasher = blake3::Hasher::new();
            // A request that cannot be written down cannot have been read either.
            drop(serde_json::to_writer(&mut hasher, request));
            Idempotency { token: self.token.id.clone(), key, digest: *hasher.finalize().as_bytes() }
        })
    }
}
