//! The delivery target of a managed agent: its connection. Its holder writes each delivery at most once.

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
        // A dropped channel means that the connection ended during the write: the holder's journal will show
        // the result.
        said.await.unwrap_or(Said::Unknown)
    }

    fn over(&self, question: &QuestionId) {
        // If the queue is full, drop it: the codec then keeps watching a settled question, which is harmless.
        drop(self.commands.try_send(Command::Over { question: question.clone() }));
    }

    async fn was_written(&self, delivery: &ClaimedDelivery) -> Option<bool> {
        let (reply, found) = oneshot::channel();
        self.commands.send(Command::Probe { delivery: delivery.id.to_string(), reply }).await.ok()?;
        found.await.ok()?
    }
}
