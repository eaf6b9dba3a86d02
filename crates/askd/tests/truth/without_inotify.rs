//! A hub that gets no inotify instance, as where other programs have taken all that a user has.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// A program that is askd, whose hub gets no inotify instance, as where 128 Claudes have taken all.
pub fn without_inotify(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("askd");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = up ]; then\n  exec unshare --user --map-root-user sh -c \
         'echo 0 > /proc/sys/user/max_inotify_instances && exec \"$0\" \"$@\"' {askd} \"$@\"\nfi\nexec {askd} \"$@\"\n",
        askd = env!("CARGO_BIN_EXE_askd")
    );
    std::fs::write(&path, script)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(path)
}
