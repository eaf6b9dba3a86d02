//! The askd program: joins the hub, the server, the command line and what is known of each agent. End-to-end
//! tests and benchmarks are beside it, because they run this program.
//!
//! `dispatch` goes from arguments to an exit code; `house` puts a hub together from data folder, store, hub
//! and server; the commands that need an agent's own files or processes (`install`, `hook`, `doctor`) are
//! here, all others in `askd-cli`. Uses every crate. Never here: a rule about questions, a route, a protocol.

mod args;
mod attributes;
mod config;
mod dispatch;
mod doctor;
mod doctor_claude;
mod doctor_folder;
mod hook;
mod house;
mod install;
mod install_opencode;
mod up_options;
mod user_file;

use std::process::ExitCode;

/// The store's thread often frees memory of the workers, and the reverse: glibc makes them wait for each
/// other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    dispatch::main()
}
