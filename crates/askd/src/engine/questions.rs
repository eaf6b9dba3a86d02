//! Asking, settling, reading and waiting, with the rights that each needs.

use std::time::Duration;

use askd_core::answer::Rejection;
use askd_core::field::Collector;
use askd_core::limits::MAX_NOTE_BYTES;
use askd_core::{AskInput, By, Cause, Question, QuestionId, Reply, Resolution, Right, Settlement, Surface};
use askd_store::{
    Asked, Idempotency, NewQuestion, Order, Origin, QuestionFilter, QuestionPage, Record, Resolve, Resolved,
    TokenRecord,
};

use super::{Engine, EngineError, new_bits, now};

/// Who calls: a token, and the surface that it is used from.
#[derive(Debug, Clone)]
pub struct Caller {
    pub token: TokenRecord,
    pub surface: Surface,
}

impl Caller {
    pub fn needs(&self, right: Right) -> Result<(), EngineError> {
        if self.token.rights.allows(right) { Ok(()) } else { Err(EngineError::Forbidden(right)) }
    }

    fn by(&self) -> By {
        By { surface: self.surface, actor: Some(self.token.name.clone()) }
    }

    fn owns(&self, record: &Record) -> bool {
        self.token.rights.allows(Right::Ask) && record.asker.as_ref() == Some(&self.token.id)
    }

    fn idempotency(&self, key: Option<String>, request: &impl serde::Serialize) -> Option<Idempotency> {
        key.map(|key| {
            let mut hasher = blake3::Hasher::new();
            // A request that cannot be written down cannot have been read either.
            drop(serde_json::to_writer(&mut hasher, request));
            Idempotency { token: self.token.id.clone(), key, digest: *hasher.finalize().as_bytes() }
        })
    }
}

impl Engine {
    /// Any program asks. The question is durable when this returns.
    pub async fn ask(
        &self,
        caller: &Caller,
        input: AskInput,
        key: Option<String>,
    ) -> Result<Question, EngineError> {
        caller.needs(Right::Ask)?;
        let ask = input.complete()?;
        let idempotency = caller.idempotency(key, &("ask", &ask));
        let has_deadline = ask.deadline.is_some();
        let origin = Origin::Api { asker: caller.token.id.clone() };
        let new = NewQuestion { id: QuestionId::from_bits(new_bits()), ask, at: now(), origin, idempotency };
        match self.store().ask(new).await? {
            Asked::New(question) => {
                if has_deadline {
                    self.inner.deadline_changed.notify_one();
                }
                Ok(question)
            }
            Asked::Known(question) => Ok(question),
            Asked::KeyReused => Err(EngineError::KeyReused),
            Asked::TooManyOpen => Err(EngineError::TooManyOpen),
        }
    }

    pub async fn reply(
        &self,
        caller: &Caller,
        id: &QuestionId,
        reply: Reply,
        key: Option<String>,
    ) -> Result<Question, EngineError> {
        caller.needs(Right::Answer)?;
        let record = self.record(id).await?;
        let answer = reply.check(&record.question.ask)?;
        // The same answer in another spelling is the same request.
        let idempotency = caller.idempotency(key, &("reply", id, &answer));
        self.refuse_uncarried(&record, Settlement::Answered(answer.clone()), caller.surface).await?;
        self.settle(id, Resolution::Answer(answer), caller.by(), idempotency).await
    }

    pub async fn reject(
        &self,
        caller: &Caller,
        id: &QuestionId,
        rejection: Rejection,
        key: Option<String>,
    ) -> Result<Question, EngineError> {
        caller.needs(Right::Answer)?;
        let record = self.record(id).await?;
        let (mode, reason) = rejection.check(&record.question.ask)?;
        let idempotency = caller.idempotency(key, &("reject", id, mode, &reason));
        self.refuse_uncarried(&record, Settlement::Rejected { mode, reason: reason.clone() }, caller.surface)
            .await?;
        self.settle(id, Resolution::Reject { mode, reason }, caller.by(), idempotency).await
    }

