//! Files that hold a secret: never readable by others, not even for a moment, and never half written.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes beside, syncs, then moves into place with mode 0600.
pub fn write_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    drop(fs::remove_file(&beside));
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)
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
