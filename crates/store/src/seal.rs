//! Secret answers: encrypted where they are kept, compared by a keyed hash.
//!
//! In: 32 bytes of key (a file of the hub, 0600) and plain bytes. Out: sealed bytes bound to their question,
//! and hashes.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

const NONCE_BYTES: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("no random bytes from the system")]
    NoRandomness,
    #[error("sealed bytes were not made by this hub's key for this question")]
    Foreign,
}

pub struct Sealer {
    cipher: XChaCha20Poly1305,
    mac_key: [u8; 32],
}

impl Sealer {
    pub fn new(master: &[u8; 32]) -> Self {
        let cipher_key = blake3::derive_key("askd 2026 secret answers: cipher", master);
        let mac_key = blake3::derive_key("askd 2026 secret answers: comparison", master);
        Self { cipher: XChaCha20Poly1305::new(&cipher_key.into()), mac_key }
    }

    /// Encrypts `plain` for the question `bound_to` only.
    pub fn seal(&self, bound_to: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| SealError::NoRandomness)?;
        let payload = Payload { msg: plain, aad: bound_to.as_bytes() };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| SealError::Foreign)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    pub fn open(&self, bound_to: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>().ok_or(SealError::Foreign)?;
        let payload = Payload { msg: sealed, aad: bound_to.as_bytes() };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::Foreign)
    }

    /// A hash for comparing answers, which is useless without the key.
    pub fn mac(&self, bound_to: &str, plain: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.mac_key);
        hasher.update(&(bound_to.len() as u64).to_le_bytes());
        hasher.update(bound_to.as_bytes());
        hasher.update(plain);
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_answer_opens_for_its_question_only() {
        let sealer = Sealer::new(&[7; 32]);
        let sealed = sealer.seal("que_1", b"hunter2").unwrap();
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
        assert_eq!(sealer.open("que_1", &sealed).unwrap(), b"hunter2");
        assert_eq!(sealer.open("que_2", &sealed), Err(SealError::Foreign));
        assert_eq!(Sealer::new(&[8; 32]).open("que_1", &sealed), Err(SealError::Foreign));
        assert_eq!(sealer.open("que_1", b"short"), Err(SealError::Foreign));
        assert_ne!(sealer.mac("que_1", b"x"), sealer.mac("que_2", b"x"));
    }
}
