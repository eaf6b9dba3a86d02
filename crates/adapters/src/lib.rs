//! Ears and mouths: everything that askd knows about one agent is one folder here.
//!
//! In: what an agent writes, framed by a transport. Out: [`Heard`] values for the engine, and bytes or calls for the agent.
//! A codec has no IO, no clock and no async, so it can be fuzzed and replayed; only the transports touch the outside.
//! Nothing in this crate knows the store or HTTP routes of askd.

pub mod adapter;
pub mod agents;
pub mod capability;
pub mod codec;
pub mod descriptor;
pub mod heard;
mod here;
pub mod outside;
pub mod process_names;
pub mod recent;
pub mod registry;
pub mod splice;
pub mod transport;

pub use adapter::{Adapter, AdapterError, FoundProgram, Launch, LaunchRequest, Listening, ServerWay};
pub use capability::{Capability, CapabilityClaim, Claims, Level};
pub use codec::{Begin, ClientSays, Codec, KnownSession, Pending, Settlement, Start, Unspeakable};
pub use descriptor::{Claim, ClaimState, Descriptor, Road, RoadHere};
pub use heard::{Asked, Call, CallMethod, Heard, Speech, TurnEnd, Voice};
pub use registry::{AcpListing, AgentListing, Registry};
