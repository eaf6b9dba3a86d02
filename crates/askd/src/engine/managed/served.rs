//! An agent that talks through a server of its own: askd starts it and guards it with a password, its lines only say where it
//! listens, and everything else goes over HTTP.
//!
//! In: the lines of the process, news from the server. Out: what they mean, as of every managed agent, and calls. The address is
//! stored before its line is acknowledged, so the next hub finds the server again.

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use askd_adapters::transport::http_sse::SseSignal;
use askd_adapters::{Call, ServerWay};
use askd_core::SourceState;
use askd_store::NewEntry;

use super::HeldSettings;
use super::attendant::Attendant;
use super::command::Command;
use crate::engine::access::random_text;
use crate::engine::attached::{AttachedSettings, Link, News, lost_text};
use crate::engine::{EngineError, Said, now};

/// News that is taken at once, so that what it says is stored at once.
const MAX_NEWS: usize = 64;

/// What such an agent has to remember for the next hub. It has no `Debug`, so that it cannot be logged by accident.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::engine) struct ServedSettings {
    pub(in crate::engine) password: String,
    /// Where it listens, as soon as it has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::engine) url: Option<String>,
}

impl ServedSettings {
    pub(super) fn new() -> Result<Self, EngineError> {
        Ok(Self { password: random_text()?, url: None })
    }
}

pub(super) struct Served {
    way: ServerWay,
    settings: ServedSettings,
    link: Option<Link>,
    connected: bool,
}

impl Served {
    pub(super) fn new(way: ServerWay, settings: ServedSettings) -> Self {
        Self { way, settings, link: None, connected: false }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    /// The address in a line that tells it. Only this machine is believed: the password goes there.
    fn address_in(&self, line: &[u8]) -> Option<String> {
        let line = String::from_utf8_lossy(line);
        let address = line.split_once(self.way.listening)?.1.split_whitespace().next()?;
        let url = reqwest::Url::parse(address).ok().filter(|url| url.scheme() == "http")?;
        let host: std::net::IpAddr = url.host_str()?.parse().ok()?;
        host.is_loopback().then(|| address.trim_end_matches('/').to_owned())
    }
}

/// What the server says next; never, where there is none.
pub(super) async fn next_news(served: &mut Option<Served>) -> Option<News> {
    match served.as_mut().and_then(|served| served.link.as_mut()) {
        Some(link) => link.next().await,
        None => std::future::pending().await,
    }
}

impl Attendant {
    /// A line of the process: kept for whoever wants to see it, and read for the address.
    pub(super) async fn hear_output(&mut self, n: u64, bytes: &[u8]) -> Result<(), EngineError> {
        let raw = Some(String::from_utf8_lossy(bytes).into_owned());
        let entry = NewEntry { line: Some(n), raw, ..NewEntry::new(now(), "other") };
        self.unsaved.push((self.main.id.clone(), entry));
        let Some(served) = self.served.as_mut().filter(|served| served.settings.url.is_none()) else {
            return Ok(());
        };
        let Some(url) = served.address_in(bytes) else { return Ok(()) };
        served.settings.url = Some(url);
        let settings = served.settings.clone();
        if let Some(record) = self.engine.store().source(&self.source.id).await?
            && let Ok(mut held) = serde_json::from_str::<HeldSettings>(&record.settings)
        {
            held.served = Some(settings);
            let held = serde_json::to_string(&held).unwrap_or_default();
            self.engine.store().set_source_settings(&self.source.id, held).await?;
        }
        self.open_link();
        Ok(())
    }

    /// Begins to talk to the server, if it is known where it is.
    pub(super) fn open_link(&mut self) {
        let Some(served) = &mut self.served else { return };
        let Some(url) = served.settings.url.clone().filter(|_| served.link.is_none()) else { return };
        let (username, password) = (served.way.user.to_owned(), Some(served.settings.password.clone()));
        let settings = AttachedSettings { url, username, password, found: None };
        match Link::open(settings, served.way, self.engine.stopping().child_token()) {
            Ok(link) => served.link = Some(link),
            Err(why) => self.ending = Some(format!("talk to its server: {why}")),
        }
    }

    /// Takes what the server said, and what else it has said already.
    pub(super) async fn take_news(
        &mut self,
        news: Option<News>,
        commands: &mpsc::Sender<Command>,
    ) -> Result<(), EngineError> {
        let mut next = news;
        for _ in 0..MAX_NEWS {
            match next {
                Some(News::Signal(signal)) => self.take_signal(signal, commands).await?,
                Some(News::Reply(done)) => {
                    let heard = done.tell(self.codec.as_mut());
                    self.note_event(None, &heard);
                    self.apply_all(heard, None).await?;
                }
                None => return Ok(()),
            }
            next = self.served.as_mut().and_then(|served| served.link.as_mut()).and_then(Link::ready);
        }
        Ok(())
    }

    async fn take_signal(
        &mut self,
        signal: SseSignal,
        commands: &mpsc::Sender<Command>,
    ) -> Result<(), EngineError> {
        match signal {
            SseSignal::Connected { .. } => {
                self.set_connected(true);
                self.reachable(commands).await;
                self.apply_connected().await
            }
            SseSignal::Event(event) => {
                let heard = self.codec.hear(event.data.as_bytes());
                self.note_event(Some(&event.data), &heard);
                self.apply_all(heard, None).await
            }
            SseSignal::Oversized { total_bytes, .. } => {
                let text = Some(format!("an event of {total_bytes} bytes was too long to be heard"));
                let entry = NewEntry { text, ..NewEntry::new(now(), "error") };
                self.unsaved.push((self.main.id.clone(), entry));
                Ok(())
            }
            SseSignal::Lost { why, .. } => {
                self.set_connected(false);
                self.engine.disconnect_mouth(&self.source.id);
                self.set_state(SourceState::Lost, Some(lost_text(&why))).await;
                Ok(())
            }
        }
    }

    fn set_connected(&mut self, connected: bool) {
        if let Some(served) = &mut self.served {
            served.connected = connected;
        }
    }

    /// Calls that the codec wants; they wait for the server to be known.
    pub(super) fn make_calls(&mut self, calls: Vec<Call>) {
        match self.served.as_ref().and_then(|served| served.link.as_ref()) {
            Some(link) => calls.into_iter().for_each(|call| link.call(call, None)),
            None => self.pipeline.following.to_call.extend(calls),
        }
    }

    /// Calls at the server with an outcome.
    pub(super) fn call_outcome(&self, call: Call, reply: oneshot::Sender<Said>) {
        match self.served.as_ref().and_then(|served| served.link.as_ref()) {
            Some(link) => link.call(call, Some(reply)),
            None => drop(reply.send(Said::NotNow("its server is not up".to_owned()))),
        }
    }
}
