//! The command line: the inbox for scripts and people. It goes through the public API like everybody else.
//!
//! In: arguments and what a person types. Out: results on stdout, everything else on stderr, an exit code.

mod answer;
mod args;
mod attach;
mod config;
pub mod conversation;
mod doctor;
mod doctor_claude;
mod doctor_folder;
mod ending;
mod exit;
mod form;
mod given;
mod hook;
mod ids;
mod inside_agent;
mod install;
mod install_opencode;
mod keystrokes;
mod list;
#[cfg(test)]
mod meant_tests;
mod open;
mod picks;
mod prompt;
mod reject;
mod render;
mod run;
mod run_agent;
#[cfg(test)]
mod samples;
mod screen;
mod show;
mod table;
mod terminal;
mod terminal_modes;
mod text;
mod tmux;
mod token;
pub mod up;
mod user_file;
mod watch;
mod when;

pub use run::main;
pub use text::{clean, one_line};
