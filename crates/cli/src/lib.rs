//! The command line as a library: the inbox for scripts and people, through the public API like every other
//! client.
//!
//! In: arguments and what a person types. Out: results on `stdout`, everything else on `stderr`, an exit
//! code. `client` is the client of the API: it finds the hub, speaks to it, and follows its events.
//!
//! Uses `askd-core` for what a question and an answer are, `askd-wire` for the API's other types, `askd-data`
//! to find the hub. Never here: the hub, the store, the knowledge of an agent. The grammar of the program,
//! and the commands that need one of these, are in the binary `askd`, which gives what is needed here
//! ([`inside_agent::Guard`]).

pub mod answer;
pub mod attach;
pub mod backup;
pub mod client;
pub mod conversation;
pub mod ending;
pub mod exit;
mod form;
mod given;
pub mod ids;
pub mod inside_agent;
mod keystrokes;
pub mod list;
#[cfg(test)]
mod meant_tests;
pub mod open;
mod picks;
mod prompt;
pub mod reject;
mod render;
pub mod run_agent;
#[cfg(test)]
mod samples;
pub mod screen;
pub mod show;
pub mod table;
pub mod terminal;
mod terminal_modes;
pub mod text;
pub mod tmux;
pub mod token;
pub mod watch;
pub mod when;

pub use text::{clean, one_line};
