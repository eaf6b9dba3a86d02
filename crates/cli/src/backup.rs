//! `askd backup`: a copy of the running hub's store in one file.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::exit::{Exit, Failure, Outcome};
use super::screen::{Screen, say};
use crate::client::Client;

#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The file of the copy, which must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// A file of askd backup
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

pub async fn backup(args: BackupArgs, client: &Client, screen: Screen) -> Outcome {
    let path = args.file;
    let cannot = |error| Failure::new(Exit::Error, format!("cannot write {}: {error}", path.display()));
    // For its owner only: it contains everything in the inbox.
    let file = File::options().write(true).create_new(true).mode(0o600).open(&path).map_err(cannot)?;
    let bytes = match fetch(client, file, &path).await {
        Ok(bytes) => bytes,
        Err(failure) => {
            // Part of a copy is none.
            drop(fs::remove_file(&path));
            return Err(failure);
        }
    };
    if screen.json {
        let (file, without) = (path.display().to_string(), "secret-key");
        return Ok(screen.json(&json!({ "file": file, "bytes": bytes, "without": without }))?);
    }
    say(
        "Not in it: the file secret-key of the data folder. Keep a copy of that file apart from this one: only both together give secret answers.",
    );
    Ok(screen
        .line(&format!("Wrote {} ({bytes} bytes): everything that was stored until now.", path.display()))?)
}

async fn fetch(client: &Client, mut file: File, path: &Path) -> Outcome<u64> {
    let cannot = |error| Failure::new(Exit::Error, format!("cannot write {}: {error}", path.display()));
    let mut download = client.backup().await?;
    let mut bytes = 0;
    while let Some(chunk) = download.chunk().await? {
        file.write_all(chunk.as_ref()).map_err(cannot)?;
        bytes += chunk.as_ref().len() as u64;
    }
    file.sync_all().map_err(cannot)?;
    Ok(bytes)
}
