//! Finds the programs that `tests/agents/install` has installed.
//!
//! In: `ASKD_TEST_CACHE` (default: `.cache` in the repository) and the lock file of this checkout. Out: the
//! path of a program, or nothing.
//!
//! The folder is the one that holds the same lock file as this checkout, so a cache that another checkout
//! filled with other versions is not mistaken for ours.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[derive(Debug, thiserror::Error)]
#[error("find `{name}` in the cache of agents at {cache}: run tests/agents/install")]
pub struct CacheError {
    name: String,
    cache: PathBuf,
}

/// The path of an installed program: `claude`, `claude-2.0.76`, `claude-2.1.120`, `claude-2.1.328`,
/// `opencode`, `codex`, `claude-agent-acp`, `codex-acp` or `node`.
pub fn program(name: &str) -> Option<PathBuf> {
    let lock = fs::read(repository().join("tests/agents/package-lock.json")).ok()?;
    program_in(&cache(), &lock, name).ok().flatten()
}

/// The same, for a place that cannot go on without.
pub fn required(name: &str) -> Result<PathBuf, CacheError> {
    program(name).ok_or_else(|| CacheError { name: name.to_owned(), cache: cache() })
}

/// Whether the npm packages of this folder of the repository are installed.
pub fn has_packages(folder: &str) -> bool {
    repository().join(folder).join("node_modules").is_dir()
}

fn program_in(cache: &Path, lock: &[u8], name: &str) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(cache)? {
        let folder = entry?.path();
        // A folder under another name than its final one is still being filled.
        let is_done = folder.extension().is_none();
        if is_done && fs::read(folder.join("package-lock.json")).is_ok_and(|found| found == lock) {
            let path = folder.join("bin").join(name);
            return Ok(path.exists().then_some(path));
        }
    }
    Ok(None)
}

fn cache() -> PathBuf {
    env::var_os("ASKD_TEST_CACHE").map_or_else(|| repository().join(".cache"), PathBuf::from).join("agents")
}

fn repository() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path.pop();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_only_under_the_same_lock_file_and_when_complete() {
        let cache = tempfile::tempdir().unwrap();
        for (folder, lock) in [("aa", "old"), ("bb", "ours"), ("cc.partial", "next")] {
            let bin = cache.path().join(folder).join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("claude"), "").unwrap();
            fs::write(cache.path().join(folder).join("package-lock.json"), lock).unwrap();
        }
        let find = |lock: &str, name: &str| program_in(cache.path(), lock.as_bytes(), name).unwrap();
        assert_eq!(find("ours", "claude"), Some(cache.path().join("bb/bin/claude")));
        assert_eq!(find("ours", "codex"), None);
        assert_eq!(find("next", "claude"), None);
        assert_eq!(find("unknown", "claude"), None);
    }
}
