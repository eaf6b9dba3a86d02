//! Whether the terminals that ask still live.

use std::time::Duration;

use askd_adapters::transport::process;
use askd_core::Cause;

use super::Observed;
use crate::engine::{Engine, EngineError};

/// How often the processes of sessions are looked at.
const EVERY: Duration = Duration::from_secs(2);
/// How often the memory is tidied up while there is none.
const RARELY: Duration = Duration::from_secs(600);

impl Engine {
    pub(in crate::engine) async fn watch_terminals(self) {
        let observed = &self.inner.observed;
        loop {
            let is_idle = observed.memory().processes.is_empty();
            let pause = tokio::time::sleep(if is_idle { RARELY } else { EVERY });
            tokio::select! {
                () = pause => {}
                () = observed.lives.notified(), if is_idle => {}
            }
            observed.prune();
            if let Err(error) = self.look_at_terminals().await {
                tracing::error!(%error, "cannot look after Claude Code's sessions; trying again");
            }
        }
    }

    /// Ends the sessions whose processes have gone. While none has, nothing is read but a line of each process.
    async fn look_at_terminals(&self) -> Result<(), EngineError> {
        let observed = &self.inner.observed;
        let mut gone = observed.memory().processes.clone();
        gone.retain(|pid, started| !is_alive(*pid, *started));
        let source = observed.memory().source.clone();
        let Some(source) = source.filter(|_| !gone.is_empty()) else { return Ok(()) };
        for session in self.store().sessions_of_source(&source).await? {
            if session.live && session.pid.is_some_and(|pid| gone.contains_key(&pid)) {
                let cause = Cause::AgentExited {
                    code: None,
                    signal: None,
                    stderr: Vec::new(),
                    resume: self.resume_command(&session),
                };
                self.end_session(&session.id, cause).await?;
            }
        }
        observed.memory().processes.retain(|pid, started| gone.get(pid) != Some(started));
        Ok(())
    }
}

impl Observed {
    /// From now on the process is looked at; its session must be stored by then.
    pub(super) fn look_after(&self, pid: u32) {
        let started = i32::try_from(pid).ok().and_then(|pid| process::start_time(pid).ok().flatten());
        self.memory().processes.insert(pid, started);
        self.lives.notify_one();
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
