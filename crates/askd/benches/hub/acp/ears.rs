//! Hears what an agent hears: a named pipe that its launcher copies the agent's standard input into.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe::{OpenOptions, Receiver};

use crate::Result;

pub struct Ears {
    path: PathBuf,
    lines: Lines<BufReader<Receiver>>,
    _folder: TempDir,
}

impl Ears {
    pub fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("heard");
        if !Command::new("mkfifo").arg(&path).status()?.success() {
            return Err("cannot make a named pipe".into());
        }
        // Opened for writing as well, so that it never ends.
        let pipe = OpenOptions::new().read_write(true).open_receiver(&path)?;
        Ok(Self { path, lines: BufReader::new(pipe).lines(), _folder: folder })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When the agent has heard an answer.
    pub async fn answer(&mut self) -> Result<Instant> {
        loop {
            let line = self.lines.next_line().await?.ok_or("the pipe ended")?;
            if line.contains("\"answered\"") {
                return Ok(Instant::now());
            }
        }
    }
}
