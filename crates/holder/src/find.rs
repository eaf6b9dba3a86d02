//! The holders of a data folder, living and dead. In: the data folder. Out: the living ones, and the rest of
//! the dead ones: lines that no hub has acknowledged, deliveries, and agents that outlived a killed holder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::process::Signal;

use super::{
    folder::{ExitRecord, Folder, FolderError, Running, boot_id, io_at},
    journal::{Completed, look_up},
    protocol::{Decoded, FrameDecoder, ProbeResult, ToHub},
    spec::{HolderId, HolderSpec},
    spill::segments_in,
};
use crate::process::{ProcessFacts, facts, signal_same};

/// A holder, as its folder shows it.
#[derive(Debug)]
pub struct HolderFound {
    pub id: HolderId,
    pub folder: Folder,
    pub alive: bool,
    /// An unreadable spec is told, not hidden.
    pub spec: Result<HolderSpec, FolderError>,
    /// How the agent ended. `None` and not alive: the holder was killed.
    pub exit: Option<ExitRecord>,
    pub running: Option<Running>,
    /// An agent that outlived its killed holder; no process can reach it.
    pub orphan: Option<ProcessFacts>,
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("remove the folder {0}: its holder lives")]
    Alive(PathBuf),
    #[error("remove the folder {0}: its agent lives without a holder")]
    Orphan(PathBuf),
    #[error("end the agent that a holder left: {0}")]
    Signal(io::Error),
}

/// The lines in a dead holder's buffer after a given line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    /// `Line` and `Oversized`, in order.
    pub lines: Vec<ToHub>,
    /// There are more after these.
    pub more: bool,
    /// The last segment ends in the middle of a line: the holder was killed while it wrote.
    pub torn: bool,
}

/// All holders of a data folder, by id.
pub fn list(data: &Path) -> Result<Vec<HolderFound>, FindError> {
    let all = Folder::all_in(data);
    let entries = match fs::read_dir(&all) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(io_at("read", &all)(source).into()),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(io_at("read", &all))?.file_name();
        // A folder without a valid name belongs to another program.
        if let Some(id) = name.to_str().and_then(|name| HolderId::new(name).ok()) {
            found.push(look(&Folder::in_data(data, &id), id)?);
        }
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// One holder.
pub fn look(folder: &Folder, id: HolderId) -> Result<HolderFound, FindError> {
    let alive = folder.is_alive()?;
    let running = folder.read_running()?;
    let orphan = running.as_ref().filter(|_| !alive).and_then(orphan_of);
    let exit = folder.read_exit()?;
    Ok(HolderFound { id, folder: folder.clone(), alive, spec: folder.read_spec(), exit, running, orphan })
}

/// Removes the folder of an ended holder, with its unacknowledged lines.
pub fn forget(folder: &Folder) -> Result<(), FindError> {
    if folder.is_alive()? {
        return Err(FindError::Alive(folder.path().to_owned()));
    }
    if folder.read_running()?.as_ref().and_then(orphan_of).is_some() {
        return Err(FindError::Orphan(folder.path().to_owned()));
    }
    match fs::remove_dir_all(folder.path()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_at("remove", folder.path())(error).into())
        }
        _ => Ok(()),
    }
}

/// Signals the agent of a killed holder, and its group. `false` if there is none.
pub fn end_leftover(found: &HolderFound, signal: Signal) -> Result<bool, FindError> {
    let Some(orphan) = &found.orphan else { return Ok(false) };
    let mut members = crate::process::members_of(orphan.group).map_err(FindError::Signal)?;
    members.retain(|process| process.session == orphan.session && !process.is_zombie());
    for process in members {
        signal_same(&process, signal).map_err(FindError::Signal)?;
    }
    Ok(true)
}

/// A dead holder's record of a delivery. After a restart of the machine a missing record is unknown, unless
/// the journal was forced to disk.
pub fn probe_offline(folder: &Folder, delivery: &str) -> Result<ProbeResult, FindError> {
    let path = folder.journal();
    let journaled = look_up(&path, delivery).map_err(io_at("read", &path))?;
    let synced = folder.read_spec().is_ok_and(|spec| spec.limits.journal_sync);
    let same_boot = folder.read_running()?.is_some_and(|running| running.boot_id == boot_id());
    let completed = match Completed::of(journaled.as_ref()) {
        Completed::No if journaled.is_none() && !synced && !same_boot => Completed::Unknown,
        completed => completed,
    };
    Ok(ProbeResult { delivery: delivery.to_owned(), journaled: journaled.is_some(), completed })
}

/// Lines of a dead holder after line `after`, at most `limit` of them.
pub fn leftover(folder: &Folder, after: u64, limit: usize) -> Result<Leftover, FindError> {
    let mut left = Leftover::default();
    let buffer = folder.buffer();
    let paths = match segments_in(&buffer) {
        Ok(paths) => paths,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(io_at("read", &buffer)(source).into()),
    };
    for path in paths {
        // A segment is a few megabytes, or one long line.
        let bytes = fs::read(&path).map_err(io_at("read", &path))?;
        let mut decoder = FrameDecoder::of_holder();
        decoder.push(&bytes);
        while let Ok(Some(frame)) = decoder.pop() {
            let Ok(Decoded::Known(message)) = ToHub::decode(frame) else { continue };
            let (ToHub::Line { n, .. } | ToHub::Oversized { n, .. }) = &message else { continue };
            if *n <= after {
                continue;
            }
            if left.lines.len() == limit {
                left.more = true;
                return Ok(left);
            }
            left.lines.push(message);
        }
        left.torn |= !decoder.buffer().is_empty();
    }
    Ok(left)
}

fn orphan_of(running: &Running) -> Option<ProcessFacts> {
    if running.boot_id != boot_id() {
        return None;
    }
    let process = facts(running.agent_pid).ok().flatten()?;
    let same = running.agent_start_time == Some(process.start_time);
    (same && !process.is_zombie()).then_some(process)
}
