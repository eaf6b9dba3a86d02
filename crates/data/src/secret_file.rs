//! Files that hold a secret: never readable by others, not even for a moment, and never half written.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The extension of a secret that is not yet in place; the id of its writer follows.
const BESIDE: &str = "new-";

/// Removes what killed writers of a secret have left beside it. All writers of this file, and the caller,
/// hold the lock of the folder: no living writer uses it.
pub fn sweep_beside(path: &Path) {
    let Some((folder, stem)) = path.parent().zip(path.file_stem()) else { return };
    let is_left = |left: &Path| {
        let extension = left.extension().and_then(OsStr::to_str).unwrap_or_default();
        left.file_stem() == Some(stem) && extension.starts_with(BESIDE)
    };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for left in entries.flatten().map(|entry| entry.path()).filter(|left| is_left(left)) {
        drop(fs::remove_file(left));
    }
}

/// Writes beside, syncs, then moves into place with mode 0600.
pub fn write_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension(format!("{BESIDE}{}", std::process::id()));
    drop(fs::remove_file(&beside));
    let write = || {
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    // On a full disk half a secret would stay.
    write().inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// The trimmed text of a secret file, or `None` if there is none.
pub fn read_secret(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        assert_eq!(read_secret(&path).unwrap(), None);
        write_secret(&path, b"one\n").unwrap();
        write_secret(&path, b"two\n").unwrap();
        assert_eq!(read_secret(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
