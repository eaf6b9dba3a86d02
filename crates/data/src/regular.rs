//! Opens a file at a path of unknown origin, so that it can neither hang nor read anything but a regular file
//! of this user.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file of this process's own user for reading. A FIFO, a device, a folder, a link and
/// another user's file are an error; none of them is waited for, and the file is not handed on to programs
/// that are started.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    let refused = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !meta.is_file() {
        return refused("it is not a regular file");
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refused("it belongs to another user");
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        assert!(open_regular(&at("file")).is_ok());
        // Without O_NONBLOCK this would wait for a writer that never comes.
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RUSR).unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        for name in ["fifo", "link", "loop", ".", "absent"] {
            assert!(open_regular(&at(name)).is_err(), "{name}");
        }
        assert!(open_regular(Path::new("/dev/zero")).is_err());
    }
}
