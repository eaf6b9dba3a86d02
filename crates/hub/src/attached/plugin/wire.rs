//! A server without a port: its plugin has dialled in, hears calls on a stream, and sends events and replies
//! by requests of its own. To the attendant it is a server like any other.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::http_sse::{EVENT_QUEUE, LostWhy, SseSignal};
use askd_agents::Call;
use askd_wire::sse::SseEvent;

use super::super::wire::{CALL_TIMEOUT, Reply, Wire};
use super::{PluginCall, PluginMessage, PluginReply};
use crate::sources::PLUGIN;

/// Calls that wait for a plugin that does not read: many times as many as a connection begins with.
const MAX_CALLS: usize = 256;
/// Why nothing can be said to it now, for people.
pub(super) const AWAY: &str = "its plugin is away";
/// The plugin's status for a call that it could not make.
const NOT_MADE: u16 = 0;

pub(crate) struct PluginWire {
    line: Mutex<Line>,
    /// Held while a change of the connection is told, so that the changes are told in their order.
    turn: tokio::sync::Mutex<()>,
    signals: mpsc::Sender<SseSignal>,
    heard: Mutex<Option<mpsc::Receiver<SseSignal>>>,
}

/// The connection of this moment.
#[derive(Default)]
struct Line {
    /// How many there were; a connection is known by its number.
    number: u64,
    /// None while the plugin is away.
    calls: Option<mpsc::Sender<PluginCall>>,
    asked: u64,
    waiting: HashMap<u64, oneshot::Sender<Reply>>,
}

/// The calls for one connected plugin. It is disconnected when this is dropped.
#[derive(Debug)]
pub struct PluginStream {
    calls: mpsc::Receiver<PluginCall>,
    _connected: DropGuard,
}

impl PluginStream {
    /// The next call; none when the plugin has connected anew, or its source was let go.
    pub async fn next(&mut self) -> Option<PluginCall> {
        self.calls.recv().await
    }
}

impl PluginWire {
    pub(super) fn new() -> Self {
        let (signals, heard) = mpsc::channel(EVENT_QUEUE);
        Self {
            line: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            signals,
            heard: Mutex::new(Some(heard)),
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection takes the place of an older one: its calls, its number, and what ends with it. None
    /// if the source was let go.
    pub(super) async fn connect(&self) -> Option<(PluginStream, u64, CancellationToken)> {
        let _turn = self.turn.lock().await;
        let (sender, calls) = mpsc::channel(MAX_CALLS);
        let number = {
            let mut line = self.line();
            line.number += 1;
            line.calls = Some(sender);
            line.waiting.clear();
            line.number
        };
        self.signals.send(SseSignal::Connected { after: String::new() }).await.ok()?;
        let ended = CancellationToken::new();
        Some((PluginStream { calls, _connected: ended.clone().drop_guard() }, number, ended))
    }

    /// A connection has ended. Nothing changes if there is a newer one.
    pub(super) async fn lost(&self, number: u64) {
        let _turn = self.turn.lock().await;
        {
            let mut line = self.line();
            if line.number != number {
                return;
            }
            line.calls = None;
            line.waiting.clear();
        }
        let why = LostWhy::Failed(AWAY.to_owned());
        drop(self.signals.send(SseSignal::Lost { why, again_in: Duration::ZERO }).await);
    }

    /// True if no newer connection exists.
    pub(super) fn is_newest(&self, number: u64) -> bool {
        self.line().number == number
    }

    /// Ends when the source has no connection any more.
    pub(super) async fn let_go(&self) {
        self.signals.closed().await;
    }

    /// Takes the plugin's messages in order. A plugin that sends faster than the store commits waits.
    pub(super) async fn hear(&self, messages: Vec<PluginMessage>) {
        for message in messages {
            match message {
                PluginMessage::Event(data) => {
                    let event = SseEvent { id: String::new(), event: String::new(), data };
                    drop(self.signals.send(SseSignal::Event(event)).await);
                }
                PluginMessage::Reply(PluginReply { call, status, body }) => {
                    let reply = match status {
                        NOT_MADE => Reply::Broken(body),
                        _ => Reply::Answered { status, body: body.into_bytes() },
                    };
                    if let Some(waiting) = self.line().waiting.remove(&call) {
                        drop(waiting.send(reply));
                    }
                }
            }
        }
    }

    fn ask(&self, call: &Call) -> Result<(u64, oneshot::Receiver<Reply>), &'static str> {
        let mut line = self.line();
        line.asked += 1;
        let number = line.asked;
        let calls = line.calls.as_ref().ok_or(AWAY)?;
        calls.try_send(PluginCall::new(number, call)).map_err(|_| "its plugin does not take calls")?;
        let (sender, reply) = oneshot::channel();
        line.waiting.insert(number, sender);
        Ok((number, reply))
    }
}

#[async_trait]
impl Wire for PluginWire {
    fn road(&self) -> &'static str {
        PLUGIN
    }

    fn listen(&self, _: CancellationToken) -> mpsc::Receiver<SseSignal> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).take();
        heard.unwrap_or_else(|| mpsc::channel(1).1)
    }

    async fn call(&self, call: &Call) -> Reply {
        let (number, reply) = match self.ask(call) {
            Ok(asked) => asked,
            Err(why) => return Reply::NotSent(why.to_owned()),
        };
        match tokio::time::timeout(CALL_TIMEOUT, reply).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => Reply::Broken("its plugin went away".to_owned()),
            Err(_) => {
                self.line().waiting.remove(&number);
                Reply::Broken("its plugin did not answer in time".to_owned())
            }
        }
    }
}
