//! Names of a server's questions, whose events have no number.
//!
//! In: a question with its native id. Out: its name in the store, and the stored question.

use askd_core::{Ask, Question};

use super::Questions;
use super::ask::AgentQuestion;
use crate::EngineError;

/// How often a server may use an id for another request; OpenCode makes each id once.
const MAX_USES: u32 = 16;

impl Questions {
    /// Stores a question under the server's own id, or under that with a number if the server has used the id
    /// for an earlier, ended question. The same request has the same name again.
    pub(crate) async fn ask_under_free_name(
        &self,
        heard: AgentQuestion,
    ) -> Result<(String, Question), EngineError> {
        let (native_id, _) = self.free_name(&heard).await?;
        let question = self.ask_as_agent(AgentQuestion { native_id: native_id.clone(), ..heard }).await?;
        Ok((native_id, question))
    }

    /// The name of a server's question, and true if the store has the question already.
    pub(crate) async fn free_name(&self, heard: &AgentQuestion) -> Result<(String, bool), EngineError> {
        let own_id = &heard.native_id;
        let mut name = own_id.clone();
        let mut uses = 1;
        loop {
            let known = self.store().question_by_native(&heard.session, &name).await?;
            let Some(known) = known else { return Ok((name, false)) };
            if known.question.is_under_way() || asks_the_same(&known.question.ask, &heard.ask) {
                return Ok((name, true));
            }
            if uses == MAX_USES {
                tracing::warn!(source = %heard.source, own_id, "a server used one id too often: its question is not shown");
                return Ok((name, true));
            }
            uses += 1;
            name = format!("{own_id}~{uses}");
        }
    }
}

fn asks_the_same(one: &Ask, other: &Ask) -> bool {
    (one.kind, &one.questions, &one.body, &one.tool)
        == (other.kind, &other.questions, &other.body, &other.tool)
}
