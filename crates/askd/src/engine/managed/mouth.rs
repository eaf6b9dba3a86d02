//! The way of an outcome to a managed agent: through its attendant, whose holder writes each delivery at most once.

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use askd_core::delivery::Redeliver;
use askd_core::{Answer, Question, QuestionId, Settlement};
use askd_store::{ClaimedDelivery, StoreError};

use super::command::Command;
use crate::engine::{Carried, Mouth, Said};

pub(super) struct HeldMouth {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) redeliver: Redeliver,
}

#[async_trait]
impl Mouth for HeldMouth {
    fn redeliver(&self) -> Redeliver {
        self.redeliver
    }

    /// What else an agent cannot take, a question says itself: by its options and its reject modes.
    async fn carries(&self, question: &Question, settlement: &Settlement) -> Result<Carried, StoreError> {
        let Settlement::Answered(Answer { edited_plan, .. }) = settlement else { return Ok(Carried::Yes) };
        if edited_plan.is_none() {
            return Ok(Carried::Yes);
        }
        let (reply, carried) = oneshot::channel();
        let (question, settlement) = (Box::new(question.clone()), Box::new(settlement.clone()));
        // An agent that is not attended at this moment will show later whether it can.
        let _ = self.commands.send(Command::Carries { question, settlement, reply }).await;
        Ok(carried.await.unwrap_or(Carried::Yes))
    }

    async fn speak(&self, delivery: &ClaimedDelivery) -> Said {
        let (reply, said) = oneshot::channel();
        let command = Command::Speak { delivery: Box::new(delivery.clone()), reply };
        if self.commands.send(command).await.is_err() {
            return Said::NotNow("the agent is not attended at this moment".to_owned());
        }
        // A dropped channel means that the connection was lost in the middle: the holder's journal will tell.
        said.await.unwrap_or(Said::Unknown)
    }

    fn over(&self, question: &QuestionId) {
        // Who has no room for it at this moment only watches for longer than it has to.
        drop(self.commands.try_send(Command::Over { question: question.clone() }));
    }

    async fn was_written(&self, delivery: &ClaimedDelivery) -> Option<bool> {
        let (reply, found) = oneshot::channel();
        self.commands.send(Command::Probe { delivery: delivery.id.to_string(), reply }).await.ok()?;
        found.await.ok()?
    }
}
