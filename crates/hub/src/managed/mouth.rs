//! The way of an outcome to a managed agent: through its attendant, whose holder writes each delivery at most once.

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use askd_core::delivery::Redeliver;
use askd_core::{Question, QuestionId, Settlement, Surface};
use askd_store::{ClaimedDelivery, StoreError};

use super::command::Command;
use crate::{Carried, DeliveryTarget, Said, Speller};

pub(super) struct HeldMouth {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) redeliver: Redeliver,
    pub(super) speller: Speller,
}

#[async_trait]
impl DeliveryTarget for HeldMouth {
    fn redeliver(&self) -> Redeliver {
        self.redeliver
    }

    async fn can_carry(
        &self,
        question: &Question,
        settlement: &Settlement,
        _: Surface,
    ) -> Result<Carried, StoreError> {
        self.speller.carries(question, settlement).await
    }

    async fn deliver(&self, delivery: &ClaimedDelivery) -> Said {
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
