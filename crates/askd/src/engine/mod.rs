//! The hub: persist, wake, deliver. Everything that changes a question goes through here, and from here to the
//! store.
//!
//! In: calls of `http` and values of adapters. Out: questions after they are durable, callers that are woken,
//! answers handed to sources. It is services: each is given everything that it uses in `new`, and none holds one
//! that holds it. A service that must hear of a change of another follows the log. [`Hub`] starts the services,
//! holds them and stops them.

mod access;
mod acp;
mod attached;
mod caller;
mod catalog;
mod clock;
mod connection_services;
mod deadlines;
mod error;
mod health;
mod housekeeping;
mod hub;
mod log;
mod login_codes;
mod managed;
mod observed;
mod outbox;
mod questions;
mod session_names;
mod sessions;
mod sources;
mod tasks;
mod transcripts;
mod versions;

pub use access::{Access, NewToken};
pub use acp::{AcpError, AcpServer, AcpServers, AcpStream, ClientCall, acp_event};
pub use attached::{
    AttachRequest, AttachedServers, Discovery, PluginCall, PluginHello, PluginMessage, PluginMessages,
    PluginReply, PluginStream,
};
pub use caller::Caller;
pub use catalog::AgentCatalog;
use clock::{Alarm, at};
pub use clock::{new_bits, now};
pub use error::EngineError;
pub use health::Health;
pub use hub::{EngineSettings, Hub};
pub use log::{EventLog, LogFollower, LogNews};
pub use login_codes::LoginCode;
pub use managed::{Connections, HeldAgent, ManagedSettings, StartError, StartRequest};
pub use observed::{ClaudeFolders, HookHeard, HookReport, HookWord, LocalAgents};
pub use outbox::{Carried, DeliveryTarget, DeliveryTargets, LateAnswers, Outbox, Said};
pub use questions::{AgentQuestion, Questions};
pub use sessions::Sessions;
pub use sources::{NewSource, Sources};
pub use tasks::Tasks;
pub use transcripts::{Transcript, Transcripts};

use outbox::Speller;
