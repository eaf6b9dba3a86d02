//! Everything about single agents: a folder for each, and one line in [`registry`].
//!
//! In: an agent's bytes, framed by a link. Out: [`Heard`] values for the hub, and bytes or calls for the
//! agent. An [`Adapter`] finds and starts an agent; its [`Codec`] is the pure half, without IO, clock or
//! async, so that tests can fuzz and replay it. `tail` and `tmux` read and answer agents that their user
//! started.
//!
//! Uses `askd-core`, `askd-wire`, `askd-data` and `askd-holder` (facts about processes). Never here: the
//! store, SQL, a route of the API, the hub's tasks, or a rule for every agent, which belongs to `askd-core`.
//! Nothing outside of this crate compares an agent's name.

pub mod acp;
pub mod adapter;
pub mod capability;
pub mod claude;
pub mod claude_hook;
pub mod claude_keys;
pub mod codec;
pub mod descriptor;
pub mod heard;
mod here;
pub mod mock;
mod open_requests;
pub mod opencode;
pub mod opencode_acp;
pub mod outside;
pub mod process_names;
pub mod recent;
pub mod registry;
pub mod tail;
pub mod tmux;
mod unbuilt;

pub use adapter::{Adapter, AdapterError, FoundProgram, Launch, LaunchRequest, Listening, ServerWay};
pub use capability::{Capability, CapabilityClaim, Claims, Level};
pub use codec::{Begin, ClientSays, Codec, KnownSession, Pending, Settlement, Start, Unspeakable};
pub use descriptor::{Claim, ClaimState, Descriptor, Road, RoadHere};
pub use heard::{Asked, Call, CallMethod, Heard, Speech, TurnEnd, Voice};
pub use registry::{AcpListing, AgentListing, Registry};
