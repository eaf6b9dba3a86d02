//! The hub: persist, wake, deliver. Every change of a question passes through here to the store.
//!
//! In: calls of the server and values of agents. Out: durable questions, woken waiters, answers for sources.
//! It consists of services: each receives what it uses in `new`, and none holds one that holds it. They learn
//! of each other's changes from the event log. [`Hub`] starts, holds and stops the services.
//!
//! Uses `askd-core`, `askd-wire`, `askd-data`, `askd-store`, `askd-holder` and `askd-agents`; it re-exports
//! the types of the store and of agents that the server shows. Never here: HTTP routes, statuses and
//! problems, the command line, or the meaning of a question, which `askd-core` decides.

mod access;
mod acp;
mod attached;
mod backups;
mod caller;
mod catalog;
mod clock;
mod connection_services;
mod deadlines;
mod error;
mod health;
mod housekeeping;
pub mod http_sse;
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

pub use askd_agents::AgentListing;
pub use askd_store::{
    LoggedEvent, Order, Piece, QuestionFilter, Store, StoreError, TokenRecord, TranscriptPage,
};
pub use askd_wire::api::HeldAgent;

pub use access::{Access, NewToken};
pub use acp::{AcpError, AcpServer, AcpServers, AcpStream, ClientCall, acp_event};
pub use attached::{
    AttachRequest, AttachedServers, Discovery, PluginCall, PluginHello, PluginMessage, PluginMessages,
    PluginReply, PluginStream,
};
pub use backups::Backups;
pub use caller::Caller;
pub use catalog::AgentCatalog;
use clock::{Alarm, at};
pub use clock::{new_bits, now};
pub use error::EngineError;
pub use health::Health;
pub use hub::{EngineSettings, Hub};
pub use log::{EventLog, LogFollower, LogNews};
pub use login_codes::LoginCode;
pub use managed::{Connections, ManagedSettings, StartError, StartRequest};
pub use observed::{ClaudeFolders, HookHeard, HookReport, HookWord, LocalAgents};
pub use outbox::{Carried, DeliveryTarget, DeliveryTargets, LateAnswers, Outbox, Said};
pub use questions::{AgentQuestion, Questions};
pub use sessions::Sessions;
pub use sources::{NewSource, Sources};
pub use tasks::Tasks;
pub use transcripts::{Transcript, Transcripts};

use outbox::Speller;
