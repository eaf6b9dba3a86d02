//! A file that a user wrote by hand: read, and replaced whole, by its owner, or not at all.
//!
//! In: a path and a new text. Out: the file with that text, with the owner, mode, ACL and attributes that it
//! had, or a sentence why not. The new text is written beside the file, for its owner's eyes only, and
//! renamed into place. A link stays a link: its target is replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, OFlags};

use super::attributes::Attributes;
use askd_cli::exit::{Exit, Failure, Outcome};
use askd_data::{lock_folder, real_path};

/// Settings and plugins are far below; a larger file is not one that askd should hold in memory.
const MAX_BYTES: u64 = 16 << 20;
/// The file of the new text before it is in place. One name, so that the next run finds a killed run's file;
/// the folder's lock ensures that no live run uses it.
const BESIDE: &str = ".askd-new";
/// Attempts to read a file that another program changes meanwhile.
pub(super) const TRIES: usize = 20;

/// A file, as it was when it was read.
#[derive(Debug)]
pub(super) struct UserFile {
    path: PathBuf,
    /// `None`: there is no file.
    seen: Option<Seen>,
}

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    bytes: Vec<u8>,
    device: u64,
    number: u64,
    names: u64,
    owner: u32,
    group: u32,
    mode: u32,
    attributes: Attributes,
}

impl UserFile {
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let path = real_path(path).map_err(|error| failed("follow the links of", path, &error))?;
        let seen = Seen::read(&path)?;
        Ok(Self { path, seen })
    }

    /// Its path, without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn text(&self) -> Outcome<Option<&str>> {
        let Some(seen) = &self.seen else { return Ok(None) };
        let text = str::from_utf8(&seen.bytes);
        text.map(Some).map_err(|_| refused(&self.path, "it is not UTF-8; save it as UTF-8 and try again"))
    }

    /// Checks that it may be replaced.
    pub(super) fn check(&self) -> Outcome {
        let Some(seen) = &self.seen else { return Ok(()) };
        if seen.owner != rustix::process::geteuid().as_raw() {
            return Err(refused(
                &self.path,
                &format!("it belongs to the user {}; run this command as that user", seen.owner),
            ));
        }
        if seen.mode & 0o200 == 0 {
            let why =
                format!("it may not be written (mode {:o}); if askd is to change it: chmod u+w", seen.mode);
            return Err(refused(&self.path, &why));
        }
        if seen.names > 1 {
            let why = format!("it has {} names (hard links), which a new file would part", seen.names);
            return Err(refused(&self.path, &why));
        }
        Ok(())
    }

    /// The missing folders of a new file, the outermost first.
    pub(super) fn missing_folders(&self) -> Vec<PathBuf> {
        let folders = self.path.parent().into_iter().flat_map(Path::ancestors);
        let mut missing: Vec<PathBuf> =
            folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    /// Removes a killed run's file beside it.
    pub(super) fn sweep(&self) -> Outcome {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let beside = folder.join(BESIDE);
        if fs::symlink_metadata(&beside).is_err() {
            return Ok(());
        }
        let _lock = lock(folder)?;
        remove(&beside).map_err(|error| failed("remove", &beside, &error))
    }

    /// Puts the text in its place; `None` removes the file. `false`: it has changed since it was read, and
    /// nothing was done.
    pub(super) fn replace(&self, text: Option<&str>) -> Outcome<bool> {
        self.check()?;
        let missing = if text.is_some() { self.missing_folders() } else { Vec::new() };
        let replaced = self.replace_checked(text);
        if !matches!(replaced, Ok(true)) {
            // Nothing was done, so no empty folder stays either.
            missing.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
        }
        replaced
    }

    fn replace_checked(&self, text: Option<&str>) -> Outcome<bool> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let cannot = |error: io::Error| failed("write", &self.path, &error);
        if text.is_some() {
            fs::create_dir_all(folder).map_err(cannot)?;
        }
        let _lock = lock(folder)?;
        let beside = folder.join(BESIDE);
        remove(&beside).map_err(cannot)?;
        let made = match text {
            Some(text) => Some(self.make(Beside(Some(beside)), text).map_err(cannot)?),
            None => None,
        };
        // Looked at again as late as can be: what another program has written meanwhile is not lost.
        if Seen::read(&self.path)? != self.seen {
            return Ok(false);
        }
        match made {
            Some(made) => made.into_place(&self.path).map_err(cannot)?,
            None if self.seen.is_none() => {}
            None => fs::remove_file(&self.path).map_err(|error| failed("remove", &self.path, &error))?,
        }
        // The name becomes as durable as the content, if the file system can do that.
        drop(File::open(folder).and_then(|folder| folder.sync_all()));
        Ok(true)
    }

    /// The new file, with the owner, group, mode and attributes of the old one.
    fn make(&self, beside: Beside, text: &str) -> io::Result<Beside> {
        let Some(path) = &beside.0 else { return Ok(beside) };
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
        if let Some(seen) = &self.seen {
            if file.metadata()?.gid() != seen.group {
                rustix::fs::fchown(&file, None, Some(Gid::from_raw(seen.group)))?;
            }
            // This comes before the mode: until then an ACL of the folder grants nothing.
            seen.attributes.give(&file)?;
            file.set_permissions(fs::Permissions::from_mode(seen.mode))?;
        }
        file.sync_all()?;
        Ok(beside)
    }
}

