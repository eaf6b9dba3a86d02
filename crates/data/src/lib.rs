//! The data folder that a hub and the programs of its user share: where it is, who holds it, and the small
//! files in it.
//!
//! In: a path or the environment. Out: a folder that was looked at before it is used, its lock, secrets,
//! notes and sockets. Beside it what else opens files that another program has chosen: `regular`, and
//! `socket_path` for sockets in long folders.
//!
//! It is a crate of its own because the holder, the hub, the server, the command line and the hook all need
//! it, and none of them may use another for it. Uses `askd-core` for times. Never here: a database, a
//! protocol, a task, anything about one agent but the list of folders that its user has told askd of.

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
