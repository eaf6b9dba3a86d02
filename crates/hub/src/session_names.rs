//! The sessions behind a name: askd's id, the native id, a tmux session, or a Panopticon agent with a folder
//! in its `state.json`.

use std::path::PathBuf;

use askd_agents::tmux;
use askd_core::{Right, Session, SessionId};

use super::sessions::Sessions;
use super::{Caller, EngineError};

/// The newest sessions that are searched for a native id.
const LOOK_BACK: usize = 10_000;
/// Live sessions that are searched.
const LOOKED_THROUGH: usize = 1000;
/// Bytes of a `state.json`; they have a few hundred.
const MAX_STATE: u64 = 1 << 20;

/// The newest sessions that are searched for a continuation of a conversation.
const CONVERSATIONS: usize = 1000;

impl Sessions {
    /// The session with this id of askd, or this native id.
    pub async fn find(&self, name: &str) -> Result<Session, EngineError> {
        let (live, ended) = self.named(name).await?;
        if live.len() > 1 {
            return Err(EngineError::Ambiguous("session"));
        }
        live.into_iter().chain(ended).next().ok_or(EngineError::NotFound("session"))
    }

    /// The session with this id of askd, or the sessions with this native id, newest first: the live ones,
    /// which are meant if there are any because agents number their sessions, and the ended ones.
    pub(super) async fn named(&self, name: &str) -> Result<(Vec<Session>, Vec<Session>), EngineError> {
        let named = match name.parse::<SessionId>() {
            Ok(id) => self.store().session(&id).await?.into_iter().collect(),
            Err(_) => Vec::new(),
        };
        if !named.is_empty() {
            return Ok((named, Vec::new()));
        }
        let sessions = self.store().sessions(None, LOOK_BACK).await?;
        let named = sessions.into_iter().filter(|session| session.native_id == name);
        Ok(named.partition(|session| session.live))
    }

    /// The sessions of this agent with this native id.
    pub(super) async fn of_conversation(
        &self,
        agent: &str,
        native_id: &str,
    ) -> Result<Vec<SessionId>, EngineError> {
        let all = self.store().sessions(None, CONVERSATIONS).await?;
        let named =
            all.into_iter().filter(|session| session.agent == agent && session.native_id == native_id);
        Ok(named.map(|session| session.id).collect())
    }

    /// The living sessions of an agent; none if no session has this name.
    pub async fn called(&self, caller: &Caller, name: &str) -> Result<Vec<Session>, EngineError> {
        caller.needs(Right::Read)?;
        let living = self.store().sessions(Some(true), LOOKED_THROUGH).await?;
        let by_id: Vec<Session> = living
            .iter()
            .filter(|session| session.id.as_str() == name || session.native_id == name)
            .cloned()
            .collect();
        if !by_id.is_empty() || !is_plain(name) {
            return Ok(by_id);
        }
        let pids: Vec<u32> = living.iter().filter_map(|session| session.pid).collect();
        let in_tmux = tmux::sessions_of(&pids).await;
        let runs_there = |pid: u32| in_tmux.get(&pid).is_some_and(|session| session == name);
        let by_process: Vec<Session> =
            living.iter().filter(|session| session.pid.is_some_and(runs_there)).cloned().collect();
        if !by_process.is_empty() {
            return Ok(by_process);
        }
        let Some(workspace) = workspace(name) else { return Ok(Vec::new()) };
        Ok(living.into_iter().filter(|session| session.cwd.as_deref() == Some(&workspace)).collect())
    }
}

/// True for a name that is one word in a path and for tmux.
fn is_plain(name: &str) -> bool {
    !name.starts_with(['.', '-'])
        && name.len() <= 200
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// A Panopticon agent's folder, by its own report.
fn workspace(name: &str) -> Option<String> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let path = home.join(".panopticon/agents").join(name).join("state.json");
    if std::fs::metadata(&path).ok()?.len() > MAX_STATE {
        return None;
    }
    let state: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let workspace = state.get("workspace")?.as_str()?.to_owned();
    // Claude Code names the real folder.
    let real =
        std::fs::canonicalize(&workspace).ok().and_then(|path| path.into_os_string().into_string().ok());
    Some(real.unwrap_or(workspace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_word() {
        assert!(is_plain("agent-min-123"));
        for bad in ["../x", "a/b", "-t", ".", "a b", "a;b", "=x"] {
            assert!(!is_plain(bad), "{bad}");
        }
    }
}
