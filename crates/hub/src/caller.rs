//! The caller: a token, and the surface that uses it.

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

    /// The parts of a request that make a repetition the same request.
    pub(super) fn idempotency(
        &self,
        key: Option<String>,
        request: &impl serde::Serialize,
    ) -> Option<Idempotency> {
        key.map(|key| {
            let mut hasher = blake3::Hasher::new();
            // Serialising a request that was parsed cannot fail.
            drop(serde_json::to_writer(&mut hasher, request));
            Idempotency { token: self.token.id.clone(), key, digest: *hasher.finalize().as_bytes() }
        })
    }
}
