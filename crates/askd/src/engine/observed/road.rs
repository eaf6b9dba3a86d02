//! By which road an answer would go now: for the surfaces, so that nobody is surprised by keys in a terminal.

use askd_adapters::agents::claude_hook::AGENT;
use askd_core::question::AnswerRoad;
use askd_core::{Question, Right, Session, SessionId, Surface};

use super::keys::can_type;
use super::{HOOK, HookPresence, Observed};
use crate::engine::{Caller, Engine, EngineError};

impl Observed {
    /// Whether a hook waits for the answer, or will be back for it in a moment.
    fn has_hook(&self, question: &Question, is_hooked: bool) -> bool {
        match self.presence(question) {
            HookPresence::Waits => true,
            HookPresence::Expected => is_hooked,
            HookPresence::Gone => false,
        }
    }
}

/// Whether keys may be typed: somebody turned that on, or the question has never had another road and says so.
pub(super) fn may_type(session: &Session, is_hooked: bool) -> bool {
    session.tmux || !is_hooked
}

/// Whether who answers could see that the answer would be typed: a notification has no room for it.
pub(super) fn is_told(surface: Surface) -> bool {
    surface != Surface::Notification
}

impl Engine {
    /// Fills in the roads of open questions that came from terminals.
    pub(in crate::engine) async fn with_roads(&self, questions: &mut [Question]) -> Result<(), EngineError> {
        let Some(source) = self.inner.observed.memory().source.clone() else { return Ok(()) };
        let may_be_there = |question: &&mut Question| question.is_open() && question.ask.agent == AGENT;
        for question in questions.iter_mut().filter(may_be_there) {
            let Some(session) = &question.ask.session_id else { continue };
            let Some(session) = self.store().session(session).await? else { continue };
            if session.source_id == source {
                let is_hooked = self.store().is_sighted(&question.id, HOOK).await?;
                question.road = Some(if self.inner.observed.has_hook(question, is_hooked) {
                    AnswerRoad::Hook
                } else if may_type(&session, is_hooked) && can_type(&session) {
                    AnswerRoad::Keys
                } else {
                    AnswerRoad::Terminal
                });
            }
        }
        Ok(())
    }

    /// Lets answers be typed into the terminal of a session where its hook is gone, or no longer.
    pub async fn set_tmux(
        &self,
        caller: &Caller,
        id: &SessionId,
        tmux: bool,
    ) -> Result<Session, EngineError> {
        caller.needs(Right::Manage)?;
        self.store().set_tmux(id, tmux).await?.ok_or(EngineError::NotFound("session"))
    }
}
