//! A stream of server-sent events over HTTP that never gives up. In: a request, made again whenever it ends,
//! and a token to stop it. Out: its events in order, and every change of the connection, so that a source can
//! be shown as lost. It continues after the last event's id (`Last-Event-ID`); the adapter knows whether the
//! server supports that.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hasher as _},
    time::Duration,
};

use futures_util::StreamExt as _;
use reqwest::{
    RequestBuilder, Response, StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE},
};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use askd_wire::sse::{DEFAULT_MAX_EVENT_BYTES, SseEvent, SseItem, SseParser};

/// To a server on this machine or in the same network.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// From the request to the response's head.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Without a byte for this long the connection counts as dead. OpenCode's heartbeat comes every 10 to 30 s.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// The first pause after a connection that failed or ended.
pub const FIRST_BACK_OFF: Duration = Duration::from_millis(200);
/// The longest pause: a server that returns is found within it.
pub const MAX_BACK_OFF: Duration = Duration::from_secs(15);
/// Events that wait for the adapter. When it is full the socket is not read, and the server waits.
pub const EVENT_QUEUE: usize = 256;

/// The limits of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseLimits {
    pub head_timeout: Duration,
    pub idle_timeout: Duration,
    pub first_back_off: Duration,
    pub max_back_off: Duration,
    pub max_event_bytes: usize,
}

impl Default for SseLimits {
    fn default() -> Self {
        Self {
            head_timeout: HEAD_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            first_back_off: FIRST_BACK_OFF,
            max_back_off: MAX_BACK_OFF,
            max_event_bytes: DEFAULT_MAX_EVENT_BYTES,
        }
    }
}

