//! Tokens and log-in codes.
//!
//! In: rights and names. Out: bearer tokens, shown once and kept as hashes; codes that a browser exchanges for a token, once.

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
/// Codes that wait to be used; older ones make room.
const MAX_CODES: usize = 64;

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

#[derive(Default)]
pub(super) struct LoginCodes {
    /// Each with its end.
    codes: Mutex<HashMap<String, (Instant, Rights)>>,
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
    /// Whose token this is.
    pub fn authenticate(&self, token: &str) -> Option<TokenRecord> {
        self.store().token_by_hash(&hash(token))
    }

    /// Whether the caller's token is still good: what lasts looks again, because a token can be revoked meanwhile.
    pub fn still_knows(&self, caller: &Caller) -> bool {
        self.store().token_by_hash(&caller.token.hash).is_some()
    }

    /// Makes a token without asking anybody's rights: for the hub itself.
    pub async fn make_token(&self, name: &str, rights: Rights) -> Result<NewToken, EngineError> {
        let token = format!("askd_{}", random_text()?);
        let record = TokenRecord {
            id: TokenId::from_bits(new_bits()),
            name: name.to_owned(),
            rights,
            hash: hash(&token),
            created_at: now(),
        };
        self.store().add_token(record.clone()).await?;
        Ok(NewToken { record, token })
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
        if self.store().revoke_token(id).await? { Ok(()) } else { Err(EngineError::NotFound("token")) }
    }

    /// A code that a browser can exchange, once, for a token with the caller's rights.
    pub fn login_code(&self, rights: Rights) -> Result<LoginCode, EngineError> {
        self.inner.login_codes.make(rights, CODE_LIFE)
    }

    /// `None` if the code is unknown, used or too old.
    pub async fn log_in(&self, code: &str) -> Result<Option<NewToken>, EngineError> {
        let Some(rights) = self.inner.login_codes.take(code) else { return Ok(None) };
        self.check_room()?;
        Ok(Some(self.make_token("browser", rights).await?))
    }
}

impl LoginCodes {
    fn make(&self, rights: Rights, life: Duration) -> Result<LoginCode, EngineError> {
        let code = random_text()?;
        let now = Instant::now();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, (end, _)| now < *end);
        if codes.len() >= MAX_CODES {
            let oldest = codes.iter().min_by_key(|(_, (end, _))| *end).map(|(code, _)| code.clone());
            oldest.map(|code| codes.remove(&code));
        }
        codes.insert(code.clone(), (now + life, rights));
        Ok(LoginCode { code, life })
    }

    fn take(&self, code: &str) -> Option<Rights> {
        let taken = self.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(code);
        taken.filter(|(end, _)| Instant::now() < *end).map(|(_, rights)| rights)
    }
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

    #[test]
    fn a_login_code_is_good_once_and_not_for_ever() {
        let codes = LoginCodes::default();
        let old = codes.make(Rights::all(), Duration::ZERO).unwrap();
        assert_eq!(codes.take(&old.code), None);
        let good = codes.make(Rights::all(), CODE_LIFE).unwrap();
        assert_eq!(codes.take(&good.code), Some(Rights::all()));
        assert_eq!(codes.take(&good.code), None);
    }

    #[test]
    fn codes_that_nobody_uses_make_room() {
        let codes = LoginCodes::default();
        let first = codes.make(Rights::all(), CODE_LIFE).unwrap();
        let last = (0..MAX_CODES).map(|_| codes.make(Rights::all(), CODE_LIFE).unwrap()).last().unwrap();
        assert_eq!(codes.take(&first.code), None);
        assert_eq!(codes.take(&last.code), Some(Rights::all()));
    }
}
