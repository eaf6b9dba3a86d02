//! The messages between a codec and the engine.
//!
//! In: nothing. Out: [`Heard`], the one list of agent events, and [`Speech`], the one list of messages to an
//! agent. A new agent adds a codec, not a variant.

use std::time::Duration;

use askd_core::delivery::FailReason;
use askd_core::lifecycle::Elsewhere;
use askd_core::{Ask, Cause};
use serde_json::value::RawValue;

/// One thing learnt from an agent.
#[derive(Debug)]
pub enum Heard {
    /// The agent asks. The same native id again is the same question (the store makes it harmless).
    Asked(Box<Asked>),
    /// The agent took a question back before it was answered.
    Withdrawn {
        native_id: String,
        cause: Cause,
    },
    /// The agent continued, and reports with what: its own screen answered, or it repeats askd's answer. The
    /// core compares it with the outcome: without one it is "answered elsewhere", the same is evidence,
    /// another is "overtaken".
    AnsweredElsewhere {
        native_id: String,
        how: Elsewhere,
    },
    /// The agent visibly went on after an answer was delivered. With which answer, its protocol does not say.
    Confirmed {
        native_id: String,
    },
    /// An answer was written, and the agent shows that it refused it.
    NotTaken {
        native_id: String,
        reason: FailReason,
        detail: String,
    },
    SessionStarted {
        native_id: String,
        title: Option<String>,
        cwd: Option<String>,
        parent: Option<String>,
    },
    SessionUpdated {
        native_id: String,
        title: String,
    },
    SessionEnded {
        native_id: String,
        cause: Cause,
    },
    /// The agent has finished with a prompt.
    TurnEnded {
        native_session: Option<String>,
        end: TurnEnd,
    },
    /// The agent cannot be talked to: it refused the handshake, wants a log-in, speaks another version.
    Failed {
        step: &'static str,
        detail: String,
    },
    /// The agent is connected, and something of it stays unheard; for people to see.
    Incomplete {
        detail: String,
    },
    /// Ordinary messages for people. The caller has the raw line; it is not copied here.
    Chatter {
        native_session: Option<String>,
        voice: Voice,
        text: Option<String>,
    },
    /// A message of the codec itself: the next step of a handshake, or the refusal of a request that askd
    /// does not serve.
    Write(Speech),
    /// Ends the agent's own wait for a question that ends without an answer to it, and comes before that end.
    /// Whichever hub says it, and whatever else is said of the question, the agent gets one of it.
    Closing {
        native_id: String,
        bytes: Vec<u8>,
    },
    /// The first prompt of an agent that must have a session before it takes one. Whichever hub says it, the
    /// agent gets it once.
    FirstPrompt(Vec<u8>),
    /// A message that this codec does not know or cannot read. The engine writes it to its log; it is never
    /// fatal.
    Unrecognised {
        why: String,
    },
}

/// A question as the agent asked it.
#[derive(Debug)]
pub struct Asked {
    /// Unique within the agent's session, stable when the same bytes are read again.
    pub native_id: String,
    /// The agent's own session; none for a request of the connection, such as a log-in.
    pub native_session: Option<String>,
    /// The question; the engine fills in `session_id`.
    pub ask: Ask,
    /// The agent's request, byte for byte. With it alone an answer can be spoken, also after a restart of the
    /// hub.
    pub native: Box<RawValue>,
    /// The agent's own time-out, if it reports one. A codec has no clock; the engine makes the deadline.
    pub patience: Option<Duration>,
    /// A canonical form of the question, for agents with several channels without a common id: the same
    /// session and likeness are sightings of one question.
    pub likeness: Option<String>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    Done,
    Cancelled,
    /// The agent stopped for another reason: a limit, a refusal, in its own word.
    Stopped(String),
    Failed(String),
}

/// The speaker of a piece of chatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    Agent,
    Thought,
    Tool,
    User,
    Other,
}

/// A message to the agent, in the form of its transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speech {
    /// Complete frames: lines with their line feeds, the text of one message, the output of a hook, keys for
    /// a terminal.
    Bytes(Vec<u8>),
    /// One request to the agent's own server.
    Call(Call),
}

impl Speech {
    /// The bytes of a stream transport; none for a call.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Call(_) => None,
        }
    }
}

/// One HTTP request to an agent's server, relative to the address that the source was attached with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The codec's name for the call, which comes back with the reply. Empty if the codec does not need the
    /// reply.
    pub tag: String,
    pub method: CallMethod,
    pub path: String,
    pub query: Vec<(String, String)>,
    /// A JSON body.
    pub body: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallMethod {
    Get,
    Post,
    Delete,
}
