//! The transcripts that may be read: those in a known config folder.
//!
//! In: a path from a hook. Out: the same file below a known folder, with that folder's links resolved, or
//! nothing. A path outside of these folders touches nothing on the disk, because any program with the right
//! `ask` can name any path.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::files::is_transcript;
use super::{LocalAgents, Observed};
use askd_data::{DataFolder, note_untold_folder, real_path, told_folders};

/// The transcripts' folder in a config folder.
pub(super) const PROJECTS: &str = "projects";
/// Unknown folders that one hub notes: hooks could name any number.
const MAX_UNTOLD: usize = 16;
/// Bytes of a noted folder's path: the longest that the system allows.
const MAX_PATH: usize = 4096;

/// The config folders of Claude Code with readable transcripts.
#[derive(Debug)]
pub struct ClaudeFolders {
    data: DataFolder,
    own: Vec<PathBuf>,
    /// Each folder with its links resolved, once: a later change of a link does not count.
    real: Mutex<HashMap<PathBuf, PathBuf>>,
    untold: Mutex<HashSet<PathBuf>>,
}

impl ClaudeFolders {
    /// `own` are the hub's own folder and the default one in the home; the user's list in the data folder may
    /// grow.
    pub fn new(own: Vec<PathBuf>, data: DataFolder) -> Self {
        let folders = Self { data, own, real: Mutex::default(), untold: Mutex::default() };
        folders.own.iter().for_each(|folder| drop(folders.real(folder)));
        folders
    }

    /// A known folder without its links.
    pub(super) fn real(&self, folder: &Path) -> PathBuf {
        let mut real = self.real.lock().unwrap_or_else(PoisonError::into_inner);
        let resolved = || real_path(folder).unwrap_or_else(|_| folder.to_owned());
        real.entry(folder.to_owned()).or_insert_with(resolved).clone()
    }

    /// All of them, without their links.
    pub(super) fn known(&self) -> Vec<PathBuf> {
        let told = told_folders(&self.data);
        let mut known: Vec<PathBuf> = Vec::new();
        for folder in self.own.iter().chain(&told).map(|folder| self.real(folder)) {
            if !known.contains(&folder) {
                known.push(folder);
            }
        }
        known
    }

    /// The transcript that a hook names, or its unknown config folder.
    fn find(&self, named: &str) -> Found {
        let path = Path::new(named);
        let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        let Some(config) = config_of(path).filter(|_| named.len() <= MAX_PATH) else { return Found::Nothing };
        if !path.components().all(is_plain) || named.contains('\0') {
            return Found::Nothing;
        }
        let told = told_folders(&self.data);
        for known in self.own.iter().chain(&told) {
            let real = self.real(known);
            if (config == known || config == real)
                && let Ok(below) = path.strip_prefix(config)
            {
                return Found::Transcript(real.join(below));
            }
        }
        Found::Untold(config.to_owned())
    }

    /// True the first time that this hub sees the folder as unknown.
    fn is_news(&self, folder: &Path) -> bool {
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        untold.len() < MAX_UNTOLD && untold.insert(folder.to_owned())
    }
}

enum Found {
    Transcript(PathBuf),
    Untold(PathBuf),
    Nothing,
}

/// The config folder of a path with the shape of a transcript: `CONFIG/projects/PROJECT/SESSION.jsonl`.
pub(super) fn config_of(path: &Path) -> Option<&Path> {
    let config = path.ancestors().nth(3).filter(|config| config.is_absolute())?;
    is_transcript(&config.join(PROJECTS), path).then_some(config)
}

impl LocalAgents {
    /// Sets the known config folders of Claude Code. Before that, no transcript is read.
    pub fn know_claude_folders(&self, folders: ClaudeFolders) {
        drop(self.inner.observed.folders.set(folders));
    }
}

impl Observed {
    /// The transcript that a hook names, if it may be read. Another folder is noted for `askd doctor`.
    pub(super) fn named_transcript(&self, named: &str) -> Option<PathBuf> {
        let folders = self.folders.get()?;
        let folder = match folders.find(named) {
            Found::Transcript(path) => return Some(path),
            Found::Untold(folder) if folders.is_news(&folder) => folder,
            Found::Untold(_) | Found::Nothing => return None,
        };
        tracing::warn!(
            folder = ?folder,
            "a hook names a transcript in a config folder that is not known; it is not read. If the folder is yours: askd install claude --config-dir FOLDER"
        );
        let data = folders.data.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = note_untold_folder(&data, &folder) {
                tracing::warn!(%error, "cannot note a config folder that is not known");
            }
        });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "projects/-w/3337aed3-e7c1-49cf-a370-4ff895702544.jsonl";

    #[test]
    fn only_a_transcript_below_a_known_folder_is_found_and_links_above_it_are_resolved() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap().join("real");
        std::fs::create_dir_all(real.join(".claude")).unwrap();
        let link = home.path().canonicalize().unwrap().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let data = DataFolder::at(home.path().join("data"));
        data.create().unwrap();
        let folders = ClaudeFolders::new(vec![link.join(".claude")], data.clone());
        let found = |config: &Path, file: &str| match folders.find(&config.join(file).display().to_string()) {
            Found::Transcript(path) => Some(path),
            Found::Untold(_) | Found::Nothing => None,
        };
        let wanted = Some(real.join(".claude").join(FILE));
        assert_eq!(found(&link.join(".claude"), FILE), wanted);
        assert_eq!(found(&real.join(".claude"), FILE), wanted);
        for file in [
            "projects/3337aed3-e7c1-49cf-a370-4ff895702544.jsonl",
            "projects/-w/x.jsonl",
            "projects/-w/../-w/3337aed3-e7c1-49cf-a370-4ff895702544.jsonl",
            "projects/../3337aed3-e7c1-49cf-a370-4ff895702544.jsonl",
            "sessions/-w/3337aed3-e7c1-49cf-a370-4ff895702544.jsonl",
        ] {
            assert_eq!(found(&link.join(".claude"), file), None, "{file}");
        }
        let other = home.path().join("other");
        assert_eq!(found(&other, FILE), None);
        assert!(matches!(folders.find(FILE), Found::Nothing), "a relative path");
        askd_data::tell_folder(&data, &other, true).unwrap();
        assert!(found(&other, FILE).is_some(), "its user has told of it");
    }
}
