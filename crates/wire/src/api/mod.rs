//! Types of the HTTP API beyond `askd-core`, for the hub and its clients.

mod processes;

pub use processes::HeldAgent;
