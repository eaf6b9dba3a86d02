//! One task for each attached server: between its stream and the engine, with the agent's codec in the
//! middle.
//!
//! In: events, replies, outcomes to deliver. Out: their meaning, given to the engine in order. Calls run
//! beside the loop, so that a slow server delays no events; their replies come back into it.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::http_sse::SseSignal;
use askd_agents::{Begin, Call, Codec, Speech, Unspeakable};
use askd_core::delivery::{FailReason, Redeliver};
use askd_core::{QuestionId, SessionId, Source, SourceState};
use askd_store::ClaimedDelivery;

use super::AttachedServers;
use super::link::{Link, News, lost_text};
use super::mouth::{ServerMouth, Speak};
use crate::connection_services::ConnectionServices;
use crate::{EngineError, Said};

pub(super) struct Attendant {
    /// What it uses of the hub.
    pub(super) hub: ConnectionServices,
    /// Those that attend it.
    pub(super) servers: AttachedServers,
    pub(super) source: Source,
    pub(super) codec: Box<dyn Codec>,
    redeliver: Redeliver,
    pub(super) link: Link,
    /// askd's sessions by the agent's own names.
    pub(super) sessions: HashMap<String, SessionId>,
    /// Questions that the codec watches, by native id.
    pub(super) questions: HashMap<String, QuestionId>,
    /// Calls from the codec.
    pub(super) to_call: Vec<Call>,
    /// The last reported state of the connection: a server that stays away is reported once, with the time.
    told: Option<(SourceState, Option<String>)>,
}

impl Attendant {
    pub(super) fn new(
        servers: &AttachedServers,
        source: Source,
        codec: Box<dyn Codec>,
        redeliver: Redeliver,
        link: Link,
    ) -> Self {
        let (sessions, questions, to_call) = (HashMap::new(), HashMap::new(), Vec::new());
        Self {
            hub: servers.hub().clone(),
            servers: servers.clone(),
            source,
            codec,
            redeliver,
            link,
            sessions,
            questions,
            to_call,
            told: None,
        }
    }

    /// Attends the server until it is let go.
    #[tracing::instrument(name = "connection", level = "error", skip_all, fields(source = %self.source.id))]
    pub(super) async fn run(
        mut self,
        begin: Begin,
        commands: mpsc::Sender<Speak>,
        mut wishes: mpsc::Receiver<Speak>,
        stop: CancellationToken,
    ) {
        let heard = self.codec.begin(begin);
        let mut result = self.apply_all(heard).await;
        while result.is_ok() {
            for call in std::mem::take(&mut self.to_call) {
                self.link.call(call, None);
            }
            result = tokio::select! {
                () = stop.cancelled() => break,
                news = self.link.next() => match news {
                    Some(News::Signal(signal)) => self.take_signal(signal, &commands).await,
                    Some(News::StillConnected) => {
                        let heard = self.codec.still_connected();
                        self.apply_all(heard).await
                    }
                    Some(News::Reply(done)) => {
                        let heard = done.tell(self.codec.as_mut());
                        self.apply_all(heard).await
                    }
                    None => break,
                },
                Some(speak) = wishes.recv() => self.speak(&speak.delivery, speak.reply).await,
            };
            // The agent's own screen still has a question that the engine refuses.
            if let Err(error) = &result
                && !matches!(error, EngineError::Store(_))
            {
                tracing::error!(%error, source = %self.source.id, "what a server said was not taken");
                result = Ok(());
            }
        }
        self.hub.targets.disconnect(&self.source.id);
        if let Err(error) = result {
            tracing::error!(%error, source = %self.source.id, "cannot store what an agent said; taking it up anew");
            let Self { servers, source, link, .. } = self;
            // A server sends nothing twice, but lists everything that waits on a new connection.
            drop(link);
            servers.attach_when_it_can(&source.id).await;
        }
    }

    async fn take_signal(
        &mut self,
        signal: SseSignal,
        commands: &mpsc::Sender<Speak>,
    ) -> Result<(), EngineError> {
        match signal {
            SseSignal::Connected { .. } => {
                self.tell(SourceState::Connected, None).await?;
                let speller = self.hub.outbox.speller(&self.source.agent, false);
                let mouth = ServerMouth { commands: commands.clone(), redeliver: self.redeliver, speller };
                self.hub.targets.connect(self.source.id.clone(), Arc::new(mouth));
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
                self.hub.targets.disconnect(&self.source.id);
                self.tell(SourceState::Lost, Some(lost_text(&why))).await
            }
        }
    }

    pub(super) async fn tell(
        &mut self,
        state: SourceState,
        error: Option<String>,
    ) -> Result<(), EngineError> {
        let now = Some((state, error.clone()));
        if self.told != now {
            self.hub.sources.set_state(&self.source.id, state, error).await?;
            self.told = now;
        }
        Ok(())
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
        // This comes before the call: every later event may be evidence.
        let heard = self.codec.delivered(&delivery.native_id, &delivery.settlement);
        self.questions.insert(delivery.native_id.clone(), delivery.question.id.clone());
        self.link.call(call, Some(reply));
        self.apply_all(heard).await
    }
}
