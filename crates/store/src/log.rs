//! The event log, and its tail in memory.
//!
//! In: durable events, in order, from the store's writer. Out: a number to watch, and pages of events after a
//! cursor. The tail is a cache of the store, never a channel: a reader that falls behind it reads from the
//! store.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::watch;

use askd_core::{Event, EventType, QuestionId, Seq, Session, SessionId, Status, Timestamp};

use crate::{StoreError, StoreResult};

/// Events of one page: small enough to interleave readers, large enough to amortise a read.
pub const LOG_PAGE: usize = 256;
/// Bytes of a full page: the cost of a reader that does not read.
pub const LOG_PAGE_BYTES: usize = 64 << 10;
/// Events in memory for readers that are nearly up to date.
const TAIL_EVENTS: usize = 4096;
/// Bytes in memory, so that large plans do not make a large hub.
const TAIL_BYTES: usize = 4 << 20;

/// An event with its filter values, and its JSON, made once for all readers.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    pub seq: Seq,
    pub kind: EventType,
    pub question: Option<QuestionId>,
    pub session: Option<SessionId>,
    pub status: Option<Status>,
    pub agent: String,
    pub call_id: Option<String>,
    pub json: String,
}

/// The first members of every event.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct EventHead {
    pub seq: Seq,
    #[serde(rename = "type")]
    pub kind: EventType,
    pub at: Timestamp,
}

/// A question in an event: the stored texts and the filter values. A new member of the question must be one
/// that readers can do without, or a migration must write it into the old texts.
#[derive(Debug)]
pub struct QuestionTold<'a> {
    pub id: QuestionId,
    pub seq: Seq,
    pub created_at: Timestamp,
    pub session: Option<SessionId>,
    pub agent: String,
    pub call_id: Option<String>,
    pub status: Status,
    /// The ask as JSON.
    pub ask: &'a str,
    /// JSON of status, outcome and delivery.
    pub detail: &'a str,
}

impl LoggedEvent {
    /// Put together from texts: an event is the same as [`Event`] written down, and nothing is read to be
    /// written again.
    pub fn of_question(head: EventHead, told: QuestionTold<'_>) -> StoreResult<Self> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Asked {
            created_at: Timestamp,
            seq: Seq,
        }
        let asked = to_json(&Asked { created_at: told.created_at, seq: told.seq })?;
        let question = [members(told.ask)?, members(told.detail)?, members(&asked)?].join(",");
        let json = format!(
            r#"{{{},"question":{{"id":"{}",{question}}}}}"#,
            members(&to_json(&head)?)?,
            told.id.as_str()
        );
        Ok(Self {
            seq: head.seq,
            kind: head.kind,
            question: Some(told.id),
            session: told.session,
            status: Some(told.status),
            agent: told.agent,
            call_id: told.call_id,
            json,
        })
    }

    pub fn of_session(head: EventHead, session: Session) -> StoreResult<Self> {
        let EventHead { seq, kind, at } = head;
        let event = Event { seq, kind, at, question: None, session: Some(session) };
        let json = to_json(&event)?;
        let (session, agent) = event.session.map(|session| (session.id, session.agent)).unzip();
        let agent = agent.unwrap_or_default();
        Ok(Self { seq, kind, question: None, session, status: None, agent, call_id: None, json })
    }
}

fn to_json(value: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(value).map_err(|error| StoreError::Corrupt(error.to_string()))
}

/// The text between the braces of a JSON object.
fn members(object: &str) -> StoreResult<&str> {
    let inner = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.ok_or_else(|| StoreError::Corrupt("a stored text is not an object".to_owned()))
}

#[async_trait]
pub trait EventLog: Send + Sync {
    /// The identity of this store: a cursor of another one is refused.
    fn identity(&self) -> &str;

    /// True if only a store whose older copy this one is can have given this number.
    fn is_of_another_store(&self, cursor: Seq) -> bool;

    fn newest(&self) -> Seq;

    /// Wakes whenever the log grew.
    fn watch(&self) -> watch::Receiver<Seq>;

    /// At most [`LOG_PAGE`] events after `after`, in order, and none after [`LOG_PAGE_BYTES`].
    async fn events_after(&self, after: Seq) -> StoreResult<Vec<Arc<LoggedEvent>>>;

