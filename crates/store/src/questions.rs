//! Questions: asked once, settled once, listed by their place in the log.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;

use askd_core::{
    Ask, By, Outcome, Question, QuestionId, Resolution, Seq, SessionId, SourceId, Status, Timestamp, TokenId,
};

use crate::{ClaimedDelivery, NewEntry, StoreResult};

/// Open questions at one time: more than a company of agents can ask, few enough to list.
pub const MAX_OPEN_QUESTIONS: i64 = 100_000;

/// The most ends without a sure message to the agent that a restart looks at: as many questions as one agent
/// may have open.
pub const MAX_ENDED_LAST: usize = 4096;

/// The origin of a question, which decides how its outcome gets back.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A program asked through the API and reads the outcome itself.
    Api { asker: TokenId },
    /// An agent asked through a source; the outcome is delivered.
    Agent {
        source: SourceId,
        /// Its name in the agent's own protocol, unique within its session.
        native_id: String,
        /// True if the session certainly has no question of this name, which saves a search.
        is_new: bool,
        /// The channel of the sighting.
        road: String,
        /// The agent's own words, byte for byte.
        native: String,
    },
}

/// A client's promise that the same key means the same request.
#[derive(Debug, Clone)]
pub struct Idempotency {
    pub token: TokenId,
    pub key: String,
    /// Digest of the first request with the key: its route, its question, and its body.
    pub digest: [u8; 32],
}

#[derive(Debug, Clone)]
pub struct NewQuestion {
    pub id: QuestionId,
    pub ask: Ask,
    pub at: Timestamp,
    pub origin: Origin,
    pub idempotency: Option<Idempotency>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    New(Question),
    /// The same question was stored before: a repeated key, or a second sighting.
    Known(Question),
    /// The key was used with another request.
    KeyReused,
    /// [`MAX_OPEN_QUESTIONS`] are open already.
    TooManyOpen,
}

#[derive(Debug, Clone)]
pub struct Resolve {
    pub id: QuestionId,
    pub resolution: Resolution,
    pub by: By,
    pub at: Timestamp,
    pub idempotency: Option<Idempotency>,
    /// The worker that delivers the outcome at once, if there is one: the same transaction then claims the
    /// delivery.
    pub claim: Option<ClaimHolder>,
}

/// A worker that claims a delivery until a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimHolder {
    pub owner: String,
    pub until: Timestamp,
}

/// How long an asker may read a secret answer again after it first did, in case the response was lost.
pub const SECRET_RETRY_MS: i64 = 10 * 60 * 1000;

#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// With the delivery, if its claim was taken.
    Settled(Question, Option<Box<ClaimedDelivery>>),
    /// It had been settled in just this way.
    Same(Question),
    /// It was already settled in another way, as the question shows.
    Conflict(Question),
    /// The agent's evidence changed the delivery, not the outcome.
    Noted(Question),
    /// Its deadline had passed: it expired now, and nothing else was done.
    Expired(Expired),
    NotFound,
    KeyReused,
}

/// A question that has just expired, with the need to tell its agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Expired {
    pub question: Question,
    pub source: Option<SourceId>,
}

/// A question with the data that only the hub may see.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub question: Question,
    pub asker: Option<TokenId>,
    pub source: Option<SourceId>,
    pub native_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Newest first.
    #[default]
    Desc,
    /// Oldest first.
    Asc,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionFilter {
    pub status: Option<Status>,
    pub agent: Option<String>,
    pub session: Option<SessionId>,
    pub call_id: Option<String>,
    /// Ended in whatever way, or still open.
    pub settled: Option<bool>,
    /// The exact folder of the question.
    pub project: Option<String>,
    /// Words in the visible texts of a question or its answer, without regard to case; secret answers are
    /// never searched.
    pub text: Option<String>,
    /// Asked at or after this moment.
    pub since: Option<Timestamp>,
    /// Asked before this moment.
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QuestionPage {
    pub questions: Vec<Question>,
    /// The beginning of the next page, if there is one.
    pub next: Option<Seq>,
    /// The newest event in this list: a stream from here on has no gap.
    pub seq: Seq,
}

/// How long settled things are kept. `None` keeps everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Retention {
    /// Questions that were settled before this moment, sessions that ended before it and have no question
    /// that is kept, and what was said in them.
    pub settled_before: Option<Timestamp>,
    /// Sealed answers that their asker first read before this moment are deleted. They cannot be read after
    /// [`SECRET_RETRY_MS`] anyway.
    pub secrets_read_before: Option<Timestamp>,
    /// Idempotency keys first used before this moment are forgotten, where the question had ended by then,
    /// too; using one again does not keep it longer.
    pub keys_before: Option<Timestamp>,
    /// Sources that ended before this moment, and of which no session is kept, are deleted.
    pub sources_ended_before: Option<Timestamp>,
}

