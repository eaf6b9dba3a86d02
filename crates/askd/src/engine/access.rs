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

fn random_text() -> Result<String, EngineError> {
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
        self.login_code_for(rights, CODE_LIFE)
    }

    fn login_code_for(&self, rights: Rights, life: Duration) -> Result<LoginCode, EngineError> {
        let code = random_text()?;
        let mut codes = self.inner.login_codes.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        codes.retain(|_, (end, _)| now < *end);
        if codes.len() >= MAX_CODES {
            let oldest = codes.iter().min_by_key(|(_, (end, _))| *end).map(|(code, _)| code.clone());
            oldest.map(|code| codes.remove(&code));
        }
        codes.insert(code.clone(), (now + life, rights));
        Ok(LoginCode { code, life })
    }

    /// `None` if the code is unknown, used or too old.
    pub async fn log_in(&self, code: &str) -> Result<Option<NewToken>, EngineError> {
        let taken = self.inner.login_codes.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(code);
        match taken {
            Some((end, rights)) if Instant::now() < end => {
                self.check_room()?;
                Ok(Some(self.make_token("browser", rights).await?))
            }
            _ => Ok(None),
        }
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
    use std::sync::Arc;

    use askd_store::sqlite::SqliteStore;

    use super::*;
    use crate::engine::EngineSettings;

    #[tokio::test]
    async fn a_login_code_is_good_once_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("askd.db"), &[7; 32]).unwrap();
        let engine = Engine::start(Arc::new(store), EngineSettings::default());
        let good = engine.login_code(Rights::all()).unwrap();
        let old = engine.login_code_for(Rights::all(), Duration::ZERO).unwrap();
        assert!(engine.log_in(&old.code).await.unwrap().is_none());
        let token = engine.log_in(&good.code).await.unwrap().unwrap();
        assert_eq!(engine.authenticate(&token.token).unwrap().rights, Rights::all());
        assert!(engine.log_in(&good.code).await.unwrap().is_none());
        engine.stop().await;
    }
}
