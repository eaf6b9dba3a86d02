//! Hands an outcome to a managed agent: the holder writes it, or the hub calls the agent's server.
//!
//! In: a delivery and its waiting caller. Out: bytes or a call, which the codec makes from the stored
//! request, and the result.

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use askd_agents::{Speech, Unspeakable};
use askd_core::RejectMode;
use askd_core::delivery::FailReason;
use askd_holder::protocol::WriteResult;
use askd_holder::{Completed, HolderConnection};
use askd_store::ClaimedDelivery;

use super::attendant::Attendant;
use crate::{EngineError, Said};

/// The reason why an answer is not sent to an agent that no longer waits for it.
pub(super) const TAKEN_BACK: &str = "the agent took its question back while the answer was on its way";

impl Attendant {
    pub(super) async fn speak(
        &mut self,
        delivery: &ClaimedDelivery,
        reply: oneshot::Sender<Said>,
        connection: &mut HolderConnection,
    ) -> Result<(), EngineError> {
        let refused = |error: String| Said::Failed { reason: FailReason::Refused, detail: error };
        if self.taken_back.remove(&delivery.question.id) {
            drop(reply.send(refused(TAKEN_BACK.to_owned())));
            return Ok(());
        }
        let native = match RawValue::from_string(delivery.native.clone()) {
            Ok(native) => native,
            Err(error) => {
                drop(reply.send(refused(error.to_string())));
                return Ok(());
            }
        };
        let speech = match self.codec.speak(&native, &delivery.question.ask, &delivery.settlement) {
            Ok(speech) => speech,
            Err(Unspeakable::NotNow(why)) => {
                drop(reply.send(Said::NotNow(why.to_owned())));
                return Ok(());
            }
            Err(error) => {
                drop(reply.send(refused(error.to_string())));
                return Ok(());
            }
        };
        // This comes before the bytes: every later line may be evidence.
        let heard = self.codec.delivered(&delivery.native_id, &delivery.settlement);
        self.questions.insert(delivery.native_id.clone(), delivery.question.id.clone());
        let words = self.clients_words(delivery);
        match speech {
            Speech::Bytes(bytes) => {
                // An interrupt is more than the client's words.
                let interrupts = delivery.settlement.reject_mode() == Some(RejectMode::Interrupt);
                let bytes = words.filter(|_| !interrupts).unwrap_or_else(|| Bytes::from(bytes));
                self.write_outcome(delivery, bytes, reply, connection);
                if !heard.is_empty() {
                    // The meaning may wait for the store.
                    self.send_gathered(connection).await;
                }
            }
            Speech::Call(call) => {
                if let Some(relay) = &self.relay {
                    relay.server.forget_words(&delivery.question.id);
                }
                self.call_outcome(call, reply);
            }
        }
        self.apply_all(heard, None).await
    }

    fn write_outcome(
        &mut self,
        delivery: &ClaimedDelivery,
        bytes: Bytes,
        reply: oneshot::Sender<Said>,
        connection: &mut HolderConnection,
    ) {
        let tag = self.new_tag();
        self.writes.insert(tag, (delivery.native_id.clone(), reply));
        if connection.gather_write(tag, Some(delivery.id.as_str()), bytes).is_err() {
            self.writes.remove(&tag);
        }
    }
}

pub(super) fn said_of(result: &WriteResult) -> Option<Said> {
    match result {
        WriteResult::Done { .. } => Some(Said::Written),
        WriteResult::UnderWay => None,
        WriteResult::Busy => Some(Said::NotNow("the agent does not read at this moment".to_owned())),
        WriteResult::Failed { reason, .. } => {
            Some(Said::Failed { reason: FailReason::AgentGone, detail: reason.clone() })
        }
        WriteResult::Refused { reason } => {
            Some(Said::Failed { reason: FailReason::Refused, detail: reason.clone() })
        }
    }
}

pub(super) fn was_written(journaled: bool, completed: Completed) -> Option<bool> {
    match (journaled, completed) {
        (false, Completed::Unknown) => None,
        (false, _) => Some(false),
        (true, Completed::Yes) => Some(true),
        (true, _) => None,
    }
}
