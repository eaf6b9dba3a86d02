//! The channel that an answer would use now, for the surfaces, so that keys in a terminal surprise no person.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use askd_agents::claude_hook::AGENT;
use askd_core::question::AnswerRoad;
use askd_core::{Question, QuestionId, Session, SessionId, Surface};
use askd_store::{Store, StoreError};

use super::keys::can_type;
use super::{HOOK, HookPresence, Observed};

/// The time for which "runs in tmux" is cached: pages that list often do not walk through all processes each
/// time. A task that types checks again.
const TYPABLE_FOR: Duration = Duration::from_secs(2);

impl Observed {
    /// True if a hook waits for the answer, or will be back in a moment.
    fn has_hook(&self, question: &Question, is_hooked: bool) -> bool {
        match self.presence(question) {
            HookPresence::Waits => true,
            HookPresence::Expected => is_hooked,
            HookPresence::Gone => false,
        }
    }

    /// True if an answer can be typed for this session, checked now or a moment ago.
    pub(super) async fn can_type(&self, session: &Session) -> bool {
        let known = self.memory().typable.get(&session.id).copied();
        if let Some((can, at)) = known
            && at.elapsed() < TYPABLE_FOR
        {
            return can;
        }
        let looked_at = session.clone();
        let can = tokio::task::spawn_blocking(move || can_type(&looked_at)).await.unwrap_or(false);
        self.memory().typable.insert(session.id.clone(), (can, Instant::now()));
        can
    }
}

/// True if keys may be typed: a person turned that on, or the question never had another channel and shows
/// that.
pub(super) fn may_type(session: &Session, is_hooked: bool) -> bool {
    session.tmux || !is_hooked
}

/// True if the surface can show that the answer would be typed; a notification has no room for it.
pub(super) fn is_told(surface: Surface) -> bool {
    surface != Surface::Notification
}

/// Fills in the channels of local agents' open questions. Reads nothing for those with a waiting hook.
pub(super) async fn describe(
    observed: &Observed,
    store: &dyn Store,
    questions: &mut [Question],
) -> Result<(), StoreError> {
    let Some(source) = observed.memory().source.clone() else { return Ok(()) };
    let mut rest = Vec::new();
    for question in questions.iter_mut().filter(|it| it.is_open() && it.ask.agent == AGENT) {
        question.agent_times_out_at = observed.memory().times_out.get(&question.id).copied();
        match observed.presence(question) {
            HookPresence::Waits => question.road = Some(AnswerRoad::Hook),
            HookPresence::Expected | HookPresence::Gone => rest.push(question),
        }
    }
    if rest.is_empty() {
        return Ok(());
    }
    let ids: Vec<QuestionId> = rest.iter().map(|question| question.id.clone()).collect();
    let hooked = store.sighted(&ids, HOOK).await?;
    // One read for all: a page has hundreds of questions, and other readers wait meanwhile.
    let of: HashSet<SessionId> = rest.iter().filter_map(|it| it.ask.session_id.clone()).collect();
    let found = store.sessions_by_id(&source, &of.into_iter().collect::<Vec<_>>()).await?;
    let sessions: HashMap<SessionId, Session> =
        found.into_iter().map(|session| (session.id.clone(), session)).collect();
    for question in rest {
        let Some(session) = question.ask.session_id.as_ref().and_then(|id| sessions.get(id)) else {
            continue;
        };
        let is_hooked = hooked.contains(&question.id);
        question.road = Some(if observed.has_hook(question, is_hooked) {
            AnswerRoad::Hook
        } else if may_type(session, is_hooked) && observed.can_type(session).await {
            AnswerRoad::Keys
        } else {
            AnswerRoad::Terminal
        });
    }
    Ok(())
}
