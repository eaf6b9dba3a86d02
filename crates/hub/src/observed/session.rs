//! The source of this machine's hooks, and the sessions seen through it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use askd_core::{QuestionId, Session, SessionId, SourceId, SourceState};
use askd_store::SessionSeen;

use super::liveness::seen_again;
use super::mouth::HookMouth;
use super::registry::{self, Registered};
use super::{ClaudeFolders, HOOK, LocalAgents, Place};
use crate::{EngineError, NewSource, new_bits, now};

/// A conversation as a hook or a transcript names it.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub native_id: String,
    pub cwd: Option<String>,
    pub pid: Option<u32>,
    /// The agent's own time-out, if one is set.
    pub times_out: Option<Duration>,
    /// True if certainly no hook of askd can come from there.
    pub has_no_hook: bool,
}

impl LocalAgents {
    /// Reconnects the source of an earlier hub, so that waiting answers are delivered and ends of sessions
    /// are seen.
    pub async fn resume_observed(&self) -> Result<(), EngineError> {
        let mut place = self.inner.observed.turn.lock().await;
        if self.known_hook_source().await?.is_some() {
            let source = self.hook_source(&mut place).await?;
            let known = self.store().sessions_of_source(&source).await?;
            for session in known.into_iter().filter(|session| session.live) {
                self.resume_session(&session).await?;
            }
        }
        Ok(())
    }

    /// Resumes a session that lived when the last hub ended. Its open questions belong to the process that is
    /// stored with it; without one, the agent's own list shows whether there is one.
    async fn resume_session(&self, session: &Session) -> Result<(), EngineError> {
        let observed = &self.inner.observed;
        if let Some(pid) = session.pid {
            for question in self.unfinished(session).await? {
                observed.asked_by(&question.id, Some(pid), false);
            }
            observed.look_after(pid);
            self.resume_following(session).await?;
            // While no hub looked it may have gone on with another conversation.
            let living = self.inner.observed.registered().await;
            let other = living.iter().find(|entry| entry.pid == pid && entry.session_id != session.native_id);
            if let Some(entry) = other {
                self.left_for_another(&session.native_id, entry, &living).await?;
            }
            return Ok(());
        }
        if Path::new("/proc/self").exists() {
            for question in self.unfinished(session).await? {
                if self.store().is_sighted(&question.id, HOOK).await? {
                    observed.only_hook_shows(&question.id);
                }
            }
        }
        let folders = observed.folders.get().map(ClaudeFolders::known).unwrap_or_default();
        let lists: Vec<Vec<Registered>> =
            folders.iter().filter_map(|folder| registry::living(folder)).collect();
        if lists.is_empty() {
            return Ok(());
        }
        match registry::holder(&lists.concat(), &session.native_id) {
            Some(holder) => {
                self.hub().sessions.see(SessionSeen { pid: Some(holder.pid), ..seen_again(session) }).await?;
                observed.look_after(holder.pid);
            }
            None => {
                // A hook that waits for one of its questions comes back and shows that the agent lives.
                let open: Vec<QuestionId> =
                    self.unfinished(session).await?.into_iter().map(|question| question.id).collect();
                if self.store().sighted(&open, HOOK).await?.is_empty() {
                    self.hub().sessions.end(&session.id, self.exited(session)).await?;
                }
            }
        }
        Ok(())
    }

    async fn known_hook_source(&self) -> Result<Option<SourceId>, EngineError> {
        let known = self.store().sources().await?.into_iter().map(|record| record.source);
        Ok(known
            .into_iter()
            .find(|source| source.kind == HOOK && source.state != SourceState::Ended)
            .map(|s| s.id))
    }

    pub(super) async fn hook_source(&self, place: &mut Place) -> Result<SourceId, EngineError> {
        if let Some(source) = &place.source {
            return Ok(source.clone());
        }
        let id = match self.known_hook_source().await? {
            Some(id) => id,
            None => {
                let new = NewSource {
                    kind: HOOK.to_owned(),
                    agent: "claude".to_owned(),
                    label: "Claude Code in terminals of this machine".to_owned(),
                    settings: "{}".to_owned(),
                };
                self.hub().sources.add(new).await?.id
            }
        };
        self.hub().sources.set_state(&id, SourceState::Connected, None).await?;
        self.hub()
            .targets
            .connect(id.clone(), Arc::new(HookMouth::new(self.inner.observed.clone(), self.store().clone())));
        self.inner.observed.memory().source = Some(id.clone());
        place.source = Some(id.clone());
        Ok(id)
    }

    /// The askd session of a conversation.
    pub(super) async fn hook_session(
        &self,
        source: &SourceId,
        conversation: &Conversation,
    ) -> Result<Session, EngineError> {
        let title = conversation.cwd.as_deref().and_then(|cwd| cwd.rsplit('/').find(|part| !part.is_empty()));
        let seen = SessionSeen {
            id: SessionId::from_bits(new_bits()),
            source: source.clone(),
            agent: "claude".to_owned(),
            native_id: conversation.native_id.clone(),
            cwd: conversation.cwd.clone(),
            title: title.map(str::to_owned),
            parent: None,
            pid: conversation.pid,
            managed: false,
            at: now(),
        };
        let session = self.hub().sessions.see(seen).await?;
        if let Some(pid) = conversation.pid {
            self.inner.observed.look_after(pid);
        }
        Ok(session)
    }
}
