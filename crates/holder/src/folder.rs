//! The folder of a holder: names and modes of its files, and the small records in them.
//!
//! In: `DATA/holders/<id>`. Out: paths, the spec, the running process (`pid`, locked while the holder lives),
//! its end (`exit.json`), and a socket address that works although the path may be longer than the kernel
//! allows.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::spec::{HolderId, HolderSpec, SpecError};
use crate::process::ProcessExit;
use askd_data::socket_path::{SocketPath, SocketPathError};

const SOCKET_NAME: &str = "sock";
/// The records are written by us; a bigger one is not ours.
const MAX_RECORD_BYTES: u64 = 4 * 1024 * 1024;
/// Only the owner: the spec may hold secrets, the socket speaks to the agent.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// The running processes, for `askd doctor` and for the rest of a killed holder. Pid and start time together
/// are an identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    pub holder_pid: i32,
    pub agent_pid: i32,
    pub agent_start_time: Option<u64>,
    /// A number from before a restart of the machine says nothing.
    pub boot_id: Option<String>,
}

/// Why the agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExitWhy {
    /// By itself, or by a signal from elsewhere.
    Itself,
    /// The hub said `End`.
    Hub,
    /// The holder was asked to end by a signal.
    HolderSignal,
    /// No hub and no open question for too long.
    Linger,
    /// It never ran.
    NotStarted,
}

/// How the agent ended, as it is kept in `exit.json` and told to the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitRecord {
    #[serde(flatten)]
    pub exit: ProcessExit,
    pub why: ExitWhy,
    /// Why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub stderr_tail: Vec<String>,
    /// Milliseconds since 1970.
    pub at_ms: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("read {path}: {reason}")]
    Record { path: PathBuf, reason: String },
    #[error("use the holder folder {path}: {source}")]
    Spec { path: PathBuf, source: SpecError },
    #[error("use the holder folder {0}: another holder lives in it")]
    Taken(PathBuf),
    #[error("use the holder folder {0}: a holder has lived in it; forget it first")]
    Used(PathBuf),
    #[error(transparent)]
    SocketPath(#[from] SocketPathError),
}

/// One holder's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder of this holder in a data folder.
    pub fn in_data(data: &Path, id: &HolderId) -> Self {
        Self(Self::all_in(data).join(id.as_str()))
    }

    /// The folder of all holders' folders.
    pub fn all_in(data: &Path) -> PathBuf {
        data.join("holders")
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn spec(&self) -> PathBuf {
        self.0.join("spec.json")
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join(SOCKET_NAME)
    }

    pub fn buffer(&self) -> PathBuf {
        self.0.join("buffer")
    }

    pub fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    pub fn stderr(&self) -> PathBuf {
        self.0.join("stderr")
    }

    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    fn exit(&self) -> PathBuf {
        self.0.join("exit.json")
    }

    fn pid(&self) -> PathBuf {
        self.0.join("pid")
    }

    /// Makes the folder and writes the spec into it.
    pub fn create(&self, spec: &HolderSpec) -> Result<(), FolderError> {
        spec.check().map_err(|source| FolderError::Spec { path: self.0.clone(), source })?;
        let buffer = self.buffer();
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(&buffer)
            .map_err(io_at("make", &buffer))?;
        self.write_record(&self.spec(), spec)
    }

    pub fn read_spec(&self) -> Result<HolderSpec, FolderError> {
        let path = self.spec();
        let spec: HolderSpec = read_record(&path)?
            .ok_or_else(|| FolderError::Record { path: path.clone(), reason: "no such file".to_owned() })?;
        spec.check().map_err(|source| FolderError::Spec { path: self.0.clone(), source })?;
        Ok(spec)
    }

    pub fn write_exit(&self, exit: &ExitRecord) -> Result<(), FolderError> {
        self.write_record(&self.exit(), exit)
    }

    /// `None`: the agent runs, or the holder was killed.
    pub fn read_exit(&self) -> Result<Option<ExitRecord>, FolderError> {
        read_record(&self.exit())
    }

    pub fn read_running(&self) -> Result<Option<Running>, FolderError> {
        // Written by one write into an open file: an empty one means that the agent is not started yet.
        match fs::metadata(self.pid()) {
            Ok(meta) if meta.len() == 0 => Ok(None),
            _ => read_record(&self.pid()),
        }
    }

    /// Takes the folder for this process: the owner of the lock is the holder. `Ok(None)` if another process
    /// has it.
    pub(super) fn lock(&self) -> Result<Option<Lock>, FolderError> {
        let path = self.pid();
        let file = options().open(&path).map_err(io_at("open", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock { file, path })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(source) => Err(io_at("lock", &path)(source.into())),
        }
    }

    /// True if a holder lives in the folder.
    pub fn is_alive(&self) -> Result<bool, FolderError> {
        let path = self.pid();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(io_at("open", &path)(source)),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
            Err(source) => Err(io_at("lock", &path)(source.into())),
        }
    }

    /// A folder is for one agent's life: lines and deliveries of another must not be taken for its own.
    pub(super) fn check_unused(&self) -> Result<(), FolderError> {
        if self.read_running()?.is_some() || self.read_exit()?.is_some() {
            return Err(FolderError::Used(self.0.clone()));
        }
        Ok(())
    }

    /// Calls `with` with a path to the socket that fits a socket address.
    pub fn with_socket_path<T>(&self, with: impl FnOnce(&Path) -> T) -> Result<T, FolderError> {
        Ok(with(SocketPath::of(&self.0, SOCKET_NAME)?.path()))
    }

    /// Whole or not at all: written beside and renamed.
    fn write_record<T: Serialize>(&self, path: &Path, record: &T) -> Result<(), FolderError> {
        let bytes = serde_json::to_vec_pretty(record)
            .map_err(|error| FolderError::Record { path: path.to_owned(), reason: error.to_string() })?;
        let beside = path.with_extension("new");
        let written = options().truncate(true).open(&beside).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&beside, path)).map_err(io_at("write", path))
    }
}

/// The proof that this process is the holder of the folder; it ends with the process.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    pub(super) fn write(&mut self, running: &Running) -> Result<(), FolderError> {
        let reason = |error: serde_json::Error| FolderError::Record {
            path: self.path.clone(),
            reason: error.to_string(),
        };
        let bytes = serde_json::to_vec(running).map_err(reason)?;
        self.file.set_len(0).and_then(|()| self.file.write_all(&bytes)).map_err(io_at("write", &self.path))
    }
}

/// The identity of this start of the machine, if the kernel has one.
pub(super) fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
    options
}

pub(super) fn io_at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    move |source| FolderError::Io { action, path: path.to_owned(), source }
}

fn read_record<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, FolderError> {
    let size = match fs::metadata(path) {
        Ok(meta) => meta.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(io_at("read", path)(source)),
    };
    if size > MAX_RECORD_BYTES {
        let reason = format!("{size} bytes are more than the {MAX_RECORD_BYTES} of a record");
        return Err(FolderError::Record { path: path.to_owned(), reason });
    }
    let bytes = fs::read(path).map_err(io_at("read", path))?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| FolderError::Record { path: path.to_owned(), reason: error.to_string() })
}
