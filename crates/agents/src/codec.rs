//! The sans-IO half of an adapter: bytes become values, and a human's decision becomes bytes.
//!
//! In: framed messages of the agent, and the engine's requests (a prompt, an interrupt, an outcome). Out:
//! [`Heard`] and [`Speech`]. Three rules make a restart of the hub harmless:
//!
//! 1. `speak` uses only the stored native request, never what the codec remembers.
//! 2. [`Begin`] can rebuild everything that `hear` remembers: the sessions and the pending questions.
//! 3. The same bytes read again give the same native ids.

pub use askd_core::Settlement;
use askd_core::answer::Rejection;
use askd_core::delivery::{DeliveryInput, FailReason};
use askd_core::{Ask, Outcome, Reply};
use serde_json::value::RawValue;

use crate::heard::{Heard, Speech};

/// One conversation with one process, server or connection of an agent.
///
/// A question of an ACP agent, from its line to the bytes of an answer:
///
/// ```
/// use askd_agents::{Begin, Heard, Registry, Settlement, Speech, Start};
/// use askd_core::Reply;
///
/// let registry = Registry::built_in();
/// let mock = registry.get("mock").ok_or("the mock is built in")?;
/// let mut codec = mock.conversation()?;
/// // Another client drives this agent, so the codec has no greeting to send.
/// codec.begin(Begin { start: Start::Observed, ..Begin::default() });
///
/// let line = br#"{"jsonrpc":"2.0","id":7,"method":"_sandboxagent/session/request_question","params":
///     {"sessionId":"s","questionId":"q","prompt":"Which?","options":[["a","A"],["b","B"]]}}"#;
/// let heard = codec.hear(line);
/// let asked = heard.iter().find_map(|heard| match heard {
///     Heard::Asked(asked) => Some(asked),
///     _ => None,
/// });
/// let asked = asked.ok_or("the line asks")?;
/// assert_eq!(asked.native_id, "q");
///
/// // `speak` needs the stored request only: a codec after a restart encodes the same bytes.
/// let reply: Reply = serde_json::from_str(r#"{"answers":[["A"]]}"#)?;
/// let settled = Settlement::Answered(reply.check(&asked.ask)?);
/// let speech = mock.conversation()?.speak(&asked.native, &asked.ask, &settled)?;
/// let Speech::Bytes(bytes) = speech else { return Err("an ACP agent is answered by a line".into()) };
/// assert!(String::from_utf8(bytes)?.contains(r#""answers":[["a"]]"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Codec: Send + Sync {
    /// The first call, and the only one before anything is heard.
    fn begin(&mut self, begin: Begin) -> Vec<Heard>;

    /// One framed message: a line, the data of an SSE event, a text frame. Total on any bytes; never panics.
    fn hear(&mut self, message: &[u8]) -> Vec<Heard>;

    /// The same for the agent's own server, if it is a second channel.
    fn hear_server(&mut self, event: &[u8]) -> Vec<Heard> {
        self.hear(event)
    }

    /// A message of another client to the agent over the same connection, which askd only forwards
    /// ([`Start::Observed`]).
    fn overhear(&mut self, message: &[u8]) -> Vec<Heard> {
        let _ = message;
        Vec::new()
    }

    /// The transport is connected, at first or again: whatever the agent does not replay has to be asked for
    /// now.
    fn connected(&mut self) -> Vec<Heard> {
        Vec::new()
    }

    /// The connection has lasted a while. This comes a few times after each [`Codec::connected`], for an
    /// agent that may report events only some time after it reports that it is connected: the codec asks it
    /// once more.
    fn still_connected(&mut self) -> Vec<Heard> {
        Vec::new()
    }

    /// The reply to a tagged [`crate::Call`] of this codec.
    fn replied(&mut self, tag: &str, status: u16, body: &[u8]) -> Vec<Heard> {
        let _ = (tag, status, body);
        Vec::new()
    }

    /// Says something to a session (the first one if none is named); kept until the session exists.
    fn prompt(&mut self, session: Option<&str>, text: &str) -> Result<Vec<Heard>, Unspeakable>;

    /// Stops the turn of a session (of all if none is named).
    fn interrupt(&mut self, session: Option<&str>) -> Vec<Heard>;

    /// Ends a session (all if none is named) in the agent's own protocol. Ending the process is the
    /// transport's matter.
    fn close(&mut self, session: Option<&str>) -> Vec<Heard>;

    /// Encodes an outcome for the agent, from the stored native request and nothing else.
    fn speak(&self, native: &RawValue, ask: &Ask, settled: &Settlement) -> Result<Speech, Unspeakable>;

    /// Rebuilds the [`Heard::Closing`] message after a restart, for a question that ended like this without a
    /// delivery, or whose delivery was overtaken. `None` for a question that the agent withdrew: it may use
    /// the id again.
    fn closing(&self, _native: &RawValue, _outcome: &Outcome) -> Option<Vec<u8>> {
        None
    }

    /// The speech of an outcome is being handed to the transport: from now on the codec looks for evidence.
    /// This comes before every later message. Returns the consequences for other questions, such as those
    /// that an interrupt also ends.
    fn delivered(&mut self, native_id: &str, settled: &Settlement) -> Vec<Heard>;

    /// The transport did not deliver the speech: there is no evidence to look for yet.
    fn undelivered(&mut self, native_id: &str) {
        let _ = native_id;
    }

    /// The meaning of another client's response to a question ([`Start::Observed`]).
    fn understand(&self, native: &RawValue, ask: &Ask, response: &str) -> Result<ClientSays, Unspeakable> {
        let _ = (native, ask, response);
        Err(Unspeakable::CannotCarry("responses of other clients"))
    }

    /// True if the next message is certainly new. A message that an earlier hub may have read must keep its
    /// meaning.
    fn first_time(&mut self, surely: bool) {
        let _ = surely;
    }

    /// The store keeps a question under another name, because an earlier one has the agent's own. A codec
    /// does not implement this: [`crate::outside::Conversation`] does it for every agent, and says whether it
    /// was done.
    fn rename(&mut self, native_id: &str, name: &str) -> bool {
        let _ = (native_id, name);
        false
    }

    /// The native id in a stored request, if the request alone tells it. The store may use another name
    /// ([`Codec::rename`]), and a fresh codec continues with the agent's.
    fn own_name(&self, _native: &RawValue) -> Option<String> {
        None
    }

    /// The store knows that this question is over although the agent did not say so: it was heard again after
    /// its end, or it expired. Nothing is said to the agent; it is no longer watched.
    fn forget(&mut self, native_id: &str) {
        let _ = native_id;
    }

    /// The meaning of a call's reply for the delivery of its outcome.
    fn judge(&self, status: u16, body: &[u8]) -> DeliveryInput {
        let detail = || {
            let body = String::from_utf8_lossy(&body[..body.len().min(MAX_DETAIL_BYTES)]).into_owned();
            format!("the agent answered {status}: {body}")
        };
        match status {
            200..=299 => DeliveryInput::Written,
            408 | 425 | 429 | 500..=599 => DeliveryInput::NotWritten { detail: detail() },
            _ => DeliveryInput::Failed { reason: FailReason::Refused, detail: Some(detail()) },
        }
    }
}