#[async_trait]
pub trait Questions: Send + Sync {
    async fn ask(&self, new: NewQuestion) -> StoreResult<Asked>;

    /// The same; what was said with the question goes into a transcript in the same transaction, whatever
    /// becomes of it.
    async fn ask_in(
        &self,
        new: NewQuestion,
        transcript: &SessionId,
        said: Vec<NewEntry>,
    ) -> StoreResult<Asked>;

    async fn resolve(&self, resolve: Resolve) -> StoreResult<Resolved>;

    /// Adds another channel's sighting of the question: joins `native_id` to it. A known id keeps its
    /// question.
    async fn sight(
        &self,
        session: &SessionId,
        native_id: &str,
        road: &str,
        question: &QuestionId,
    ) -> StoreResult<()>;

    /// Exchanges the native ids and call ids of two questions of one session. Names that begin with `kept`
    /// stay, because their owner waits for the question and not for the call.
    async fn exchange_calls(
        &self,
        one: &QuestionId,
        other: &QuestionId,
        kept: &'static str,
        at: Timestamp,
    ) -> StoreResult<()>;

    /// The questions that a channel has seen.
    async fn sighted(&self, questions: &[QuestionId], road: &str) -> StoreResult<HashSet<QuestionId>>;

    /// True if a channel has seen it.
    async fn is_sighted(&self, question: &QuestionId, road: &str) -> StoreResult<bool> {
        Ok(!self.sighted(std::slice::from_ref(question), road).await?.is_empty())
    }

    async fn question(&self, id: &QuestionId) -> StoreResult<Option<Record>>;

    /// The question with this native id in a session, from any channel.
    async fn question_by_native(&self, session: &SessionId, native_id: &str) -> StoreResult<Option<Record>>;

    /// Questions of a source that ended without a delivery, or whose delivery failed, within `within` before
    /// the last end that was stored when this store was opened; the newest, at most [`MAX_ENDED_LAST`].
    async fn ended_last(&self, source: &SourceId, within: Duration) -> StoreResult<Vec<Question>>;

    /// The open questions of a source, oldest first.
    async fn open_of_source(&self, source: &SourceId) -> StoreResult<Vec<Record>>;

    /// The agent's own words for it.
    async fn native(&self, id: &QuestionId) -> StoreResult<Option<String>>;

    /// The outcome with its secret answers, for the asker alone; records the read.
    async fn reveal(&self, id: &QuestionId, at: Timestamp) -> StoreResult<Option<Outcome>>;

    /// A page of questions after `after` in the wanted order.
    async fn list(
        &self,
        filter: QuestionFilter,
        order: Order,
        after: Option<Seq>,
        limit: usize,
    ) -> StoreResult<QuestionPage>;

    async fn next_deadline(&self) -> StoreResult<Option<Timestamp>>;

    /// Expires every question after its deadline.
    async fn expire_due(&self, now: Timestamp) -> StoreResult<Vec<Expired>>;

    /// Deletes data beyond the retention, but never open questions or unfinished deliveries.
    async fn prune(&self, retention: Retention) -> StoreResult<u64>;

    /// Checks with a write that the store can write.
    async fn probe(&self) -> StoreResult<()>;

    /// Waits for running work and closes.
    async fn close(&self);
}
