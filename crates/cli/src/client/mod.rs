//! The client of the hub's public API, for the command line, the demo and tests.
//!
//! In: a hint to the hub ([`Where`]). Out: typed responses and errors, and a stream of events that survives
//! its connection. Nothing here prints or decides.

mod api;
mod discover;
mod error;
mod events;
mod http;
pub mod wire;

pub use api::{Filter, ListQuery};
pub use discover::{DEFAULT_URL, Found, Origin, Road, Where, discover};
pub use error::ClientError;
pub use events::{Events, Heard, RawEvent};
pub use http::{Client, Download, Received, SOCKET_URL, over_address, over_socket};
pub use wire::{CreatedToken, Health, LoginCode, Problem, QuestionList, TokenInfo, TokenList};
