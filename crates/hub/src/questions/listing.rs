//! Questions as they are shown: one, a page of them, and the agent's own words.

use askd_core::{Question, QuestionId, Right};
use askd_store::{Order, QuestionFilter, QuestionPage};

use super::Questions;
use crate::{Caller, EngineError, now};

impl Questions {
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
        self.inner.targets.describe(std::slice::from_mut(&mut question)).await?;
        Ok(question)
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
        self.inner.targets.describe(&mut page.questions).await?;
        Ok(page)
    }

    /// The agent's own words for a question.
    pub async fn native(&self, caller: &Caller, id: &QuestionId) -> Result<Option<String>, EngineError> {
        caller.needs(Right::Read)?;
        self.record(id).await?;
        Ok(self.store().native(id).await?)
    }
}
