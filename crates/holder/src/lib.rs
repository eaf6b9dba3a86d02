//! The holder: a small process between the hub and one managed agent, so that a restart of the hub ends no agent.
//!
//! `spec` and `folder` say what is started and where it lives, `protocol` what both sides say. `serve` is the holder
//! process: it waits, `holding` reacts, with its parts `agent`, `backlog`, `spill`, `journal`, `stdin`, `stderr`, `link`. `spawn`,
//! `client` and `find` are the hub's side.
//!
//! ```text
//!  hub (tokio) == Unix socket, frames ==> holder (one thread, poll) == `stdin`, `stdout`, `stderr` ==> agent (own group)
//!                                          |- buffer/   lines that the hub has not acknowledged, where memory may not keep them
//!                                          |- journal   deliveries: begun, done
//!                                          '- exit.json how the agent ended
//! ```
//!
//! The holder process has no async runtime; the hub's side (`client`, `spawn`) is the cargo feature `client`. Uses `askd-wire` for
//! lines and `askd-data` for socket paths. Never here: what a line of an agent means, the store, HTTP, the name of an agent.

mod agent;
mod backlog;
#[cfg(feature = "client")]
mod client;
mod find;
mod folder;
mod holding;
mod journal;
mod link;
pub mod process;
pub mod protocol;
mod serve;
#[cfg(feature = "client")]
mod spawn;
mod spec;
mod spill;
mod stderr;
mod stdin;

#[cfg(feature = "client")]
pub use client::{
    AttachError, Attached, CommandError, EndOfConnection, HolderConnection, HolderEvent, HolderEvents,
    attach, status,
};
pub use find::{FindError, HolderFound, Leftover, end_leftover, forget, leftover, list, look, probe_offline};
pub use folder::{ExitRecord, ExitWhy, Folder, FolderError, Running};
pub use journal::{Completed, Journaled};
pub use serve::{HolderError, run};
#[cfg(feature = "client")]
pub use spawn::{HolderHandle, SpawnError, spawn};
pub use spec::{HolderId, HolderLimits, HolderSpec, SESSION_VARIABLE, SpecError, TOKEN_VARIABLE};
