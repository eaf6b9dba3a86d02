//! The connection to one server: its event stream, and calls beside it.
//!
//! In: the server's address, and calls. Out: [`News`] in order, and signs that the connection has lasted a
//! while. A slow call delays no event, and an answer does not wait behind lists.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::http_sse::{LostWhy, SseSignal};
use askd_agents::{Call, Codec, Heard, ServerWay};
use askd_core::delivery::DeliveryInput;

use super::AttachedSettings;
use super::calls::Server;
use super::wire::{Reply, Wire};
use crate::{Said, at};

/// Calls to one server at one time.
const MAX_CALLS: usize = 4;
/// The times after which a connection is looked at again. OpenCode receives its own events some milliseconds
/// after it reports that it is connected, later on a busy machine, and shows it only after 10 s of silence.
const WHILES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// The status of a call without a reply.
const NO_REPLY: u16 = 0;

pub(crate) struct Link {
    wire: Arc<dyn Wire>,
    signals: mpsc::Receiver<SseSignal>,
    places: Arc<Semaphore>,
    done: mpsc::Sender<Done>,
    finished: mpsc::Receiver<Done>,
    /// When the connection of this moment has lasted a while, soonest first.
    whiles: VecDeque<Instant>,
    _stop: DropGuard,
}

/// A message from the connection.
pub(crate) enum News {
    Signal(SseSignal),
    StillConnected,
    Reply(Done),
}

/// A finished call.
pub(crate) struct Done {
    tag: String,
    reply: Reply,
    /// The caller that waits for the result of an outcome.
    said: Option<oneshot::Sender<Said>>,
}

impl Link {
    /// Listens to the port of a server from now on, until it is dropped or stopped.
    pub(crate) fn open(
        settings: AttachedSettings,
        way: ServerWay,
        stop: CancellationToken,
    ) -> Result<Self, String> {
        Ok(Self::over(Arc::new(Server::new(settings, way.events)?), stop))
    }

    /// The same by whichever way the server is reached.
    pub(super) fn over(wire: Arc<dyn Wire>, stop: CancellationToken) -> Self {
        let signals = wire.listen(stop.clone());
        let (done, finished) = mpsc::channel(MAX_CALLS);
        let places = Arc::new(Semaphore::new(MAX_CALLS));
        let whiles = VecDeque::new();
        Self { wire, signals, places, done, finished, whiles, _stop: stop.drop_guard() }
    }

    pub(super) fn road(&self) -> &'static str {
        self.wire.road()
    }

    /// None once the line is stopped.
    pub(crate) async fn next(&mut self) -> Option<News> {
        tokio::select! {
            signal = self.signals.recv() => signal.map(|signal| self.signalled(signal)),
            Some(done) = self.finished.recv() => Some(News::Reply(done)),
            () = at(self.whiles.front().copied()) => {
                self.whiles.pop_front();
                Some(News::StillConnected)
            }
        }
    }

    /// The next message, if one has arrived.
    pub(crate) fn ready(&mut self) -> Option<News> {
        match self.signals.try_recv() {
            Ok(signal) => Some(self.signalled(signal)),
            Err(_) => self.finished.try_recv().ok().map(News::Reply),
        }
    }

    fn signalled(&mut self, signal: SseSignal) -> News {
        match signal {
            SseSignal::Connected { .. } => {
                let now = Instant::now();
                self.whiles = WHILES.iter().map(|after| now + *after).collect();
            }
            SseSignal::Lost { .. } => self.whiles.clear(),
            SseSignal::Event(_) | SseSignal::Oversized { .. } => {}
        }
        News::Signal(signal)
    }

    /// Makes a call; `said` receives its meaning for an outcome.
    pub(crate) fn call(&self, call: Call, said: Option<oneshot::Sender<Said>>) {
        let (wire, done, places) = (Arc::clone(&self.wire), self.done.clone(), Arc::clone(&self.places));
        let urgent = said.is_some();
        tokio::spawn(async move {
            let _place = if urgent { None } else { places.acquire_owned().await.ok() };
            let reply = wire.call(&call).await;
            // The slot stays taken until the reply is read, so that replies do not pile up.
            drop(done.send(Done { tag: call.tag, reply, said }).await);
        });
    }
}

impl Done {
    /// Reports the result to the waiting caller and to the codec.
    pub(crate) fn tell(self, codec: &mut dyn Codec) -> Vec<Heard> {
        if let Some(said) = self.said {
            let word = match &self.reply {
                Reply::Answered { status, body } => said_of(codec.judge(*status, body)),
                Reply::NotSent(why) => Said::NotNow(why.clone()),
                Reply::Broken(_) => Said::Unknown,
            };
            drop(said.send(word));
        }
        match &self.reply {
            _ if self.tag.is_empty() => Vec::new(),
            Reply::Answered { status, body } => codec.replied(&self.tag, *status, body),
            Reply::NotSent(why) | Reply::Broken(why) => codec.replied(&self.tag, NO_REPLY, why.as_bytes()),
        }
    }
}

/// Why a connection is gone, for people.
pub(crate) fn lost_text(why: &LostWhy) -> String {
    match why {
        LostWhy::Status(401 | 403) => "the server refuses the user name or password".to_owned(),
        why => why.to_string(),
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
