//! The data folder: where it is, who holds it, and the files in it.

mod claude_folders;
mod config;
mod folder;
mod lock;
mod missed;
mod on_the_port;
mod private;
mod real_path;
mod secret_file;
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
