//! Tokens and log-in codes.
//!
//! In: rights and names. Out: bearer tokens, shown once and kept as hashes; codes that a browser exchanges for a token, once. The token of
//! a log-in is stored when it is first used: one whose browser never got it would be valid for ever, and nobody would know it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use askd_core::field::Collector;
use askd_core::limits::MAX_NAME_BYTES;
use askd_core::{FieldErrors, Right, Rights, TokenId};
use askd_store::{StoreError, TokenRecord};

use super::questions::Caller;
use super::{Engine, EngineError, new_bits, now};

/// Tokens of one hub; a person has a handful, a company's hub a few hundred.
const MAX_TOKENS: usize = 10_000;
/// A log-in link is used at once or not at all.
const CODE_LIFE: Duration = Duration::from_secs(300);
/// Codes, and tokens of log-ins, that wait to be used; older ones make room.
const MAX_CODES: usize = 64;
/// A browser uses the token of its log-in with its next request.
const FIRST_USE: Duration = Duration::from_secs(300);

/// A token at the one moment when it can be seen.
#[derive(Debug, Clone)]
pub struct NewToken {
    pub record: TokenRecord,
    pub token: String,
}

#[derive(Debug, Clone)]
pub struct LoginCode {
    pub code: String,
    pub life: Duration,
}

/// What a code is good for.
#[derive(Debug, Clone, PartialEq)]
struct Code {
    rights: Rights,
    /// The token that asked for it, whose end is its end too; none where the hub itself made it.
    maker: Option<TokenId>,
}

struct Unused {
    token: TokenRecord,
    maker: Option<TokenId>,
}

#[derive(Default)]
pub(super) struct LoginCodes {
    /// Each with its end.
    codes: Mutex<HashMap<String, (Instant, Code)>>,
    /// Tokens that were given out and not used yet, by their hashes, each with its end.
    unused: Mutex<HashMap<[u8; 32], (Instant, Unused)>>,
    /// Of several first requests with one token, one stores it.
    storing: tokio::sync::Mutex<()>,
}

/// A text that nobody can guess.
pub(super) fn random_text() -> Result<String, EngineError> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn hash(token: &str) -> [u8; 32] {
    *blake3::hash(token.as_bytes()).as_bytes()
}

fn too_many(field: &str, message: String) -> EngineError {
    let mut errors = Collector::default();
    errors.add(field, "too_many", message);
    errors.into_errors().into()
}

impl Engine {
    /// Whose token this is. The first use of a log-in's token stores it.
    pub async fn authenticate(&self, token: &str) -> Option<TokenRecord> {
        let hash = hash(token);
        if let Some(known) = self.store().token_by_hash(&hash) {
            return Some(known);
        }
        self.inner.login_codes.unused(&hash)?;
        let engine = self.clone();
        // To its end, even if the client of this first request goes away.
        self.run_change(async move { engine.store_first_used(&hash).await }).await.ok()?
    }

    async fn store_first_used(&self, hash: &[u8; 32]) -> Option<TokenRecord> {
        let codes = &self.inner.login_codes;
        let _storing = codes.storing.lock().await;
        if let Some(known) = self.store().token_by_hash(hash) {
            return Some(known);
        }
        let record = codes.unused(hash)?;
        if let Err(error) = self.store().add_token(record.clone()).await {
            tracing::error!(%error, "cannot store the token of a log-in");
            return None;
        }
        codes.forget(hash);
        Some(record)
    }

    /// Whether the caller's token is still good: what lasts looks again, because a token can be revoked meanwhile.
    pub fn still_knows(&self, caller: &Caller) -> bool {
        self.store().token_by_hash(&caller.token.hash).is_some()
    }

    /// Makes a token without asking anybody's rights: for the hub itself.
    pub async fn make_token(&self, name: &str, rights: Rights) -> Result<NewToken, EngineError> {
        let made = new_token(name, rights)?;
        self.store().add_token(made.record.clone()).await?;
        Ok(made)
    }

    pub async fn create_token(
        &self,
        caller: &Caller,
        name: &str,
        rights: Rights,
    ) -> Result<NewToken, EngineError> {
        caller.needs(Right::Manage)?;
        check_token(name, &rights)?;
        if let Some(missing) = rights.iter().find(|right| !caller.token.rights.allows(*right)) {
            return Err(EngineError::Forbidden(missing));
        }
        self.check_room()?;
        self.make_token(name, rights).await
    }

    fn check_room(&self) -> Result<(), EngineError> {
        if self.store().tokens().len() < MAX_TOKENS {
            return Ok(());
        }
        Err(too_many("name", format!("there are {MAX_TOKENS} tokens already; revoke some")))
    }

