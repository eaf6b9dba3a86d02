//! An agent with a server of its own, which askd starts and protects with a password. Either its lines only
//! name the address, and everything else goes over HTTP; or it uses ACP on its lines, and its server is a
//! second channel.
//!
//! In: the lines of the process, news from the server. Out: their meaning, as for every managed agent, and
//! calls. The address is stored before its line is acknowledged, so the next hub finds the server again.

use std::net::{IpAddr, Ipv4Addr, TcpListener};

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use crate::http_sse::SseSignal;
use askd_agents::{Call, Heard, Listening, ServerWay};
use askd_core::SourceState;
use askd_holder::HolderSpec;
use askd_store::NewEntry;

use super::HeldSettings;
use super::attendant::Attendant;
use super::command::Command;
use super::start::StartError;
use crate::access::random_text;
use crate::attached::{AttachedSettings, Link, News, lost_text};
use crate::{EngineError, Said, now};

/// News in one batch, so that it shares a commit.
const MAX_NEWS: usize = 64;

/// The data of such an agent for the next hub. Without `Debug`, so that no log shows it by accident.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ServedSettings {
    pub(crate) password: String,
    /// The port that askd chose, if it chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// The address, as soon as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
}

impl ServedSettings {
    /// Settings for a server that is about to start; its process receives them.
    pub(super) fn new(way: ServerWay, spec: &mut HolderSpec) -> Result<Self, StartError> {
        let password = random_text()?;
        spec.env.insert(way.user_variable.to_owned(), way.user.to_owned());
        spec.env.insert(way.password_variable.to_owned(), password.clone());
        let port = match way.listening {
            Listening::Says(_) => None,
            Listening::Given(option) => {
                let port = free_port().map_err(|error| StartError::Failed {
                    agent: way.user.to_owned(),
                    why: format!("find a free port for its server: {error}"),
                })?;
                spec.args.extend([option.to_owned(), port.to_string()]);
                Some(port)
            }
        };
        Ok(Self { password, port, url: None })
    }
}

/// A free port of this machine. Another program that takes it first makes the server fail at its start.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
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

    /// The address in this line. Only an address of this machine counts, because the password goes there.
    fn address_after(&self, line: &[u8]) -> Option<String> {
        let words = match self.way.listening {
            Listening::Says(words) => words,
            Listening::Given(_) => {
                return Some(format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.settings.port?));
            }
        };
        let line = String::from_utf8_lossy(line);
        let address = line.split_once(words)?.1.split_whitespace().next()?;
        let url = reqwest::Url::parse(address).ok().filter(|url| url.scheme() == "http")?;
        let host: IpAddr = url.host_str()?.parse().ok()?;
        host.is_loopback().then(|| address.trim_end_matches('/').to_owned())
    }
}

/// The next news of the server; never returns if there is no server.
pub(super) async fn next_news(served: &mut Option<Served>) -> Option<News> {
    match served.as_mut().and_then(|served| served.link.as_mut()) {
        Some(link) => link.next().await,
        None => std::future::pending().await,
    }
}

impl Attendant {
    /// Keeps a line of a process that uses its server alone, for people to see.
    pub(super) fn note_output(&mut self, n: u64, bytes: &[u8]) {
        let raw = Some(String::from_utf8_lossy(bytes).into_owned());
        let entry = NewEntry { line: Some(n), raw, ..NewEntry::new(now(), "other") };
        self.unsaved.push((self.main.id.clone(), entry));
    }

    /// Reads the address from one of the first lines of the process.
    pub(super) async fn find_server(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let Some(served) = self.served.as_mut().filter(|served| served.settings.url.is_none()) else {
            return Ok(());
        };
        let Some(url) = served.address_after(bytes) else { return Ok(()) };
        served.settings.url = Some(url);
        let settings = served.settings.clone();
        if let Some(record) = self.hub.store.source(&self.source.id).await?
            && let Ok(mut held) = serde_json::from_str::<HeldSettings>(&record.settings)
        {
            held.served = Some(settings);
            let held = serde_json::to_string(&held).unwrap_or_default();
            self.hub.store.set_source_settings(&self.source.id, held).await?;
        }
        self.open_link();
        Ok(())
    }

    /// Connects to the server once its address is known.
    pub(super) fn open_link(&mut self) {
        let Some(served) = &mut self.served else { return };
        let Some(url) = served.settings.url.clone().filter(|_| served.link.is_none()) else { return };
        let (username, password) = (served.way.user.to_owned(), Some(served.settings.password.clone()));
        let settings = AttachedSettings { url, username, password, found: None };
        match Link::open(settings, served.way, self.hub.tasks.stopping().child_token()) {
            Ok(link) => served.link = Some(link),
            Err(why) => self.ending = Some(format!("talk to its server: {why}")),
        }
    }

    /// Takes this news and the news that waits behind it.
    pub(super) async fn take_news(
        &mut self,
        news: Option<News>,
        commands: &mpsc::Sender<Command>,
    ) -> Result<(), EngineError> {
        let mut next = news;
        for _ in 0..MAX_NEWS {
            match next {
                Some(News::Signal(signal)) => self.take_signal(signal, commands).await?,
                Some(News::StillConnected) => {
                    let heard = self.codec.still_connected();
                    self.apply_news(None, heard).await?;
                }
                Some(News::Reply(done)) => {
                    let heard = done.tell(self.codec.as_mut());
                    self.apply_news(None, heard).await?;
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
                let heard = self.codec.hear_server(event.data.as_bytes());
                self.apply_news(Some(&event.data), heard).await
            }
            SseSignal::Oversized { total_bytes, .. } => {
                self.note_error(format!("an event of {total_bytes} bytes was too long to be heard"));
                Ok(())
            }
            SseSignal::Lost { why, .. } => {
                self.set_connected(false);
                if self.relay.is_some() {
                    // The lines are still read, and answers wait until the server is back.
                    let why = format!("its questions are not heard at this moment: {}", lost_text(&why));
                    self.set_state(SourceState::Connected, Some(why)).await;
                    return Ok(());
                }
                self.hub.targets.disconnect(&self.source.id);
                self.set_state(SourceState::Lost, Some(lost_text(&why))).await;
                Ok(())
            }
        }
    }

    async fn apply_news(&mut self, raw: Option<&str>, heard: Vec<Heard>) -> Result<(), EngineError> {
        if self.relay.is_some() {
            return self.relay_news(heard).await;
        }
        self.note_event(raw, &heard);
        self.apply_all(heard, None).await
    }

    fn set_connected(&mut self, connected: bool) {
        if let Some(served) = &mut self.served {
            served.connected = connected;
        }
    }

    /// Makes the codec's calls; they wait until the server is known.
    pub(super) fn make_calls(&mut self, calls: Vec<(Call, Option<oneshot::Sender<Said>>)>) {
        match self.served.as_ref().and_then(|served| served.link.as_ref()) {
            Some(link) => calls.into_iter().for_each(|(call, said)| link.call(call, said)),
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
