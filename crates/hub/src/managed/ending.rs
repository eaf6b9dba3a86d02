//! The end of a managed agent, reported by its holder or found without one.
//!
//! In: a record of the exit, or a socket without a process. Out: the agent's unread lines, its cause in
//! everything that was open, and no folder left.

use std::time::Duration;

use askd_core::{Cause, SourceState};
use askd_holder::{
    AttachError, ExitRecord, Folder, HolderFound, HolderId, attach, end_leftover, forget, leftover, look,
};

use rustix::process::Signal;

use super::END_PATIENCE;
use super::attendant::{Attendant, Over};
use crate::EngineError;

/// Unacknowledged lines may have been in the holder's memory.
const HOLDER_KILLED: &str =
    "the holder of the agent was killed; the lines that the agent wrote in its last second may be missing";
/// Lines of a dead holder in one read.
const LEFTOVER_LINES: usize = 1024;
/// The pause between checks that a process has ended, and their number.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: u32 = 50;

impl Attendant {
    /// Handles a holder's socket that does not answer: the holder has ended, or has not started yet, or
    /// something blocks it.
    pub(super) async fn without_holder(&mut self, error: AttachError) -> Result<Over, EngineError> {
        let folder = self.folder.clone();
        let id = folder
            .path()
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| HolderId::new(name).ok());
        let found = id.and_then(|id| look(&folder, id).ok());
        if found.as_ref().is_some_and(|found| found.alive) || !error.nobody_there() {
            self.set_state(SourceState::Lost, Some(error.to_string())).await;
            return Ok(Over::Connection);
        }
        if let Some(found) = &found {
            end_orphan(found).await;
        }
        // The lines that no hub has heard, as far as the holder wrote them to the disk.
        self.recall_lines(u64::MAX).await?;
        let mut after = 0;
        while let Ok(left) = leftover(&folder, after, LEFTOVER_LINES) {
            for line in left.lines {
                after = self.hear_leftover(line, after).await?;
            }
            self.save().await?;
            if !left.more {
                break;
            }
        }
        match found.and_then(|found| found.exit) {
            Some(record) => self.agent_gone(&record).await?,
            None => {
                let resume = self.hub.agents.resume_command(&self.main);
                let how = resume.map(|resume| format!("; go on with: {resume}")).unwrap_or_default();
                let detail = format!("{HOLDER_KILLED}{how}");
                let cause = Cause::SourceLost { detail: Some(detail) };
                self.end(&cause).await?;
            }
        }
        self.forget_holder().await;
        Ok(Over::Agent)
    }

    pub(super) async fn agent_gone(&mut self, record: &ExitRecord) -> Result<(), EngineError> {
        let cause = match &self.ending {
            Some(detail) => Cause::SessionEnded { detail: Some(detail.clone()) },
            None => Cause::AgentExited {
                code: record.exit.code,
                signal: record.exit.signal,
                stderr: record.stderr_tail.clone(),
                resume: self.hub.agents.resume_command(&self.main),
            },
        };
        self.end(&cause).await
    }

    /// Stores everything that the agent wrote, then ends it.
    async fn end(&mut self, cause: &Cause) -> Result<(), EngineError> {
        let told = self.relay_end(cause);
        self.hub.sources.end_telling(&self.source.id, cause.clone(), told).await?;
        self.relay_gone(cause).await
    }

    pub(super) async fn forget_holder(&mut self) {
        forget_folder(&self.folder).await;
    }
}

async fn forget_folder(folder: &Folder) {
    for _ in 0..LOOKS {
        if forget(folder).is_ok() {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
    tracing::warn!(folder = %folder.path().display(), "the folder of an ended agent could not be removed");
}

/// Ends the agent of a killed holder: no process can read or answer it. First with `SIGTERM`.
async fn end_orphan(found: &HolderFound) {
    for signal in [Signal::TERM, Signal::KILL] {
        for _ in 0..LOOKS {
            let orphan = look(&found.folder, found.id.clone()).ok().filter(|found| found.orphan.is_some());
            let Some(orphan) = orphan else { return };
            if let Err(error) = end_leftover(&orphan, signal) {
                tracing::warn!(%error, "cannot end an agent whose holder was killed");
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Ends an agent without a connection, with its holder, which may be starting now.
pub(super) async fn end_unattended(folder: &Folder, id: HolderId) {
    for _ in 0..LOOKS {
        let Ok(found) = look(folder, id.clone()) else { return };
        if !found.alive {
            end_orphan(&found).await;
            break;
        }
        if let Ok(mut attached) = attach(folder, 0).await {
            let _ = attached.connection.end(None, true).await;
            let gone = async { while attached.events.next_batch().await.is_some() {} };
            let _ = tokio::time::timeout(END_PATIENCE, gone).await;
        }
        tokio::time::sleep(LOOK).await;
    }
    forget_folder(folder).await;
}
