//! Types of the HTTP API that `askd-core` does not have, for the hub that writes them and the clients that
//! read them.

mod processes;

pub use processes::HeldAgent;