    pub fn list_tokens(&self, caller: &Caller) -> Result<Vec<TokenRecord>, EngineError> {
        caller.needs(Right::Manage)?;
        Ok(self.store().tokens())
    }

    pub async fn revoke_token(&self, caller: &Caller, id: &TokenId) -> Result<(), EngineError> {
        caller.needs(Right::Manage)?;
        // A first use that is under way is stored before, or refused after.
        let _storing = self.inner.login_codes.storing.lock().await;
        let known = self.store().revoke_token(id).await?;
        self.inner.login_codes.revoke(id);
        if known { Ok(()) } else { Err(EngineError::NotFound("token")) }
    }

    /// A code that a browser can exchange, once, for a token with all rights: for the hub's own user.
    pub fn owner_login_code(&self) -> Result<LoginCode, EngineError> {
        self.inner.login_codes.make(Code { rights: Rights::all(), maker: None }, CODE_LIFE)
    }

    /// A code that a browser can exchange, once, for a token with the caller's rights.
    pub fn login_code(&self, caller: &Caller) -> Result<LoginCode, EngineError> {
        let maker = Some(caller.token.id.clone());
        self.inner.login_codes.make(Code { rights: caller.token.rights.clone(), maker }, CODE_LIFE)
    }

    /// `None` if the code is unknown, used or too old.
    pub fn log_in(&self, code: &str) -> Result<Option<NewToken>, EngineError> {
        let Some(code) = self.inner.login_codes.take(code) else { return Ok(None) };
        self.check_room()?;
        let is_known = |maker: &TokenId| self.store().tokens().iter().any(|token| token.id == *maker);
        // Also one that was made or taken while its maker was being revoked.
        if !code.maker.as_ref().is_none_or(is_known) {
            return Ok(None);
        }
        let made = new_token("browser", code.rights)?;
        self.inner.login_codes.give_out(&made.record, code.maker, FIRST_USE);
        Ok(Some(made))
    }
}

impl LoginCodes {
    fn make(&self, what: Code, life: Duration) -> Result<LoginCode, EngineError> {
        let code = random_text()?;
        let now = Instant::now();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut codes);
        codes.insert(code.clone(), (now + life, what));
        Ok(LoginCode { code, life })
    }

    fn give_out(&self, token: &TokenRecord, maker: Option<TokenId>, life: Duration) {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut unused);
        unused.insert(token.hash, (Instant::now() + life, Unused { token: token.clone(), maker }));
    }

    /// Nothing that a token has asked for outlives it unused.
    fn revoke(&self, maker: &TokenId) {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, (_, code)| code.maker.as_ref() != Some(maker));
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.retain(|_, (_, unused)| unused.maker.as_ref() != Some(maker));
    }

    fn unused(&self, hash: &[u8; 32]) -> Option<TokenRecord> {
        let unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.get(hash).filter(|(end, _)| Instant::now() < *end).map(|(_, unused)| unused.token.clone())
    }

    fn forget(&self, hash: &[u8; 32]) {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner).remove(hash);
    }

    fn take(&self, code: &str) -> Option<Code> {
        let taken = self.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(code);
        taken.filter(|(end, _)| Instant::now() < *end).map(|(_, code)| code)
    }
}

/// Removes what is too old, and the oldest if there are still too many.
fn make_room<K: Clone + Eq + std::hash::Hash, V>(waiting: &mut HashMap<K, (Instant, V)>) {
    let now = Instant::now();
    waiting.retain(|_, (end, _)| now < *end);
    if waiting.len() >= MAX_CODES {
        let oldest = waiting.iter().min_by_key(|(_, (end, _))| *end).map(|(key, _)| key.clone());
        oldest.map(|key| waiting.remove(&key));
    }
}

fn new_token(name: &str, rights: Rights) -> Result<NewToken, EngineError> {
    let token = format!("askd_{}", random_text()?);
    let record = TokenRecord {
        id: TokenId::from_bits(new_bits()),
        name: name.to_owned(),
        rights,
        hash: hash(&token),
        created_at: now(),
    };
    Ok(NewToken { record, token })
}

fn check_token(name: &str, rights: &Rights) -> Result<(), FieldErrors> {
    let mut errors = Collector::default();
    if name.trim().is_empty() {
        errors.add("name", "empty", "must not be empty");
    }
    errors.bounded("name", name, MAX_NAME_BYTES);
    if rights.is_empty() {
        errors.add("rights", "empty", "must name at least one of ask, answer, read, manage");
    }
    errors.finish(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners() -> Code {
        Code { rights: Rights::all(), maker: None }
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
