//! `askd restore`: a backup into an empty data folder.

use std::path::Path;

use anyhow::{Context, ensure};

use askd_data::{DataFolder, FolderLock};

/// The folder of the restored store.
pub fn restore(file: &Path, data: Option<DataFolder>) -> anyhow::Result<DataFolder> {
    let data = match data {
        Some(data) => data,
        None => DataFolder::from_environment().context("there is no data folder; give one with --data")?,
    };
    data.create()?;
    let folder = data.path().display().to_string();
    let lock = data.lock();
    let mut entries = std::fs::read_dir(data.path()).with_context(|| format!("cannot read {folder}"))?;
    ensure!(
        // A refused attempt has left its lock.
        entries.all(|entry| entry.is_ok_and(|entry| entry.path() == lock)),
        "the data folder {folder} is not empty; restore into an empty one: askd restore FILE --data DIR"
    );
    let _lock = FolderLock::take(&data)?;
    askd_store::sqlite::restore(file, &data.database())
        .with_context(|| format!("cannot restore {}", file.display()))?;
    Ok(data)
}
