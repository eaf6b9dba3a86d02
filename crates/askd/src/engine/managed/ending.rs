//! The end of a managed agent, told by its holder or found without one.
//!
//! In: a record of the exit, or a socket at which nobody answers. Out: what the agent had said and nobody had heard, its cause in
//! everything that was open, and no folder left behind.

use std::time::Duration;

use askd_adapters::transport::holder::{AttachError, ExitRecord, HolderId, forget, leftover, look};
use askd_core::{Cause, SourceState};

use super::attendant::{Attendant, Over};
use crate::engine::EngineError;

/// Lines of a dead holder that are read at once.
const LEFTOVER_LINES: usize = 1024;

impl Attendant {
    /// Nobody answers at the holder's socket: it has gone, or it is not up yet, or something is in the way.
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
        // What the agent had said and no hub had heard is still on the disk.
        self.names.may_repeat_through(u64::MAX);
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
                let resume = self.engine.resume_command(&self.main);
                let how = resume.map(|resume| format!("; go on with: {resume}")).unwrap_or_default();
                let detail = format!("the holder of the agent was killed{how}");
                let cause = Cause::SourceLost { detail: Some(detail) };
                self.engine.end_source(&self.source.id, cause.clone()).await?;
                self.relay_gone(&cause).await?;
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
                resume: self.engine.resume_command(&self.main),
            },
        };
        self.engine.end_source(&self.source.id, cause.clone()).await?;
        self.relay_gone(&cause).await
    }

    pub(super) async fn forget_holder(&mut self) {
        for _ in 0..50 {
            if forget(&self.folder).is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tracing::warn!(folder = %self.folder.path().display(), "the folder of an ended agent could not be removed");
    }
}