/// Bytes of an agent's error text that are kept.
const MAX_DETAIL_BYTES: usize = 2048;

/// A client's response to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientSays {
    Reply(Reply),
    Reject(Rejection),
    /// The client cannot show the question. That is no answer of a human; others may still give one.
    Failed(String),
}

/// How a codec begins.
#[derive(Debug, Clone, Default)]
pub struct Begin {
    pub start: Start,
    /// How often a hub has attached to this agent before. It keeps the ids of requests apart across restarts.
    pub epoch: u32,
    pub cwd: String,
    /// Said as soon as there is a session, unless one is known already.
    pub prompt: Option<String>,
    /// The sessions known from before, the main one first.
    pub sessions: Vec<KnownSession>,
    /// The stored questions that are open, or answered without evidence.
    pub pending: Vec<Pending>,
    /// The messages that ended the last turns, as an earlier hub heard them: the agent may send one again.
    pub turns_ended: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// askd drives the agent and greets it.
    #[default]
    Fresh,
    /// askd drove this agent before the hub was restarted. One that has neither a session nor a question is
    /// greeted, perhaps again: the transport gives it the first words once. A greeting that was under way
    /// goes on.
    Resumed,
    /// Another client drives the agent through askd: the codec sends only answers, and refuses nothing in the
    /// client's place.
    Observed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSession {
    pub native_id: String,
    pub cwd: Option<String>,
    pub title: Option<String>,
}

/// A stored question; the codec watches for its end.
#[derive(Debug, Clone)]
pub struct Pending {
    pub native_id: String,
    pub native_session: Option<String>,
    pub native: Box<RawValue>,
    /// The outcome that was written to the agent. `None` while the question is open or its answer is queued.
    pub written: Option<Settlement>,
}

/// Why something cannot be said to this agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unspeakable {
    #[error("the stored request of the agent cannot be read: {0}")]
    Unreadable(String),
    #[error("this agent's protocol cannot carry {0}")]
    CannotCarry(&'static str),
    #[error("the answer does not fit the question: {0}")]
    Misfit(String),
    #[error("the agent has no session {0:?}")]
    UnknownSession(String),
    #[error("{0}")]
    NotNow(&'static str),
}
