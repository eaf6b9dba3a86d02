//! The source of this machine's hooks, and the sessions seen through it.

use std::sync::Arc;

use askd_core::{Session, SessionId, SourceId, SourceState};
use askd_store::SessionSeen;

use super::mouth::HookMouth;
use super::{HOOK, Place};
use crate::engine::{Engine, EngineError, NewSource, new_bits, now};

/// A conversation as a hook or a transcript names it.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub native_id: String,
    pub cwd: Option<String>,
    pub pid: Option<u32>,
}

impl Engine {
    /// Takes up the source of an earlier hub, so that answers which wait can be delivered and the end of its sessions is seen.
    pub async fn resume_observed(&self) -> Result<(), EngineError> {
        let mut place = self.inner.observed.turn.lock().await;
        if self.known_hook_source().await?.is_some() {
            let source = self.hook_source(&mut place).await?;
            let known = self.store().sessions_of_source(&source).await?;
            let processes = known.iter().filter(|session| session.live).filter_map(|session| session.pid);
            processes.for_each(|pid| self.inner.observed.look_after(pid));
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
                self.add_source(new).await?.id
            }
        };
        self.source_state(&id, SourceState::Connected, None).await?;
        self.connect_mouth(
            id.clone(),
            Arc::new(HookMouth::new(self.inner.observed.clone(), self.store().clone())),
        );
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
        let session = self.see_session(seen).await?;
        if let Some(pid) = conversation.pid {
            self.inner.observed.look_after(pid);
        }
        Ok(session)
    }
}
