//! Whether the terminals that ask still live.

use std::time::Duration;

use askd_adapters::transport::process;
use askd_core::Cause;

use crate::engine::{Engine, EngineError};

/// How often the processes of sessions are looked at.
const EVERY: Duration = Duration::from_secs(2);

impl Engine {
    pub(in crate::engine) async fn watch_terminals(self) {
        loop {
            tokio::time::sleep(EVERY).await;
            self.inner.observed.prune();
            if let Err(error) = self.look_at_terminals().await {
                tracing::error!(%error, "cannot look after Claude Code's sessions; trying again");
            }
        }
    }

    async fn look_at_terminals(&self) -> Result<(), EngineError> {
        let Some(source) = self.inner.observed.turn.lock().await.source.clone() else { return Ok(()) };
        for session in self.store().sessions_of_source(&source).await? {
            let Some(pid) = session.pid.filter(|_| session.live) else { continue };
            let started = self.inner.observed.memory().processes.get(&pid).copied();
            if !is_alive(pid, started) {
                self.inner.observed.memory().processes.remove(&pid);
                self.end_session(
                    &session.id,
                    Cause::AgentExited {
                        code: None,
                        signal: None,
                        stderr: Vec::new(),
                        resume: self.resume_command(&session),
                    },
                )
                .await?;
            }
        }
        Ok(())
    }
}

/// Whether the process is there and is the one that was seen. Where nothing can be known it counts as alive.
pub(in crate::engine) fn is_alive(pid: u32, started: Option<u64>) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    match process::facts(pid) {
        Ok(Some(facts)) => !facts.is_zombie() && started.is_none_or(|started| started == facts.start_time),
        Ok(None) => !std::path::Path::new("/proc/self").exists(),
        Err(_) => true,
    }
}
