//! One task per attached server: between its stream and the engine, with the agent's codec in the middle.
//!
//! In: events, replies, outcomes to bring. Out: what they mean, told to the engine in the order in which it was heard. Calls run
//! beside the loop, so that a slow server does not keep events waiting; their replies come back into it.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use askd_adapters::transport::http_sse::{LostWhy, SseSignal};
use askd_adapters::{Begin, Call, Codec, Speech, Unspeakable};
use askd_core::delivery::{DeliveryInput, FailReason, Redeliver};
use askd_core::{QuestionId, SessionId, Source, SourceState};
use askd_store::ClaimedDelivery;

use super::mouth::{ServerMouth, Speak};
use super::wire::{Reply, Wire};
use crate::engine::{Engine, EngineError, Said};

/// Calls to one server at one time.
const MAX_CALLS: usize = 4;
/// The status that a codec is given for a call that had no reply.
const NO_REPLY: u16 = 0;

pub(super) struct Attendant {
    pub(super) engine: Engine,
    pub(super) source: Source,
    pub(super) codec: Box<dyn Codec>,
    redeliver: Redeliver,
    pub(super) wire: Arc<dyn Wire>,
    /// askd's sessions by the agent's own names.
    pub(super) sessions: HashMap<String, SessionId>,
    /// Questions whose end the codec watches for, by the agent's own names.
    pub(super) questions: HashMap<String, QuestionId>,
    /// Calls that the codec wants.
    pub(super) to_call: Vec<Call>,
    /// What was last told about the connection: a server that stays away is told once, with the time since when.
    told: Option<(SourceState, Option<String>)>,
    places: Arc<Semaphore>,
    done: mpsc::UnboundedSender<Done>,
    finished: mpsc::UnboundedReceiver<Done>,
}

/// A call that came to an end.
struct Done {
    tag: String,
    reply: Reply,
    /// Who waits for it, if it carried an outcome.
    said: Option<oneshot::Sender<Said>>,
}

impl Attendant {
    pub(super) fn new(
        engine: Engine,
        source: Source,
        codec: Box<dyn Codec>,
        redeliver: Redeliver,
        wire: Arc<dyn Wire>,
    ) -> Self {
        let (done, finished) = mpsc::unbounded_channel();
        let places = Arc::new(Semaphore::new(MAX_CALLS));
        let (sessions, questions, to_call) = (HashMap::new(), HashMap::new(), Vec::new());
        Self {
            engine,
            source,
            codec,
            redeliver,
            wire,
            sessions,
            questions,
            to_call,
            told: None,
            places,
            done,
            finished,
        }
    }

    /// Attends the server until it is let go.
    pub(super) async fn run(
        mut self,
        begin: Begin,
        commands: mpsc::Sender<Speak>,
        mut wishes: mpsc::Receiver<Speak>,
        stop: CancellationToken,
    ) {
        for native_id in self.questions.keys() {
            self.engine.inner.attached.told.claim(&self.source, native_id);
        }
        let heard = self.codec.begin(begin);
        if let Err(error) = self.apply_all(heard).await {
            self.cannot_store(&error);
        }
        let mut signals = self.wire.listen(stop.clone());
        loop {
            let result = tokio::select! {
                () = stop.cancelled() => break,
                signal = signals.recv() => match signal {
                    Some(signal) => self.take_signal(signal, &commands).await,
                    None => break,
                },
                Some(done) = self.finished.recv() => self.take_reply(done).await,
                Some(speak) = wishes.recv() => self.speak(&speak.delivery, speak.reply).await,
            };
            if let Err(error) = result {
                self.cannot_store(&error);
            }
            self.start_calls();
        }
        self.engine.disconnect_mouth(&self.source.id);
    }

    fn cannot_store(&self, error: &EngineError) {
        tracing::error!(%error, source = %self.source.id, "cannot store what an agent said");
    }

