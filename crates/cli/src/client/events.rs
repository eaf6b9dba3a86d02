//! A numbered stream of the hub that survives its connection: the event log, or a session's transcript.
//!
//! In: a filter or a session, and a position. Out: events in order, none lost and none repeated, because
//! every connection continues after the last event that was returned. A break is reported as [`Heard::Lost`],
//! so that a surface can show it.

use std::time::Duration;

use askd_core::{Event, Seq, SessionId};
use askd_wire::sse::{SseEvent, SseItem, SseParser};

use super::api::Filter;
use super::error::ClientError;
use super::http::Client;

/// The hub sends a heartbeat several times in this time; after it the connection is taken for dead.
const SILENCE: Duration = Duration::from_secs(90);
/// Bytes of one event: the hub's largest question with its JSON escapes.
const MAX_EVENT_BYTES: usize = 64 << 20;
/// A notice without a number, because it is not in the log.
const TRIMMED: [&str; 2] = ["log.trimmed", "trimmed"];
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// One event as the hub wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent {
    pub seq: Seq,
    /// The name of the event: its type in the log, the voice in a transcript.
    pub name: String,
    pub json: String,
}

impl RawEvent {
    /// The event, or `None` for a newer hub's event that this client does not know.
    pub fn parse(&self) -> Option<Event> {
        serde_json::from_str(&self.json).ok()
    }
}

#[derive(Debug)]
pub enum Heard {
    Event(RawEvent),
    /// The stream is connected, at first or again.
    Connected,
    /// The retention of the hub has deleted events that this reader had not seen: JSON with `after` and
    /// `through`.
    Trimmed(String),
    /// The connection is gone; the next call tries again.
    Lost(ClientError),
}

#[derive(Debug)]
pub struct Events {
    client: Client,
    path: String,
    query: Vec<(&'static str, String)>,
    after: Seq,
    parser: SseParser,
    connection: Option<reqwest::Response>,
    pause: Option<Duration>,
}

impl Events {
    /// Events after `after`, the `seq` of a list or event: without a position, events during the first break
    /// would be lost.
    pub fn new(client: Client, filter: Filter, after: Seq) -> Self {
        Self::of(client, "/v1/events".to_owned(), filter.query(), after)
    }

    /// A managed session's transcript, from the beginning.
    pub fn transcript(client: Client, session: &SessionId) -> Self {
        Self::of(client, format!("/v1/sessions/{session}/transcript"), Vec::new(), 0)
    }

    fn of(client: Client, path: String, query: Vec<(&'static str, String)>, after: Seq) -> Self {
        Self {
            client,
            path,
            query,
            after,
            parser: SseParser::new(MAX_EVENT_BYTES),
            connection: None,
            pause: None,
        }
    }

    /// The next thing. An error is final: the hub refuses the token, the filter or the place in the log.
    pub async fn next(&mut self) -> Result<Heard, ClientError> {
        loop {
            while let Some(item) = self.parser.pop() {
                let event = match item {
                    SseItem::Event(event) => event,
                    SseItem::Oversized { total_bytes, .. } => {
                        let detail = format!("an event has {total_bytes} bytes, more than {MAX_EVENT_BYTES}");
                        return Err(self.client.unreadable(detail));
                    }
                    SseItem::Comment | SseItem::Retry(_) => continue,
                };
                if TRIMMED.contains(&event.event.as_str()) {
                    return Ok(Heard::Trimmed(event.data));
                }
                if let Some(event) = self.take(event)? {
                    self.pause = None;
                    return Ok(Heard::Event(event));
                }
            }
            let Some(connection) = &mut self.connection else {
                return self.connect().await;
            };
            match tokio::time::timeout(SILENCE, connection.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    self.parser.push(&bytes);
                }
                Ok(Ok(None)) => return Ok(self.lost("the hub ended the stream".to_owned())),
                Ok(Err(error)) => {
                    let lost = self.client.failed(&error);
                    self.drop_connection();
                    return Ok(Heard::Lost(lost));
                }
                Err(_) => return Ok(self.lost("the hub went silent".to_owned())),
            }
        }
    }

    async fn connect(&mut self) -> Result<Heard, ClientError> {
        if let Some(pause) = self.pause {
            tokio::time::sleep(pause).await;
        }
        let mut query = self.query.clone();
        query.push(("after", self.after.to_string()));
        match self.client.stream(&self.path, &query).await {
            Ok(response) => {
                self.connection = Some(response);
                Ok(Heard::Connected)
            }
            Err(error) if error.is_passing() => {
                // This comes last, so that a caller who drops this future meanwhile does not wait longer next
                // time.
                self.pause = Some(self.pause.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE)));
                Ok(Heard::Lost(error))
            }
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, event: SseEvent) -> Result<Option<RawEvent>, ClientError> {
        let SseEvent { id, event: name, data: json } = event;
        let seq = id.parse().map_err(|_| self.client.unreadable(format!("an event has the id {id:?}")))?;
        if seq <= self.after {
            return Ok(None);
        }
        self.after = seq;
        Ok(Some(RawEvent { seq, name, json }))
    }

    fn lost(&mut self, detail: String) -> Heard {
        self.drop_connection();
        Heard::Lost(ClientError::Broken { url: self.client.place().to_owned(), detail })
    }

    fn drop_connection(&mut self) {
        self.connection = None;
        self.parser = SseParser::new(MAX_EVENT_BYTES);
        self.pause.get_or_insert(FIRST_PAUSE);
    }
}
