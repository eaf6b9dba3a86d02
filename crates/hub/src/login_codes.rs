//! Log-in codes, and the unused tokens that browsers received for them. They are only in memory: a restart
//! forgets them.
//!
//! In: rights, and the token that asked. Out: a code for one use, then a token that is stored at its first
//! use: a token that its browser never received would otherwise stay valid without an owner.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use askd_core::{Rights, TokenId};
use askd_store::TokenRecord;

use super::EngineError;
use super::access::random_text;

/// A log-in link is used at once or not at all.
pub(super) const CODE_LIFE: Duration = Duration::from_secs(300);
/// A browser uses the token of its log-in with its next request.
pub(super) const FIRST_USE: Duration = Duration::from_secs(300);
/// Unused codes, and unused tokens of log-ins; the oldest make room.
const MAX_CODES: usize = 64;

#[derive(Debug, Clone)]
pub struct LoginCode {
    pub code: String,
    pub life: Duration,
}

/// The rights behind a code.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grant {
    pub(super) rights: Rights,
    /// The token that asked for the code; the code ends with it. `None` for a code of the hub itself.
    pub(super) maker: Option<TokenId>,
}

struct Unused {
    token: TokenRecord,
    maker: Option<TokenId>,
}

#[derive(Default)]
pub(super) struct LoginCodes {
    /// Each with its end.
    codes: Mutex<HashMap<String, (Instant, Grant)>>,
    /// Unused tokens by their hashes, each with its end.
    unused: Mutex<HashMap<[u8; 32], (Instant, Unused)>>,
    /// Of several first requests with one token, one stores it.
    pub(super) storing: tokio::sync::Mutex<()>,
}

impl LoginCodes {
    pub(super) fn make(&self, grant: Grant, life: Duration) -> Result<LoginCode, EngineError> {
        let code = random_text()?;
        let now = Instant::now();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut codes);
        codes.insert(code.clone(), (now + life, grant));
        Ok(LoginCode { code, life })
    }

    pub(super) fn give_out(&self, token: &TokenRecord, maker: Option<TokenId>, life: Duration) {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut unused);
        unused.insert(token.hash, (Instant::now() + life, Unused { token: token.clone(), maker }));
    }

    /// Ends every unused code and token that the revoked token made.
    pub(super) fn revoke(&self, maker: &TokenId) {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, (_, code)| code.maker.as_ref() != Some(maker));
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.retain(|_, (_, unused)| unused.maker.as_ref() != Some(maker));
    }

    pub(super) fn unused(&self, hash: &[u8; 32]) -> Option<TokenRecord> {
        let unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.get(hash).filter(|(end, _)| Instant::now() < *end).map(|(_, unused)| unused.token.clone())
    }

    pub(super) fn forget(&self, hash: &[u8; 32]) {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner).remove(hash);
    }

    pub(super) fn take(&self, code: &str) -> Option<Grant> {
        let taken = self.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(code);
        taken.filter(|(end, _)| Instant::now() < *end).map(|(_, grant)| grant)
    }
}

/// Removes expired entries, then the oldest while there are too many.
fn make_room<K: Clone + Eq + std::hash::Hash, V>(waiting: &mut HashMap<K, (Instant, V)>) {
    let now = Instant::now();
    waiting.retain(|_, (end, _)| now < *end);
    if waiting.len() >= MAX_CODES {
        let oldest = waiting.iter().min_by_key(|(_, (end, _))| *end).map(|(key, _)| key.clone());
        oldest.map(|key| waiting.remove(&key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners() -> Grant {
        Grant { rights: Rights::all(), maker: None }
    }

    #[test]
    fn a_login_code_is_good_once_and_not_for_ever() {
        let codes = LoginCodes::default();
        let old = codes.make(owners(), Duration::ZERO).unwrap();
        assert_eq!(codes.take(&old.code), None);
        let good = codes.make(owners(), CODE_LIFE).unwrap();
        assert_eq!(codes.take(&good.code), Some(owners()));
        assert_eq!(codes.take(&good.code), None);
    }

    #[test]
    fn codes_that_nobody_uses_make_room() {
        let codes = LoginCodes::default();
        let first = codes.make(owners(), CODE_LIFE).unwrap();
        let last = (0..MAX_CODES).map(|_| codes.make(owners(), CODE_LIFE).unwrap()).last().unwrap();
        assert_eq!(codes.take(&first.code), None);
        assert_eq!(codes.take(&last.code), Some(owners()));
    }
}