    async fn take_signal(
        &mut self,
        signal: SseSignal,
        commands: &mpsc::Sender<Speak>,
    ) -> Result<(), EngineError> {
        match signal {
            SseSignal::Connected { .. } => {
                self.tell(SourceState::Connected, None).await?;
                let mouth = ServerMouth { commands: commands.clone(), redeliver: self.redeliver };
                self.engine.connect_mouth(self.source.id.clone(), Arc::new(mouth));
                let heard = self.codec.connected();
                self.apply_all(heard).await
            }
            SseSignal::Event(event) => {
                let heard = self.codec.hear(event.data.as_bytes());
                self.apply_all(heard).await
            }
            SseSignal::Oversized { total_bytes, .. } => {
                tracing::warn!(total_bytes, source = %self.source.id, "an event was too long to be heard");
                Ok(())
            }
            SseSignal::Lost { why, .. } => {
                self.engine.disconnect_mouth(&self.source.id);
                let why = match why {
                    LostWhy::Status(401 | 403) => "the server refuses the user name or password".to_owned(),
                    why => why.to_string(),
                };
                self.tell(SourceState::Lost, Some(why)).await
            }
        }
    }

    async fn tell(&mut self, state: SourceState, error: Option<String>) -> Result<(), EngineError> {
        let now = Some((state, error.clone()));
        if self.told != now {
            self.engine.source_state(&self.source.id, state, error).await?;
            self.told = now;
        }
        Ok(())
    }

    fn start_calls(&mut self) {
        for call in std::mem::take(&mut self.to_call) {
            self.start_call(call, None);
        }
    }

    fn start_call(&self, call: Call, said: Option<oneshot::Sender<Said>>) {
        let (wire, done, places) = (Arc::clone(&self.wire), self.done.clone(), Arc::clone(&self.places));
        // An answer does not wait behind lists.
        let urgent = said.is_some();
        tokio::spawn(async move {
            let _place = if urgent { None } else { places.acquire_owned().await.ok() };
            let reply = wire.call(&call).await;
            drop(done.send(Done { tag: call.tag, reply, said }));
        });
    }

    async fn take_reply(&mut self, done: Done) -> Result<(), EngineError> {
        if let Some(said) = done.said {
            let word = match &done.reply {
                Reply::Answered { status, body } => said_of(self.codec.judge(*status, body)),
                Reply::NotSent(why) => Said::NotNow(why.clone()),
                Reply::Broken(_) => Said::Unknown,
            };
            drop(said.send(word));
        }
        if done.tag.is_empty() {
            return Ok(());
        }
        let heard = match &done.reply {
            Reply::Answered { status, body } => self.codec.replied(&done.tag, *status, body),
            Reply::NotSent(why) | Reply::Broken(why) => {
                self.codec.replied(&done.tag, NO_REPLY, why.as_bytes())
            }
        };
        self.apply_all(heard).await
    }

    async fn speak(
        &mut self,
        delivery: &ClaimedDelivery,
        reply: oneshot::Sender<Said>,
    ) -> Result<(), EngineError> {
        let refused = |error: String| Said::Failed { reason: FailReason::Refused, detail: error };
        let native = serde_json::value::RawValue::from_string(delivery.native.clone());
        let spoken = match native {
            Ok(native) => self.codec.speak(&native, &delivery.question.ask, &delivery.settlement),
            Err(error) => Err(Unspeakable::Unreadable(error.to_string())),
        };
        let call = match spoken {
            Ok(Speech::Call(call)) => call,
            Ok(Speech::Bytes(_)) => {
                drop(reply.send(refused("a server takes calls and no lines".to_owned())));
                return Ok(());
            }
            Err(Unspeakable::NotNow(why)) => {
                drop(reply.send(Said::NotNow(why.to_owned())));
                return Ok(());
            }
            Err(error) => {
                drop(reply.send(refused(error.to_string())));
                return Ok(());
            }
        };
        // Before the call goes: whatever is heard from now on may be evidence.
        let heard = self.codec.delivered(&delivery.native_id, &delivery.settlement);
        self.questions.insert(delivery.native_id.clone(), delivery.question.id.clone());
        self.start_call(call, Some(reply));
        self.apply_all(heard).await
    }
}

fn said_of(input: DeliveryInput) -> Said {
    match input {
        DeliveryInput::Confirmed => Said::Confirmed,
        DeliveryInput::NotWritten { detail } => Said::NotNow(detail),
        DeliveryInput::Failed { reason, detail } => {
            Said::Failed { reason, detail: detail.unwrap_or_default() }
        }
        _ => Said::Written,
    }
}
