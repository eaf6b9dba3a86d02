//! What a codec says to the engine, and what it wants said to the agent.
//!
//! In: nothing. Out: [`Heard`], the one list of all that can be learnt from an agent, and [`Speech`], the one list of all ways
//! to speak to it. A new agent adds a codec, not a variant.

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
    /// The agent went on, and it is known with what: its own screen answered, or it repeats what askd sent. The core compares
    /// it with what was settled: nothing yet is "answered elsewhere", the same is evidence, another is "overtaken".
    AnsweredElsewhere {
        native_id: String,
        how: Elsewhere,
    },
    /// The agent visibly went on after an answer was delivered. With which answer, its protocol does not say.
    Confirmed {
        native_id: String,
    },
    /// An answer was written and the agent shows that it did not take it.
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
    /// Ordinary messages, for showing. The raw line is with the caller, who passed it in: it is not copied here.
    Chatter {
        native_session: Option<String>,
        voice: Voice,
        text: Option<String>,
    },
    /// What the codec itself wants said: the next step of a handshake, a refusal of a request that askd does not serve.
    Write(Speech),
    /// Ends the agent's own wait for a question that ends without an answer to it, and comes before that end. Whichever hub says it, and
    /// whatever else is said of the question, the agent gets one of it.
    Closing {
        native_id: String,
        bytes: Vec<u8>,
    },
    /// The first prompt of an agent that must have a session before it takes one. Whichever hub says it, the agent gets it once.
    FirstPrompt(Vec<u8>),
    /// A message that this codec does not know or cannot read. The engine writes it to its log; it is never fatal.
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
    /// What was asked; `session_id` is for the engine to fill in.
    pub ask: Ask,
    /// The agent's request, byte for byte. With it alone an answer can be spoken, also after a restart of the hub.
    pub native: Box<RawValue>,
    /// After which time the agent goes on without an answer, where it says so. A codec has no clock; the engine makes the
    /// deadline of it.
    pub patience: Option<Duration>,
    /// A canonical form of what is asked, for agents that are heard on several roads which share no id: the same session
    /// and the same likeness are sightings of one question.
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

/// Who speaks in a piece of chatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    Agent,
    Thought,
    Tool,
    User,
    Other,
}

/// Something to say to the agent, in the form that its transport takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speech {
    /// Complete frames: lines with their line feeds, the text of one message, the output of a hook, keys for a terminal.
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
    /// What the codec calls it; comes back with the reply. Empty where the codec does not need to see the reply.
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
