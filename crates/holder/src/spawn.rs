//! Starts a holder. In: a program that can be one (`askd`, with its subcommand `holder`) and a spec. Out: a
//! holder that answers its socket and whose agent runs, or soon the reason why not.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::Instant};

use super::{
    client::{AttachError, status},
    folder::{Folder, FolderError},
    spec::{HolderId, HolderSpec},
};
use crate::process::ProcessExit;

/// From the start of the process to its first answer; a loaded machine takes its time.
const SPAWN_PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two attempts to reach it.
const LOOK_AGAIN: Duration = Duration::from_millis(3);
/// Bytes of a failed holder's log in the error.
const MAX_LOG_BYTES: u64 = 4 * 1024;

/// A holder that this process started.
#[derive(Debug)]
pub struct HolderHandle {
    pub id: HolderId,
    pub folder: Folder,
    pub holder_pid: i32,
    pub agent_pid: i32,
}

#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("start the holder program: {0}")]
    Program(io::Error),
    #[error("start the agent: {0}")]
    Agent(String),
    #[error("start the holder: it {exit}{log}")]
    Ended { exit: ProcessExit, log: String },
    #[error("start the holder: it does not answer: {0}")]
    Silent(AttachError),
}

/// Starts `exe holder <spec>` as a process of its own: no terminal, nothing of our environment, nothing of
/// our streams.
pub async fn spawn(exe: &Path, spec: HolderSpec) -> Result<HolderHandle, SpawnError> {
    let folder = Folder::new(spec.folder.clone());
    if folder.is_alive()? {
        return Err(FolderError::Taken(spec.folder).into());
    }
    folder.check_unused()?;
    folder.create(&spec)?;
    let log = log_file(&folder).map_err(SpawnError::Program)?;
    let mut holder = Command::new(exe)
        .arg("holder")
        .arg(folder.spec())
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(SpawnError::Program)?;
    let give_up = Instant::now() + SPAWN_PATIENCE;
    let report = loop {
        let silent = match status(&folder).await {
            Ok(report) => break report,
            Err(error) => error,
        };
        if let Some(exit) = holder.try_wait().map_err(SpawnError::Program)? {
            if let Some(error) = folder.read_exit()?.and_then(|exit| exit.error) {
                return Err(SpawnError::Agent(error));
            }
            return Err(SpawnError::Ended { exit: exit.into(), log: tail_of(&folder) });
        }
        if Instant::now() >= give_up || !silent.nobody_there() {
            // It has no agent yet, or an unreachable one; the signal also ends that one.
            terminate(&holder);
            let _ = holder.wait().await;
            return Err(SpawnError::Silent(silent));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    };
    // This only prevents a zombie; the holder outlives this process.
    tokio::spawn(async move { holder.wait().await });
    Ok(HolderHandle { id: spec.id, folder, holder_pid: report.holder_pid, agent_pid: report.agent_pid })
}

fn terminate(holder: &tokio::process::Child) {
    let pid = holder.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

fn log_file(folder: &Folder) -> io::Result<File> {
    OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(folder.log())
}

fn tail_of(folder: &Folder) -> String {
    let mut log = String::new();
    let read = File::open(folder.log()).and_then(|file| file.take(MAX_LOG_BYTES).read_to_string(&mut log));
    match read {
        Ok(_) if !log.trim().is_empty() => format!(": {}", log.trim()),
        _ => String::new(),
    }
}