    /// Events up to this number may have been deleted by the retention.
    async fn trimmed_through(&self) -> StoreResult<Seq>;
}

/// The newest events in memory. Without holes: it covers everything after its oldest entry's predecessor.
#[derive(Debug)]
pub struct Tail {
    newest: watch::Sender<Seq>,
    kept: RwLock<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Arc<LoggedEvent>>,
    bytes: usize,
    /// Everything after this number is in `events`.
    after: Seq,
}

impl Tail {
    pub fn starting_after(newest: Seq) -> Self {
        let kept = Kept { after: newest, ..Kept::default() };
        Self { newest: watch::Sender::new(newest), kept: RwLock::new(kept) }
    }

    pub fn newest(&self) -> Seq {
        *self.newest.borrow()
    }

    pub fn watch(&self) -> watch::Receiver<Seq> {
        self.newest.subscribe()
    }

    /// Appends committed events, in order, and wakes the readers.
    pub fn publish(&self, events: Vec<LoggedEvent>) {
        let Some(newest) = events.last().map(|event| event.seq) else { return };
        {
            let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
            kept.bytes += events.iter().map(|event| event.json.len()).sum::<usize>();
            kept.events.extend(events.into_iter().map(Arc::new));
            while kept.events.len() > TAIL_EVENTS || kept.bytes > TAIL_BYTES {
                let Some(oldest) = kept.events.pop_front() else { break };
                kept.bytes -= oldest.json.len();
                kept.after = oldest.seq;
            }
        }
        self.newest.send_replace(newest);
    }

    /// Waits until the tail contains all stored events up to `seq`.
    pub async fn published(&self, seq: Seq) {
        // The sender lives in `self`, so this cannot fail.
        drop(self.watch().wait_for(|newest| *newest >= seq).await);
    }

    /// A page after `after`, or `None` if the tail does not reach back that far.
    pub fn page(&self, after: Seq) -> Option<Vec<Arc<LoggedEvent>>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        if after < kept.after {
            return None;
        }
        let start = kept.events.partition_point(|event| event.seq <= after);
        let mut bytes = 0;
        let has_room = |event: &&Arc<LoggedEvent>| {
            let has_room = bytes < LOG_PAGE_BYTES;
            bytes += event.json.len();
            has_room
        };
        Some(kept.events.iter().skip(start).take(LOG_PAGE).take_while(has_room).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use askd_core::{AskInput, Outcome, Question};

    use super::*;

    #[test]
    fn an_event_put_together_is_the_event_written_down() {
        let input = r#"{"questions":[{"question":"\"Which\"?","options":["a","b"]}],"context":{"cwd":"/x"}}"#;
        let ask = serde_json::from_str::<AskInput>(input).unwrap().complete().unwrap();
        let at = Timestamp::from_millis(1_700_000_000_123);
        let outcome = Outcome::expired(at);
        let id = QuestionId::from_bits(7);
        let question = Question {
            id: id.clone(),
            ask: ask.into(),
            status: Status::Expired,
            outcome: Some(outcome),
            delivery: None,
            created_at: at,
            seq: 3,
            failed_tries: Vec::new(),
            road: None,
            agent_times_out_at: None,
        };
        let detail = serde_json::json!({ "outcome": question.outcome, "delivery": null });
        let detail = format!(r#"{{"status":"expired",{}}}"#, members(&detail.to_string()).unwrap());
        let told = QuestionTold {
            id,
            seq: 3,
            created_at: at,
            session: None,
            agent: "api".to_owned(),
            call_id: None,
            status: Status::Expired,
            ask: &serde_json::to_string(&question.ask).unwrap(),
            detail: &detail,
        };
        let kind = EventType::QuestionResolved;
        let logged = LoggedEvent::of_question(EventHead { seq: 9, kind, at }, told).unwrap();
        let event = Event { seq: 9, kind, at, question: Some(question), session: None };
        assert_eq!(serde_json::from_str::<Event>(&logged.json).unwrap(), event);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&logged.json), value(&serde_json::to_string(&event).unwrap()));
    }
}
