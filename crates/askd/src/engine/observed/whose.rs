//! Which sessions somebody means who names an agent: by askd's id, by the agent's own, by a tmux session, or by the name of a
//! Panopticon agent whose `state.json` says where it works.

use std::path::PathBuf;

use askd_adapters::transport::tmux;
use askd_core::{Question, QuestionId, Right, Session, SessionId, Status};
use askd_store::{Order, QuestionFilter, Record};

use crate::engine::{Caller, Engine, EngineError};

/// Living sessions that are looked through.
const LOOKED_THROUGH: usize = 1000;
/// Open questions of one agent that are listed.
const LISTED: usize = 100;
/// Bytes of a `state.json`; they have a few hundred.
const MAX_STATE: u64 = 1 << 20;

impl Engine {
    /// The living sessions of an agent; none if nobody knows it.
    pub async fn sessions_called(&self, caller: &Caller, name: &str) -> Result<Vec<Session>, EngineError> {
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

    /// The settled question of an agent that has this name: its call, or its id here. The agent may have ended by now.
    pub async fn settled_of(
        &self,
        caller: &Caller,
        name: &str,
        living: &[Session],
        wanted: &str,
    ) -> Result<Option<Question>, EngineError> {
        let mut sessions = living.to_vec();
        sessions.extend(self.store().sessions_called(name).await?);
        if let Ok(id) = name.parse::<SessionId>() {
            sessions.extend(self.store().session(&id).await?);
        }
        let by_id = match wanted.parse::<QuestionId>() {
            Ok(id) => self.store().question(&id).await?,
            Err(_) => None,
        };
        for session in sessions {
            let of_it = |known: &Record| known.question.ask.session_id.as_ref() == Some(&session.id);
            let found = match &by_id {
                Some(known) => Some(known.clone()).filter(of_it),
                None => self.store().question_by_native(&session.id, wanted).await?,
            };
            if let Some(found) = found.filter(|known| !known.question.is_open()) {
                return self.question(caller, &found.question.id).await.map(Some);
            }
        }
        Ok(None)
    }

    /// The open questions of some sessions, oldest first.
    pub async fn open_of(&self, sessions: &[Session]) -> Result<Vec<(Session, Question)>, EngineError> {
        let mut open = Vec::new();
        for session in sessions {
            let filter = QuestionFilter {
                status: Some(Status::Requested),
                session: Some(session.id.clone()),
                ..QuestionFilter::default()
            };
            let page = self.store().list(filter, Order::Asc, None, LISTED).await?;
            open.extend(page.questions.into_iter().map(|question| (session.clone(), question)));
        }
        open.sort_by_key(|(_, question)| question.seq);
        Ok(open)
    }
}

/// A name that is one word in a path and for tmux.
fn is_plain(name: &str) -> bool {
    !name.starts_with(['.', '-'])
        && name.len() <= 200
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Where a Panopticon agent works, by its own word.
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
