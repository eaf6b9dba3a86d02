//! A path to a socket that fits into a socket address, whatever the length of its folder's name.
//!
//! In: a folder and the socket's name in it. Out: the plain path where it fits, else the folder's handle as a
//! short name for it.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// `sun_path` holds 108 bytes on Linux and 104 on macOS, the final NUL included.
pub const MAX_SOCKET_PATH_BYTES: usize = 103;

/// A path that can be bound or connected to while this value lives.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// The handle behind the short name.
    _folder: Option<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum SocketPathError {
    #[error("open {path}: {source}")]
    Folder { path: PathBuf, source: io::Error },
    #[error(
        "reach the socket {path}: it has {bytes} bytes of the {MAX_SOCKET_PATH_BYTES} that a socket path may have; use a shorter data folder"
    )]
    TooLong { path: PathBuf, bytes: usize },
}

impl SocketPath {
    pub fn of(folder: &Path, name: &str) -> Result<Self, SocketPathError> {
        let path = folder.join(name);
        let bytes = path.as_os_str().len();
        if bytes <= MAX_SOCKET_PATH_BYTES {
            return Ok(Self { path, _folder: None });
        }
        // A handle on the folder gives it a short name.
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd as _;
            let handle = File::open(folder)
                .map_err(|source| SocketPathError::Folder { path: folder.to_owned(), source })?;
            let short = PathBuf::from(format!("/proc/self/fd/{}/{name}", handle.as_raw_fd()));
            if Path::new("/proc/self/fd").exists() {
                return Ok(Self { path: short, _folder: Some(handle) });
            }
        }
        Err(SocketPathError::TooLong { path, bytes })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
