//! A caller waits until a question is settled.

use std::time::Duration;

use askd_core::{Question, QuestionId};

use super::Questions;
use crate::{Caller, EngineError};

impl Questions {
    /// The question once it is settled, or as it stands when `patience` is over.
    pub async fn wait(
        &self,
        caller: &Caller,
        id: &QuestionId,
        patience: Duration,
    ) -> Result<Question, EngineError> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let waiter = self.inner.waiters.register(id);
            if !self.inner.access.still_valid(caller) {
                return Err(EngineError::Revoked);
            }
            let question = self.question(caller, id).await?;
            if !question.is_open() {
                return Ok(question);
            }
            let stop = self.inner.waiters.stopping();
            tokio::select! {
                () = waiter.woken() => {}
                () = tokio::time::sleep_until(deadline) => return Ok(question),
                () = stop.cancelled() => return Ok(question),
            }
        }
    }
}
