//! The end of terminals that asked.

use std::time::Duration;

use askd_core::delivery::DeliveryInput;
use askd_core::{Cause, Question, Session};
use askd_holder::process;
use askd_store::{Order, QuestionFilter, SessionSeen};

use super::registry::{self, Registered};
use super::{ClaudeFolders, LocalAgents, Observed};
use crate::{EngineError, now};

/// How often the processes of sessions are looked at.
const EVERY: Duration = Duration::from_secs(2);
/// How often the memory is tidied up while there is none.
const RARELY: Duration = Duration::from_secs(600);
/// The newest questions of one session that are searched: an agent has a few open at once.
const LOOKED_THROUGH: usize = 64;

impl LocalAgents {
    pub(crate) async fn watch_terminals(self) {
        let observed = &self.inner.observed;
        loop {
            let is_idle = observed.memory().processes.is_empty() && !observed.has_only_signs();
            let pause = tokio::time::sleep(if is_idle { RARELY } else { EVERY });
            tokio::select! {
                () = pause => {}
                () = observed.lives.notified(), if is_idle => {}
            }
            observed.prune();
            let looked = match self.look_at_terminals().await {
                Ok(()) => self.signs_gone().await,
                failed => failed,
            };
            if let Err(error) = looked {
                tracing::error!(%error, "cannot look after Claude Code's sessions; trying again");
            }
        }
    }

    /// Ends the questions and sessions of processes that ended. It reads one line for each process while none
    /// has ended.
    async fn look_at_terminals(&self) -> Result<(), EngineError> {
        let observed = &self.inner.observed;
        let mut gone = observed.memory().processes.clone();
        gone.retain(|pid, started| !is_alive(*pid, *started));
        if gone.is_empty() {
            return Ok(());
        }
        // Sightings and ends take turns: a question of the continuing process must not end with those of the
        // ended one.
        let place = observed.turn.lock().await;
        let source = observed.memory().source.clone();
        if let Some(source) = source {
            for session in self.store().sessions_of_source(&source).await? {
                if session.live && session.pid.is_some_and(|pid| gone.contains_key(&pid)) {
                    self.holder_gone(&session).await?;
                }
            }
            self.askers_gone().await?;
        }
        observed.memory().processes.retain(|pid, started| gone.get(pid) != Some(started));
        drop(place);
        Ok(())
    }

    /// Ends the questions of agents in other PID namespaces (containers) after their hooks have gone for good.
    /// The hub cannot see the processes of such agents.
    async fn signs_gone(&self) -> Result<(), EngineError> {
        for id in self.inner.observed.without_a_sign() {
            let question = self.store().question(&id).await?.map(|record| record.question);
            // A pending delivery fails or arrives by itself.
            if let Some(question) = question.filter(Question::is_open) {
                let why =
                    "its hook has gone and does not come back, and its process cannot be seen from here";
                let cause = Cause::SourceLost { detail: Some(why.to_owned()) };
                self.hub().questions.cancel(&id, cause.clone()).await?;
                let session = match &question.ask.session_id {
                    Some(session) => self.store().session(session).await?,
                    None => None,
                };
                if let Some(session) = session.filter(|session| session.pid.is_none())
                    && self.unfinished(&session).await?.is_empty()
                {
                    self.hub().sessions.end(&session.id, cause).await?;
                }
            }
            self.inner.observed.forget(&id);
        }
        Ok(())
    }

    /// The process of a session has gone. Another one may hold the conversation by now: then only what the
    /// gone one asked is over.
    async fn holder_gone(&self, session: &Session) -> Result<(), EngineError> {
        let Some(next) = self.next_holder(session).await? else {
            self.hub().sessions.end(&session.id, self.exited(session)).await?;
            return Ok(());
        };
        self.hub().sessions.see(SessionSeen { pid: Some(next.pid), ..seen_again(session) }).await?;
        self.inner.observed.look_after(next.pid);
        for question in self.unfinished(session).await? {
            // The asker is unknown, but the continuing process did not exist yet.
            let is_older = next.since.is_some_and(|since| question.created_at.millis() < since);
            if self.inner.observed.asker(&question.id).is_none() && is_older {
                self.asker_gone(session, &question).await?;
            }
        }
        Ok(())
    }