/// A message of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseSignal {
    /// Connected; `after` is the requested `Last-Event-ID`, empty for none. The caller may have to fetch the
    /// events in between by other means.
    Connected {
        after: String,
    },
    Event(SseEvent),
    /// An event beyond the limit was passed over.
    Oversized {
        id: String,
        event: String,
        total_bytes: u64,
    },
    /// The connection is gone; the next attempt comes after `again_in`.
    Lost {
        why: LostWhy,
        again_in: Duration,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LostWhy {
    #[error("the server has ended the stream")]
    Ended,
    #[error("nothing was heard for too long")]
    Idle,
    #[error("the server did not answer in time")]
    NoHead,
    /// 401 and 403 mean that the credentials are wrong; it is tried again, because they may be mended there.
    #[error("the server answered {0}")]
    Status(u16),
    #[error("the server answered with {0:?} instead of events")]
    NotEvents(String),
    #[error("the connection failed: {0}")]
    Failed(String),
}

/// Starts to listen; `request` makes the request of each connection (URL, credentials). Ends when `stop` is
/// cancelled or the receiver is dropped.
pub fn listen(
    request: impl Fn() -> RequestBuilder + Send + Sync + 'static,
    limits: SseLimits,
    last_id: Option<String>,
    stop: CancellationToken,
) -> mpsc::Receiver<SseSignal> {
    let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
    let mut parser = SseParser::new(limits.max_event_bytes);
    parser.resume(last_id.unwrap_or_default());
    let listener = Listener { request, limits, parser, sender, back_off: BackOff::new(limits) };
    tokio::spawn(stop.run_until_cancelled_owned(listener.run()));
    receiver
}

struct Listener<R> {
    request: R,
    limits: SseLimits,
    parser: SseParser,
    sender: mpsc::Sender<SseSignal>,
    back_off: BackOff,
}

/// The receiver is dropped.
struct NobodyListens;

impl<R: Fn() -> RequestBuilder> Listener<R> {
    async fn run(mut self) {
        loop {
            let why = match self.connect().await {
                Ok(response) => match self.read(response).await {
                    Ok(why) => why,
                    Err(NobodyListens) => return,
                },
                Err(why) => why,
            };
            let again_in = self.back_off.next();
            if self.tell(SseSignal::Lost { why, again_in }).await.is_err() {
                return;
            }
            tokio::select! {
                () = sleep(again_in) => {}
                () = self.sender.closed() => return,
            }
        }
    }

    async fn tell(&self, signal: SseSignal) -> Result<(), NobodyListens> {
        self.sender.send(signal).await.map_err(|_| NobodyListens)
    }

    async fn connect(&self) -> Result<Response, LostWhy> {
        let mut request =
            (self.request)().header(ACCEPT, "text/event-stream").header(CACHE_CONTROL, "no-cache");
        if !self.parser.last_id().is_empty() {
            request = request.header("Last-Event-ID", self.parser.last_id());
        }
        let response = timeout(self.limits.head_timeout, request.send())
            .await
            .map_err(|_| LostWhy::NoHead)?
            .map_err(|error| LostWhy::Failed(describe(&error)))?;
        if response.status() != StatusCode::OK {
            return Err(LostWhy::Status(response.status().as_u16()));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
        if !kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(LostWhy::NotEvents(kind.to_owned()));
        }
        Ok(response)
    }

    async fn read(&mut self, response: Response) -> Result<LostWhy, NobodyListens> {
        let after = self.parser.last_id().to_owned();
        self.parser.resume(after.clone());
        self.tell(SseSignal::Connected { after }).await?;
        let mut body = response.bytes_stream();
        loop {
            let chunk = tokio::select! {
                chunk = timeout(self.limits.idle_timeout, body.next()) => chunk,
                () = self.sender.closed() => return Err(NobodyListens),
            };
            match chunk {
                Err(_) => return Ok(LostWhy::Idle),
                Ok(None) => return Ok(LostWhy::Ended),
                Ok(Some(Err(error))) => return Ok(LostWhy::Failed(describe(&error))),
                Ok(Some(Ok(bytes))) => self.parser.push(&bytes),
            }
            while let Some(item) = self.parser.pop() {
                // Any data shows that the server is alive.
                self.back_off.reset();
                match item {
                    SseItem::Event(event) => self.tell(SseSignal::Event(event)).await?,
                    SseItem::Oversized { id, event, total_bytes } => {
                        self.tell(SseSignal::Oversized { id, event, total_bytes }).await?;
                    }
                    SseItem::Retry(wait) => self.back_off.at_least(Duration::from_millis(wait)),
                    SseItem::Comment => {}
                }
            }
        }
    }
}

/// Doubling waits with a random part, so that many clients of one server do not come back at once.
#[derive(Debug)]
struct BackOff {
    first: Duration,
    most: Duration,
    now: Duration,
}

impl BackOff {
    fn new(limits: SseLimits) -> Self {
        Self { first: limits.first_back_off, most: limits.max_back_off, now: limits.first_back_off }
    }

    fn reset(&mut self) {
        self.now = self.first;
    }

    /// The server's wish counts within our own bound.
    fn at_least(&mut self, wait: Duration) {
        self.first = wait.max(self.first).min(self.most);
        self.now = self.now.max(self.first);
    }

    /// Between half of the wait and all of it.
    fn next(&mut self) -> Duration {
        let wait = self.now;
        self.now = (wait * 2).min(self.most);
        // The standard library's own source of randomness: no more is needed here.
        let random = RandomState::new().build_hasher().finish();
        let part = u32::try_from(random % 1000).unwrap_or(0);
        wait / 2 + wait / 2000 * part
    }
}

/// The error with its causes: reqwest's own text says only that a request failed. The URL may hold
/// credentials.
fn describe(error: &reqwest::Error) -> String {
    let mut text = "error sending or reading the request".to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_limit_and_begin_anew() {
        let limits = SseLimits { max_back_off: Duration::from_secs(1), ..SseLimits::default() };
        let mut back_off = BackOff::new(limits);
        for whole in [200, 400, 800, 1000, 1000] {
            let wait = back_off.next().as_micros();
            assert!((whole * 500..=whole * 1000).contains(&wait), "{wait} of {whole}");
        }
        back_off.reset();
        assert!(back_off.next() <= Duration::from_millis(200));
        back_off.at_least(Duration::from_secs(3600));
        assert!(back_off.next() <= Duration::from_secs(1));
    }
}
