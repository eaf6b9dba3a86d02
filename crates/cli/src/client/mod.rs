//! The client of the hub's public API: what the command line, the demo and tests use. There is no private door.
//!
//! In: where the hub may be ([`Where`]). Out: typed answers and typed errors, and a stream of events that survives the
//! connection. Nothing here prints or decides.

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
