//! The log of events, and the tail of it that is kept in memory.
//!
//! In: events that are durable, in order, from the store's writer. Out: a number to watch, and pages of events after a cursor.
//! The tail is a cache of what is stored, never a channel: a reader that falls behind it reads from the store.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use tokio::sync::watch;

use askd_core::{Event, EventType, QuestionId, Seq, SessionId, Status};

use crate::{StoreError, StoreResult};

/// Events of one page: small enough to interleave readers, large enough to amortise a read.
pub const LOG_PAGE: usize = 256;
/// Events kept in memory for readers that are nearly up to date.
const TAIL_EVENTS: usize = 4096;
/// Bytes kept in memory, so that large plans do not make a large hub.
const TAIL_BYTES: usize = 4 << 20;

/// An event with what filters look at, and its JSON made once for all readers.
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

impl LoggedEvent {
    pub fn new(event: &Event) -> StoreResult<Self> {
        let json = serde_json::to_string(event).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let question = event.question.as_ref();
        let session = event.session.as_ref();
        Ok(Self {
            seq: event.seq,
            kind: event.kind,
            question: question.map(|question| question.id.clone()),
            session: question
                .and_then(|question| question.ask.session_id.clone())
                .or_else(|| session.map(|session| session.id.clone())),
            status: question.map(|question| question.status),
            agent: question
                .map(|question| question.ask.agent.clone())
                .or_else(|| session.map(|session| session.agent.clone()))
                .unwrap_or_default(),
            call_id: question.and_then(|question| question.ask.call_id().map(str::to_owned)),
            json,
        })
    }
}

#[async_trait]
pub trait EventLog: Send + Sync {
    /// The identity of this store: a cursor of another one is refused.
    fn identity(&self) -> &str;

    fn newest(&self) -> Seq;

    /// Wakes whenever the log grew.
    fn watch(&self) -> watch::Receiver<Seq>;

    /// At most [`LOG_PAGE`] events after `after`, in order.
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

    /// Adds what was just committed, in order, and wakes the readers.
    pub fn publish(&self, events: &[Event]) {
        let Some(newest) = events.last().map(|event| event.seq) else { return };
        let logged: StoreResult<Vec<_>> = events.iter().map(LoggedEvent::new).collect();
        {
            let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
            match logged {
                Ok(logged) => {
                    kept.bytes += logged.iter().map(|event| event.json.len()).sum::<usize>();
                    kept.events.extend(logged.into_iter().map(Arc::new));
                }
                // A tail with a hole would lie: readers go to the store, which says what is wrong.
                Err(_) => *kept = Kept { after: newest, ..Kept::default() },
            }
            while kept.events.len() > TAIL_EVENTS || kept.bytes > TAIL_BYTES {
                let Some(oldest) = kept.events.pop_front() else { break };
                kept.bytes -= oldest.json.len();
                kept.after = oldest.seq;
            }
        }
        self.newest.send_replace(newest);
    }

    /// Waits until everything up to `seq`, which is stored already, can be read here.
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
        Some(kept.events.iter().skip(start).take(LOG_PAGE).cloned().collect())
    }
}
