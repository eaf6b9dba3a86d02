//! What askd itself had answered, for comparing it with what the agent went on with.

use askd_core::{Answer, QuestionId, Settlement};

use crate::engine::{Engine, EngineError};

impl Engine {
    pub(super) async fn our_answer(&self, id: &QuestionId) -> Result<Option<Answer>, EngineError> {
        Ok(match self.store().delivery(id).await?.map(|delivery| delivery.settlement) {
            Some(Settlement::Answered(answer)) => Some(answer),
            _ => None,
        })
    }
}
