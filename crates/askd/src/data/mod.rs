//! The data folder: where it is, who holds it, and the files in it.

mod folder;
mod lock;
mod missed;
mod secret_file;

pub use folder::{DataFolder, HubInfo};
pub use lock::{FolderLock, LockError};
pub use missed::{Missed, note_missed, read_missed};
pub use secret_file::{read_secret, write_secret};