    /// The asker takes its question back.
    pub async fn withdraw(
        &self,
        caller: &Caller,
        id: &QuestionId,
        reason: Option<String>,
    ) -> Result<Question, EngineError> {
        caller.needs(Right::Ask)?;
        let mut errors = Collector::default();
        errors.bounded("reason", reason.as_deref().unwrap_or(""), MAX_NOTE_BYTES);
        errors.finish(())?;
        let record = self.record(id).await?;
        if !caller.owns(&record) {
            return Err(EngineError::NotFound("question of yours"));
        }
        self.settle(id, Resolution::Cancel(Cause::AskerWithdrew { reason }), caller.by(), None).await
    }

    pub(super) async fn settle(
        &self,
        id: &QuestionId,
        resolution: Resolution,
        by: By,
        idempotency: Option<Idempotency>,
    ) -> Result<Question, EngineError> {
        // An agent reports what has happened; a person or a program that comes too late is told.
        let wants = matches!(
            resolution,
            Resolution::Answer(_)
                | Resolution::Reject { .. }
                | Resolution::Cancel(Cause::AskerWithdrew { .. })
        );
        // Held before it is claimed: a claim that no task holds is lost.
        let held = self.hold_claim(id);
        let resolve = Resolve {
            id: id.clone(),
            resolution,
            by,
            at: now(),
            idempotency,
            claim: Some(self.claim_holder()),
        };
        match self.store().resolve(resolve).await? {
            Resolved::Settled(question, claimed) => {
                if let Some(delivery) = claimed {
                    self.deliver_at_once(*delivery, held);
                    // The agent waits longest: the delivery's task goes first.
                    tokio::task::yield_now().await;
                }
                Ok(question)
            }
            Resolved::Same(question) | Resolved::Noted(question) => Ok(question),
            Resolved::Expired(expired) => {
                self.tell_over(&expired);
                if wants {
                    Err(EngineError::Conflict(Box::new(expired.question)))
                } else {
                    Ok(expired.question)
                }
            }
            Resolved::Conflict(question) => Err(EngineError::Conflict(Box::new(question))),
            Resolved::NotFound => Err(EngineError::NotFound("question")),
            Resolved::KeyReused => Err(EngineError::KeyReused),
        }
    }

    async fn record(&self, id: &QuestionId) -> Result<Record, EngineError> {
        self.store().question(id).await?.ok_or(EngineError::NotFound("question"))
    }

    /// One question as this caller may see it: its asker sees the secret answers.
    pub async fn question(&self, caller: &Caller, id: &QuestionId) -> Result<Question, EngineError> {
        let record = self.record(id).await?;
        let owns = caller.owns(&record);
        if !owns {
            caller.needs(Right::Read)?;
        }
        let mut question = record.question;
        let withheld = question.outcome.as_ref().is_some_and(|outcome| !outcome.withheld.is_empty());
        if owns && withheld {
            question.outcome = self.store().reveal(id, now()).await?;
        }
        self.with_roads(std::slice::from_mut(&mut question)).await?;
        Ok(question)
    }

    /// The question once it is settled, or as it stands when `patience` is over.
    pub async fn wait(
        &self,
        caller: &Caller,
        id: &QuestionId,
        patience: Duration,
    ) -> Result<Question, EngineError> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let waiter = self.inner.waiters.register(id, self.store().newest());
            if !self.still_knows(caller) {
                return Err(EngineError::Revoked);
            }
            let question = self.question(caller, id).await?;
            if !question.is_open() {
                return Ok(question);
            }
            let stop = self.stopping();
            tokio::select! {
                () = waiter.woken() => {}
                () = tokio::time::sleep_until(deadline) => return Ok(question),
                () = stop.cancelled() => return Ok(question),
            }
        }
    }

    pub async fn list(
        &self,
        caller: &Caller,
        filter: QuestionFilter,
        order: Order,
        after: Option<u64>,
        limit: usize,
    ) -> Result<QuestionPage, EngineError> {
        caller.needs(Right::Read)?;
        let mut page = self.store().list(filter, order, after, limit).await?;
        self.with_roads(&mut page.questions).await?;
        Ok(page)
    }

    /// The agent's own words for a question.
    pub async fn native(&self, caller: &Caller, id: &QuestionId) -> Result<Option<String>, EngineError> {
        caller.needs(Right::Read)?;
        self.record(id).await?;
        Ok(self.store().native(id).await?)
    }
}
