//! A question ends: by a person's word, by its asker, or by its agent. The first valid end wins.
//!
//! In: replies, rejections, withdrawals, and what agents report. Out: the question as it ended, and its
//! outcome on the way to the agent.

use askd_core::answer::Rejection;
use askd_core::field::Collector;
use askd_core::lifecycle::Elsewhere;
use askd_core::limits::MAX_NOTE_BYTES;
use askd_core::{By, Cause, Question, QuestionId, Reply, Resolution, Right, Settlement};
use askd_store::{Idempotency, Resolve, Resolved};

use super::Questions;
use crate::{Caller, EngineError, now};

impl Questions {
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
        let settlement = Settlement::Answered(answer.clone());
        self.inner.outbox.refuse_uncarried(&record, settlement, caller.surface).await?;
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
        let settlement = Settlement::Rejected { mode, reason: reason.clone() };
        self.inner.outbox.refuse_uncarried(&record, settlement, caller.surface).await?;
        self.settle(id, Resolution::Reject { mode, reason }, caller.by(), idempotency).await
    }

    /// Withdraws a question for its asker.
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

    /// The agent ended its question without a human's word.
    pub(crate) async fn cancel(&self, id: &QuestionId, cause: Cause) -> Result<Question, EngineError> {
        self.settle(id, Resolution::Cancel(cause), By::hub(), None).await
    }

    /// The agent's own user interface took an answer.
    pub(crate) async fn elsewhere(
        &self,
        id: &QuestionId,
        elsewhere: Elsewhere,
    ) -> Result<Question, EngineError> {
        self.settle(id, Resolution::Elsewhere(elsewhere), By::agent(), None).await
    }

    async fn settle(
        &self,
        id: &QuestionId,
        resolution: Resolution,
        by: By,
        idempotency: Option<Idempotency>,
    ) -> Result<Question, EngineError> {
        // An agent reports the past; only a person or program that comes too late gets a conflict.
        let wants = matches!(
            resolution,
            Resolution::Answer(_)
                | Resolution::Reject { .. }
                | Resolution::Cancel(Cause::AskerWithdrew { .. })
        );
        // The hold comes before the claim: a claim without a task is lost.
        let outbox = &self.inner.outbox;
        let held = outbox.hold_claim(id);
        let resolve = Resolve {
            id: id.clone(),
            resolution,
            by,
            at: now(),
            idempotency,
            claim: Some(outbox.claim_holder()),
        };
        match self.store().resolve(resolve).await? {
            Resolved::Settled(question, claimed) => {
                if let Some(delivery) = claimed {
                    outbox.deliver_now(*delivery, held);
                    // The agent waits longest: the delivery's task goes first.
                    tokio::task::yield_now().await;
                }
                Ok(question)
            }
            Resolved::Same(question) | Resolved::Noted(question) => Ok(question),
            Resolved::Expired(expired) => {
                self.inner.targets.over(&expired);
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
}
