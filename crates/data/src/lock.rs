//! One hub per data folder, and one writer at a time of the files of a folder: advisory locks that die with
//! their process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::{DataFolder, HubInfo};

/// A change of a file takes milliseconds; a folder that stays locked for this long belongs to a program that
/// hangs.
const LOCK_WITHIN: Duration = Duration::from_secs(10);
const LOCK_EVERY: Duration = Duration::from_millis(5);

/// One askd at a time changes the files of a folder, as long as it holds the value. `None`: the folder cannot
/// be locked, for example because its file system has no locks; two changes at once are then the user's own
/// doing.
pub fn lock_folder(folder: &Path) -> io::Result<Option<File>> {
    let Ok(file) = File::open(folder) else { return Ok(None) };
    let end = Instant::now() + LOCK_WITHIN;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if Instant::now() < end => {
                thread::sleep(LOCK_EVERY);
            }
            Err(errno @ (rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR)) => {
                return Err(errno.into());
            }
            Err(_) => return Ok(None),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another hub has the data folder {folder}{}", .holder.as_ref().map_or(String::new(), |hub| format!(": process {} at {}", hub.pid, hub.url)))]
    Held { folder: String, holder: Option<HubInfo> },
    #[error("cannot lock the data folder {folder}")]
    Io { folder: String, source: io::Error },
}

/// Held as long as the value lives.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    pub fn take(folder: &DataFolder) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { folder: folder.path().display().to_string(), source };
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(folder.lock());
        let file = file.map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(LockError::Held {
                folder: folder.path().display().to_string(),
                holder: folder.read_hub_info(),
            }),
            Err(errno) => Err(failed(errno.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_hub_is_refused_and_told_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::at(dir.path());
        let first = FolderLock::take(&folder).unwrap();
        let info = HubInfo { url: "http://127.0.0.1:2753".to_owned(), pid: 7, version: "0".to_owned() };
        folder.write_hub_info(&info).unwrap();
        let refused = FolderLock::take(&folder).unwrap_err().to_string();
        assert!(refused.ends_with(": process 7 at http://127.0.0.1:2753"), "{refused}");
        drop(first);
        FolderLock::take(&folder).unwrap();
    }
}
