//! The delivery target of an attached server: its connection, which knows what the server waits for.

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use askd_core::delivery::Redeliver;
use askd_core::{Question, Settlement, Surface};
use askd_store::{ClaimedDelivery, StoreError};

use crate::{Carried, DeliveryTarget, Said, Speller};

/// Bring an outcome to the server.
pub(super) struct Speak {
    pub(super) delivery: Box<ClaimedDelivery>,
    pub(super) reply: oneshot::Sender<Said>,
}

pub(super) struct ServerMouth {
    pub(super) commands: mpsc::Sender<Speak>,
    pub(super) redeliver: Redeliver,
    pub(super) speller: Speller,
}

#[async_trait]
impl DeliveryTarget for ServerMouth {
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
        let speak = Speak { delivery: Box::new(delivery.clone()), reply };
        if self.commands.send(speak).await.is_err() {
            return Said::NotNow("the server is not attended at this moment".to_owned());
        }
        said.await.unwrap_or(Said::Unknown)
    }

    async fn was_written(&self, _: &ClaimedDelivery) -> Option<bool> {
        // The server keeps no journal; the adapter's declaration about a second copy decides.
        None
    }
}