    /// A live process with this conversation: one in the agent's own list, or one that asked in it.
    async fn next_holder(&self, session: &Session) -> Result<Option<NextHolder>, EngineError> {
        let living = self.inner.observed.registered().await;
        if let Some(found) = registry::holder(&living, &session.native_id) {
            let since = (found.started_at > 0).then_some(found.started_at);
            return Ok(Some(NextHolder { pid: found.pid, since }));
        }
        let unfinished = self.unfinished(session).await?;
        let askers = unfinished.iter().filter_map(|question| self.inner.observed.asker(&question.id));
        // The newest question first.
        let mut living = askers.filter(|asker| is_alive(asker.pid, asker.started)).map(|asker| asker.pid);
        Ok(living.next().map(|pid| NextHolder { pid, since: None }))
    }

    /// Ends the questions of an ended process while another process has their conversation.
    async fn askers_gone(&self) -> Result<(), EngineError> {
        let mut dead = self.inner.observed.memory().askers.clone();
        dead.retain(|_, asker| !is_alive(asker.pid, asker.started));
        for id in dead.into_keys() {
            let question = self.store().question(&id).await?.map(|record| record.question);
            let session = match question.as_ref().and_then(|question| question.ask.session_id.as_ref()) {
                Some(session) => self.store().session(session).await?,
                None => None,
            };
            if let (Some(question), Some(session)) = (question, session) {
                self.asker_gone(&session, &question).await?;
            }
            self.inner.observed.forget(&id);
        }
        Ok(())
    }

    /// Ends a question after its process: no answer can arrive there.
    pub(super) async fn asker_gone(&self, session: &Session, question: &Question) -> Result<(), EngineError> {
        let cause = self.exited(session);
        if question.is_open() {
            self.hub().questions.cancel(&question.id, cause).await?;
        } else if question.is_being_delivered() {
            let gone = DeliveryInput::AgentGone { detail: Some("the agent exited".to_owned()) };
            self.store().step(&question.id, gone, now()).await?;
        }
        Ok(())
    }

    pub(super) fn exited(&self, session: &Session) -> Cause {
        let resume = self.hub().agents.resume_command(session);
        Cause::AgentExited { code: None, signal: None, stderr: Vec::new(), resume }
    }

    /// The questions of a session that are open or have a pending delivery.
    pub(super) async fn unfinished(&self, session: &Session) -> Result<Vec<Question>, EngineError> {
        let is_unfinished = |question: &Question| question.is_open() || question.is_being_delivered();
        Ok(self.newest_of(session).await?.into_iter().filter(is_unfinished).collect())
    }

    pub(super) async fn newest_of(&self, session: &Session) -> Result<Vec<Question>, EngineError> {
        let filter = QuestionFilter { session: Some(session.id.clone()), ..QuestionFilter::default() };
        Ok(self.store().list(filter, Order::Desc, None, LOOKED_THROUGH).await?.questions)
    }
}

/// A process with a conversation, and its start in milliseconds if it is known.
struct NextHolder {
    pid: u32,
    since: Option<i64>,
}

/// A session as it was seen before, seen now.
pub(super) fn seen_again(session: &Session) -> SessionSeen {
    SessionSeen {
        id: session.id.clone(),
        source: session.source_id.clone(),
        agent: session.agent.clone(),
        native_id: session.native_id.clone(),
        cwd: None,
        title: None,
        parent: None,
        pid: session.pid,
        managed: session.managed,
        at: now(),
    }
}

impl Observed {
    /// The agent's own lists of its living sessions, in every known folder.
    pub(super) async fn registered(&self) -> Vec<Registered> {
        let known = self.folders.get().map(ClaudeFolders::known).unwrap_or_default();
        let read = move || known.iter().filter_map(|folder| registry::living(folder)).flatten().collect();
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    /// From now on the process is looked at; its session must be stored by then.
    pub(super) fn look_after(&self, pid: u32) {
        let started = start_time(pid);
        self.memory().processes.insert(pid, started);
        self.lives.notify_one();
    }
}

pub(super) fn start_time(pid: u32) -> Option<u64> {
    i32::try_from(pid).ok().and_then(|pid| process::start_time(pid).ok().flatten())
}

/// True if the process lives and started at that time, or if neither can be known.
pub(crate) fn is_alive(pid: u32, started: Option<u64>) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    match process::facts(pid) {
        Ok(Some(facts)) => !facts.is_zombie() && started.is_none_or(|started| started == facts.start_time),
        Ok(None) => !std::path::Path::new("/proc/self").exists(),
        Err(_) => true,
    }
}
