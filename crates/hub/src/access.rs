//! The service `Access`: rights, tokens, and the log-in of browsers.
//!
//! In: bearer tokens, rights and names. Out: the record of a token; new tokens, shown once and stored as
//! hashes; codes that a browser exchanges for a token, once.

use std::sync::Arc;

use askd_core::field::Collector;
use askd_core::limits::MAX_NAME_BYTES;
use askd_core::{FieldErrors, Right, Rights, TokenId};
use askd_store::{Store, StoreError, TokenRecord};

use super::login_codes::{CODE_LIFE, FIRST_USE, Grant, LoginCode, LoginCodes};
use super::tasks::Tasks;
use super::{Caller, EngineError, new_bits, now};

/// Tokens of one hub; a person has a handful, a company's hub a few hundred.
const MAX_TOKENS: usize = 10_000;

/// A token at the one moment when it can be seen.
#[derive(Debug, Clone)]
pub struct NewToken {
    pub record: TokenRecord,
    pub token: String,
}

#[derive(Clone)]
pub struct Access {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    tasks: Tasks,
    codes: LoginCodes,
}

impl Access {
    pub(super) fn new(store: Arc<dyn Store>, tasks: Tasks) -> Self {
        Self { inner: Arc::new(Inner { store, tasks, codes: LoginCodes::default() }) }
    }

    fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// The record of a token. The first use of a log-in's token stores it.
    pub async fn authenticate(&self, token: &str) -> Option<TokenRecord> {
        let hash = hash(token);
        if let Some(known) = self.store().token_by_hash(&hash) {
            return Some(known);
        }
        self.inner.codes.unused(&hash)?;
        let access = self.clone();
        // To its end, even if the client of this first request goes away.
        self.inner.tasks.run_change(async move { access.store_first_used(&hash).await }).await.ok()?
    }

    async fn store_first_used(&self, hash: &[u8; 32]) -> Option<TokenRecord> {
        let codes = &self.inner.codes;
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

    /// True while the caller's token is valid. Streams and waits check again, because a token can be revoked
    /// meanwhile.
    pub fn still_valid(&self, caller: &Caller) -> bool {
        self.store().token_by_hash(&caller.token.hash).is_some()
    }

    /// Makes a token without asking for a right: for the hub itself.
    pub async fn make_own_token(&self, name: &str, rights: Rights) -> Result<NewToken, EngineError> {
        let made = new_token(name, rights)?;
        self.store().add_token(made.record.clone()).await?;
        Ok(made)
    }

    pub async fn create(&self, caller: &Caller, name: &str, rights: Rights) -> Result<NewToken, EngineError> {
        caller.needs(Right::Manage)?;
        check_token(name, &rights)?;
        if let Some(missing) = rights.iter().find(|right| !caller.token.rights.allows(*right)) {
            return Err(EngineError::Forbidden(missing));
        }
        self.check_room()?;
        self.make_own_token(name, rights).await
    }

    fn check_room(&self) -> Result<(), EngineError> {
        if self.store().tokens().len() < MAX_TOKENS {
            return Ok(());
        }
        let mut errors = Collector::default();
        let message = format!("there are {MAX_TOKENS} tokens already; revoke some");
        errors.add("name", "too_many", message);
        Err(errors.into_errors().into())
    }

    pub fn list(&self, caller: &Caller) -> Result<Vec<TokenRecord>, EngineError> {
        caller.needs(Right::Manage)?;
        Ok(self.store().tokens())
    }

    pub async fn revoke(&self, caller: &Caller, id: &TokenId) -> Result<(), EngineError> {
        caller.needs(Right::Manage)?;
        // A first use that runs now is stored before the revocation, or refused after it.
        let _storing = self.inner.codes.storing.lock().await;
        let known = self.store().revoke_token(id).await?;
        self.inner.codes.revoke(id);
        if known { Ok(()) } else { Err(EngineError::NotFound("token")) }
    }

    /// A code for one token with all rights, for the hub's own user.
    pub fn owner_login_code(&self) -> Result<LoginCode, EngineError> {
        self.inner.codes.make(Grant { rights: Rights::all(), maker: None }, CODE_LIFE)
    }

    /// A code for one token with the caller's rights.
    pub fn login_code(&self, caller: &Caller) -> Result<LoginCode, EngineError> {
        let maker = Some(caller.token.id.clone());
        self.inner.codes.make(Grant { rights: caller.token.rights.clone(), maker }, CODE_LIFE)
    }

    /// `None` if the code is unknown, used or too old.
    pub fn log_in(&self, code: &str) -> Result<Option<NewToken>, EngineError> {
        let Some(grant) = self.inner.codes.take(code) else { return Ok(None) };
        self.check_room()?;
        let is_known = |maker: &TokenId| self.store().tokens().iter().any(|token| token.id == *maker);
        // This covers a code that was made or used while its maker was being revoked.
        if !grant.maker.as_ref().is_none_or(is_known) {
            return Ok(None);
        }
        let made = new_token("browser", grant.rights)?;
        self.inner.codes.give_out(&made.record, grant.maker, FIRST_USE);
        Ok(Some(made))
    }
}

/// A random text that cannot be guessed.
pub(super) fn random_text() -> Result<String, EngineError> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn hash(token: &str) -> [u8; 32] {
    *blake3::hash(token.as_bytes()).as_bytes()
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
