//! The data folder of a hub and its user's programs: its place, its lock, and its small files.
//!
//! In: a path or the environment. Out: a checked folder, its lock, secrets, notes and sockets. Also
//! `regular`, for opening files at foreign paths, and `socket_path`, for sockets in long folders.
//!
//! It is a crate of its own because the holder, the hub, the server, the command line and the hook all need
//! it, and none of them may use another for it. Uses `askd-core` for times. Never here: a database, a
//! protocol, a task, or facts about one agent, except the list of folders that its user has named.

mod claude_folders;
mod config;
mod folder;
mod lock;
mod missed;
mod on_the_port;
mod private;
mod real_path;
pub mod regular;
mod secret_file;
pub mod socket_path;
mod way;

pub use claude_folders::{note_untold_folder, tell_folder, told_folders, untold_folders};
pub use config::{
    AgentCommand, Config, ConfigError, DEFAULT_PORT, Origin, Setting, parse_agent, parse_listen,
};
pub use folder::{DataFolder, HubInfo};
pub use lock::{FolderLock, LockError, lock_folder};
pub use missed::{Missed, note_missed, read_missed};
pub use on_the_port::{OnThePort, note_on_the_port, read_on_the_port};
pub use private::{Kind, NotPrivate, check};
pub use real_path::real_path;
pub use secret_file::{read_secret, sweep_beside, write_secret};
