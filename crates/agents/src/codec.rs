//! The sans-IO heart of an adapter: what comes in becomes values, what a human decided becomes bytes.
//!
//! In: framed messages of the agent, and what the engine wants (a prompt, an interrupt, an outcome). Out: [`Heard`] and
//! [`Speech`]. Three rules make a restart of the hub harmless:
//!
//! 1. `speak` needs only the stored native request, never what the codec remembers.
//! 2. What `hear` remembers can be rebuilt from [`Begin`]: the sessions and the questions that are pending.
//! 3. The same bytes heard again give the same native ids.

pub use askd_core::Settlement;
use askd_core::answer::Rejection;
use askd_core::delivery::{DeliveryInput, FailReason};
use askd_core::{Ask, Outcome, Reply};
use serde_json::value::RawValue;

use crate::heard::{Heard, Speech};

/// One conversation with one process, server or connection of an agent.
pub trait Codec: Send + Sync {
    /// The first call, and the only one before anything is heard.
    fn begin(&mut self, begin: Begin) -> Vec<Heard>;

    /// One framed message: a line, the data of an SSE event, a text frame. Total on any bytes; never panics.
    fn hear(&mut self, message: &[u8]) -> Vec<Heard>;

    /// The same from the agent's own server, where that is a second way beside its lines.
    fn hear_server(&mut self, event: &[u8]) -> Vec<Heard> {
        self.hear(event)
    }

    /// What somebody else wrote to the agent over the same connection, where askd only passes messages on ([`Start::Observed`]).
    fn overhear(&mut self, message: &[u8]) -> Vec<Heard> {
        let _ = message;
        Vec::new()
    }

    /// The transport is connected, at first or again: whatever the agent does not replay has to be asked for now.
    fn connected(&mut self) -> Vec<Heard> {
        Vec::new()
    }

    /// It has been connected for a while now, which is told a few times after each [`Codec::connected`]: an agent that may begin to
    /// tell what happens only after it says that it is connected is asked once more.
    fn still_connected(&mut self) -> Vec<Heard> {
        Vec::new()
    }

    /// What came back for a tagged [`crate::Call`] that this codec had wanted.
    fn replied(&mut self, tag: &str, status: u16, body: &[u8]) -> Vec<Heard> {
        let _ = (tag, status, body);
        Vec::new()
    }

    /// Says something to a session (the first one if none is named); kept until the session exists.
    fn prompt(&mut self, session: Option<&str>, text: &str) -> Result<Vec<Heard>, Unspeakable>;

    /// Stops the turn of a session (of all if none is named).
    fn interrupt(&mut self, session: Option<&str>) -> Vec<Heard>;

    /// Ends a session (all if none is named) in the agent's own protocol. Ending the process is the transport's matter.
    fn close(&mut self, session: Option<&str>) -> Vec<Heard>;

    /// What carries an outcome to the agent, made from the stored native request and nothing else.
    fn speak(&self, native: &RawValue, ask: &Ask, settled: &Settlement) -> Result<Speech, Unspeakable>;

    /// What [`Heard::Closing`] was for a question that ended like this and has no delivery, or one that was overtaken, made in the same way:
    /// the hub may have been killed before it said it. Nothing for a question that the agent took back itself: it may use the id again.
    fn closing(&self, _native: &RawValue, _outcome: &Outcome) -> Option<Vec<u8>> {
        None
    }

    /// The speech of an outcome is being handed to the transport: from now on evidence is looked for. It is called before
    /// anything that is heard afterwards. What comes back are the consequences for other questions, such as those that an
    /// interrupt ends too.
    fn delivered(&mut self, native_id: &str, settled: &Settlement) -> Vec<Heard>;

    /// What was handed to the transport did not get to the agent: there is no evidence to look for yet.
    fn undelivered(&mut self, native_id: &str) {
        let _ = native_id;
    }

    /// What another client of the same agent says with its own response to a question ([`Start::Observed`]).
    fn understand(&self, native: &RawValue, ask: &Ask, response: &str) -> Result<ClientSays, Unspeakable> {
        let _ = (native, ask, response);
        Err(Unspeakable::CannotCarry("responses of other clients"))
    }

    /// Whether the next message is heard for the first time. One that may have been heard by an earlier hub must mean what it meant.
    fn first_time(&mut self, surely: bool) {
        let _ = surely;
    }

    /// The store keeps a question under another name, because an earlier one has the agent's own. A codec does not implement this:
    /// [`crate::outside::Conversation`] does it for every agent, and says whether it was done.
    fn rename(&mut self, native_id: &str, name: &str) -> bool {
        let _ = (native_id, name);
        false
    }

    /// The agent's own name of a stored request, where the request alone tells it: the store may have it under another ([`Codec::rename`]),
    /// and a codec that begins anew goes on with the agent's.
    fn own_name(&self, _native: &RawValue) -> Option<String> {
        None
    }

    /// The store knows that this question is over although the agent did not say so: it was heard again after its end, or
    /// it expired. Nothing is said to the agent; it is no longer watched.
    fn forget(&mut self, native_id: &str) {
        let _ = native_id;
    }

    /// What the reply to a [`crate::Call`] that carried an outcome means for its delivery.
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

/// Bytes of an agent's error text that are worth keeping.
const MAX_DETAIL_BYTES: usize = 2048;

/// What a client said with its response to a question.
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
    /// The questions known from before that are open, or answered and without evidence.
    pub pending: Vec<Pending>,
    /// The messages that ended the last turns, as an earlier hub heard them: the agent may send one again.
    pub turns_ended: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// askd drives the agent and greets it.
    #[default]
    Fresh,
    /// askd drove this agent before the hub was restarted. One that has neither a session nor a question is greeted, perhaps again: the
    /// transport gives it the first words once. A greeting that was under way goes on.
    Resumed,
    /// Somebody else drives the agent through askd: nothing is said but answers, nothing is refused for him.
    Observed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSession {
    pub native_id: String,
    pub cwd: Option<String>,
    pub title: Option<String>,
}

/// A question that the store knows and whose end the codec has to watch for.
#[derive(Debug, Clone)]
pub struct Pending {
    pub native_id: String,
    pub native_session: Option<String>,
    pub native: Box<RawValue>,
    /// What was written to the agent, if it was. `None` while the question is open or its answer is still queued.
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