impl Seen {
    fn read(path: &Path) -> Outcome<Option<Self>> {
        let cannot = |error: &io::Error| failed("read", path, error);
        // Without waiting for the other end of a FIFO, and only what is a file after all is read.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        if let Ok(meta) = fs::metadata(path)
            && !meta.is_file()
        {
            return Err(refused(path, &format!("it is {}, not a file", kind(&meta))));
        }
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot(&error)),
        };
        let meta = file.metadata().map_err(|error| cannot(&error))?;
        if !meta.is_file() {
            return Err(refused(path, &format!("it is {}, not a file", kind(&meta))));
        }
        let attributes = Attributes::read(&file).map_err(|error| cannot(&error))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(refused(path, &format!("it is larger than {} MiB", MAX_BYTES >> 20)));
        }
        Ok(Some(Self {
            bytes,
            device: meta.dev(),
            number: meta.ino(),
            names: meta.nlink(),
            owner: meta.uid(),
            group: meta.gid(),
            mode: meta.mode() & 0o7777,
            attributes,
        }))
    }
}

fn kind(meta: &fs::Metadata) -> &'static str {
    let kind = meta.file_type();
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// The new text beside the file. It goes away with this value unless it was moved into place.
#[derive(Debug)]
struct Beside(Option<PathBuf>);

impl Beside {
    fn into_place(mut self, path: &Path) -> io::Result<()> {
        if let Some(beside) = &self.0 {
            fs::rename(beside, path)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            drop(fs::remove_file(path));
        }
    }
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn lock(folder: &Path) -> Outcome<Option<File>> {
    lock_folder(folder)
        .map_err(|_| refused(folder, "another program holds its lock; try again when that has ended"))
}

pub(super) fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Error, format!("cannot {what} {}: {error}; it is as it was", path.display()))
}

pub(super) fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::Error, format!("{}: {why}; nothing was changed", path.display()))
}

/// After [`TRIES`] readings.
pub(super) fn busy(path: &Path) -> Failure {
    refused(path, "another program changes it all the time; try again when that has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_since_it_was_read_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let changes: [fn(&Path); 4] = [
            |path| fs::write(path, "b").unwrap(),
            |path| {
                fs::write(path.with_extension("new"), "a").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            },
            |path| fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap(),
            |path| fs::remove_file(path).unwrap(),
        ];
        for change in changes {
            for text in [Some("ours"), None] {
                drop(fs::remove_file(&path));
                fs::write(&path, "a").unwrap();
                let file = UserFile::read(&path).unwrap();
                change(&path);
                let now = fs::read(&path).ok();
                assert!(!file.replace(text).unwrap());
                assert_eq!(fs::read(&path).ok(), now);
                let file = UserFile::read(&path).unwrap();
                assert!(file.replace(text).unwrap());
                assert_eq!(fs::read_to_string(&path).ok().as_deref(), text);
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), usize::from(text.is_some()));
            }
        }
        // And one that came while there was none.
        drop(fs::remove_file(&path));
        let file = UserFile::read(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(!file.replace(Some("ours")).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }
}
