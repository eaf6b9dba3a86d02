//! Config folders of Claude Code beside the hub's own: those that the user has told askd of, and those that
//! hooks have named and that the user has not.
//!
//! In: `askd install claude` adds and removes folders of the first list, the hub adds to the second. Out:
//! both, for the hub and for `askd doctor`. What is no list of ours reads as an empty one.

use std::io;
use std::path::{Path, PathBuf};

use super::{DataFolder, lock_folder, sweep_beside, write_secret};

/// Folders of one list: a person has a few. The second list is written at the word of hooks, so it must stay
/// small.
const MAX_FOLDERS: usize = 16;

/// The folders that the user has named.
pub fn told_folders(data: &DataFolder) -> Vec<PathBuf> {
    read(&data.claude_folders())
}

/// Tells askd of a folder, or makes it forget the folder.
pub fn tell_folder(data: &DataFolder, folder: &Path, is_known: bool) -> io::Result<()> {
    let _lock = lock_folder(data.path())?;
    sweep_beside(&data.claude_folders());
    if is_known {
        add(&data.claude_folders(), folder)?
    } else {
        remove(&data.claude_folders(), folder)?
    }
    remove(&data.claude_folders_untold(), folder)
}

/// The folders that hooks have named and the user has not.
pub fn untold_folders(data: &DataFolder) -> Vec<PathBuf> {
    let told = told_folders(data);
    read(&data.claude_folders_untold()).into_iter().filter(|folder| !told.contains(folder)).collect()
}

pub fn note_untold_folder(data: &DataFolder, folder: &Path) -> io::Result<()> {
    let _lock = lock_folder(data.path())?;
    sweep_beside(&data.claude_folders_untold());
    add(&data.claude_folders_untold(), folder)
}

fn read(path: &Path) -> Vec<PathBuf> {
    let list = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    list.unwrap_or_default()
}

/// The oldest folder makes room for a new one.
fn add(path: &Path, folder: &Path) -> io::Result<()> {
    let mut list = read(path);
    if list.iter().any(|known| known == folder) {
        return Ok(());
    }
    list.push(folder.to_owned());
    let surplus = list.len().saturating_sub(MAX_FOLDERS);
    write_secret(path, serde_json::to_string(&list[surplus..])?.as_bytes())
}

fn remove(path: &Path, folder: &Path) -> io::Result<()> {
    let (before, mut list) = (path.exists(), read(path));
    list.retain(|known| known != folder);
    match list.is_empty() {
        true if before => std::fs::remove_file(path),
        true => Ok(()),
        false => write_secret(path, serde_json::to_string(&list)?.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_untold_until_the_user_tells_of_it_and_the_lists_stay_small() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::at(folder.path());
        let (one, two) = (Path::new("/one/.claude"), Path::new("/two/.claude"));
        note_untold_folder(&data, one).unwrap();
        note_untold_folder(&data, two).unwrap();
        tell_folder(&data, one, true).unwrap();
        tell_folder(&data, one, true).unwrap();
        assert_eq!(
            (told_folders(&data), untold_folders(&data)),
            (vec![one.to_owned()], vec![two.to_owned()])
        );
        tell_folder(&data, one, false).unwrap();
        tell_folder(&data, two, false).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
        for n in 0..MAX_FOLDERS + 5 {
            note_untold_folder(&data, &PathBuf::from(format!("/{n}"))).unwrap();
        }
        assert_eq!(untold_folders(&data).len(), MAX_FOLDERS);
        assert_eq!(untold_folders(&data)[0], Path::new("/5"));
    }
}
