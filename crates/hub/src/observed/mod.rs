//! Claude Code in terminals that askd did not start: heard by hooks and transcripts, answered by the waiting
//! hook, or by keys in its tmux pane if there is no hook.
//!
//! In: reports of hooks and lines of transcripts, in any order, repeated, or lost. Out: one question for each
//! tool call, whichever channel saw it first; the decision for the hook; and the terminal's answer. A hook
//! that disconnects cancels nothing.

mod activity;
mod doubt;
mod ears;
mod evidence;
mod files;
mod folders;
mod hooks;
mod identity;
mod installed;
mod keys;
mod liveness;
mod mouth;
mod peek;
mod registry;
mod road;
mod session;
mod watch;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};

use askd_core::{Question, QuestionId, SessionId, SourceId, Timestamp};
use askd_store::Store;

use crate::connection_services::ConnectionServices;
use crate::now;
use crate::questions::Waiters;
use crate::sources::HOOK;

pub use folders::ClaudeFolders;
pub use hooks::{HookHeard, HookReport, HookWord};
pub(super) use liveness::is_alive;
use liveness::start_time;

/// How long after a question was seen its hook may still come, also on a busy machine.
const COMES_WITHIN: Duration = Duration::from_secs(5);
/// How long after a hook was last there it is still expected back: a hub restarts in less.
const BACK_WITHIN: Duration = Duration::from_secs(15);
/// How long a hook that is the only sign of its agent may be away: it comes back every second, also over a
/// bad network.
const GONE_AFTER: Duration = Duration::from_secs(30);
/// The time after which a silent thing is forgotten; a waiting hook reports every hour.
const REMEMBERED: Duration = Duration::from_secs(2 * 3600);

/// Transcripts in which hooks wait: more than the terminals of one person. Hooks name them, so their number
/// is bounded.
const MAX_WAITED_IN: usize = 1024;

#[derive(Clone)]
pub struct LocalAgents {
    inner: Arc<Inner>,
}

struct Inner {
    hub: ConnectionServices,
    waiters: Waiters,
    observed: Arc<Observed>,
}

impl LocalAgents {
    pub(super) fn new(hub: ConnectionServices, waiters: Waiters) -> Self {
        Self { inner: Arc::new(Inner { hub, waiters, observed: Arc::new(Observed::new()) }) }
    }

    fn hub(&self) -> &ConnectionServices {
        &self.inner.hub
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.inner.hub.store
    }
}

/// Memory of hooks and transcripts. Everything that must outlive the hub is in the store.
struct Observed {
    /// One sighting at a time: two channels that see a question at once must make one question.
    turn: tokio::sync::Mutex<Place>,
    /// Wakes a sighting that waits for the id of its call.
    named: Notify,
    /// Wakes the watch of transcripts when a hook begins to wait in one.
    hooked: Notify,
    /// Wakes the watch of processes when there is one.
    lives: Notify,
    memory: Mutex<Memory>,
    /// The config folders with readable transcripts; none until the hub sets them.
    folders: OnceLock<ClaudeFolders>,
    /// Places to look at the end of a transcript.
    peeks: Arc<Semaphore>,
    born: Instant,
}

#[derive(Default)]
struct Place {
    source: Option<SourceId>,
}

#[derive(Default)]
struct Memory {
    /// The source of all sightings, for readers without the lock.
    source: Option<SourceId>,
    /// Announced calls without a question, oldest first.
    announced: Vec<Announced>,
    /// Ids of calls that arrived after their question was stored.
    names: HashMap<QuestionId, String>,
    hooks: HashMap<QuestionId, Presence>,
    /// The processes that asked, as far as they are known: two may have one conversation.
    askers: HashMap<QuestionId, Process>,
    /// Questions of terminals without a hook of askd.
    unhooked: HashSet<QuestionId>,
    /// The ends of agents' own time-outs.
    times_out: HashMap<QuestionId, Timestamp>,
    /// The processes of sessions with their start, so that a reused process id is not mistaken for them.
    processes: HashMap<u32, Option<u64>>,
    /// Transcripts with a waiting hook.
    transcripts: HashMap<PathBuf, Instant>,
    /// Sessions with a terminal that is receiving keys.
    typing: HashSet<SessionId>,
    /// Whether sessions run in tmux, with the time of the check.
    typable: HashMap<SessionId, (bool, Instant)>,
}

/// A process, and its start if it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: u32,
    started: Option<u64>,
}

struct Announced {
    session: String,
    call_id: String,
    likeness: String,
    at: Instant,
}

/// The waiting hooks of one question.
struct Presence {
    hooks: Vec<String>,
    waiting: usize,
    seen: Instant,
    /// True if only the hook shows that the agent lives: its process cannot be seen from here.
    is_only_sign: bool,
    /// True if a hook received the decision and may have printed it.
    was_told: bool,
}

impl Observed {
    fn new() -> Self {
        Self {
            turn: tokio::sync::Mutex::default(),
            named: Notify::new(),
            hooked: Notify::new(),
            lives: Notify::new(),
            memory: Mutex::default(),
            folders: OnceLock::new(),
            peeks: Arc::new(Semaphore::new(peek::LOOKS)),
            born: Instant::now(),
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hook waits in this transcript: it is looked at often from now on.
    fn waits_in(&self, path: PathBuf) {
        let mut memory = self.memory();
        if memory.transcripts.len() < MAX_WAITED_IN || memory.transcripts.contains_key(&path) {
            memory.transcripts.insert(path, Instant::now());
        }
        drop(memory);
        self.hooked.notify_one();
    }

    /// Whether a hook waits for this question, or may come in a moment.
    fn presence(&self, question: &Question) -> HookPresence {
        let age = u64::try_from(now().millis() - question.created_at.millis()).unwrap_or(0);
        let age = Duration::from_millis(age);
        let memory = self.memory();
        let is_expected = match memory.hooks.get(&question.id) {
            Some(presence) if presence.waiting > 0 => return HookPresence::Waits,
            Some(presence) => presence.seen.elapsed() < BACK_WITHIN,
            // Without a hook in the settings, none comes.
            None if memory.unhooked.contains(&question.id) => false,
            // Its hook may not have found this hub yet.
            None if age > self.born.elapsed() => self.born.elapsed() < BACK_WITHIN,
            None => age < COMES_WITHIN,
        };
        if is_expected { HookPresence::Expected } else { HookPresence::Gone }
    }

    fn join(&self, question: &Question, report: &HookReport) {
        let id = &question.id;
        self.asked_by(id, report.pid, true);
        self.times_out(question, report.times_out_ms.map(Duration::from_millis));
        let mut memory = self.memory();
        let presence = memory.hooks.entry(id.clone()).or_insert_with(Presence::new);
        presence.seen = Instant::now();
        presence.is_only_sign = report.is_out_of_sight();
        if !presence.hooks.contains(&report.hook) {
            presence.hooks.push(report.hook.clone());
        }
        drop(memory);
        self.lives.notify_one();
    }

    fn times_out(&self, question: &Question, after: Option<Duration>) {
        let Some(millis) = after.and_then(|after| i64::try_from(after.as_millis()).ok()) else { return };
        let at = question.created_at.plus_millis(millis);
        self.memory().times_out.insert(question.id.clone(), at);
    }

    /// Records the process that asks. A hook knows its process; another channel may only guess it.
    fn asked_by(&self, id: &QuestionId, pid: Option<u32>, is_certain: bool) {
        let Some(pid) = pid else { return };
        let process = Process { pid, started: start_time(pid) };
        let mut memory = self.memory();
        if is_certain {
            memory.askers.insert(id.clone(), process);
        } else {
            memory.askers.entry(id.clone()).or_insert(process);
        }
    }

    fn asker(&self, id: &QuestionId) -> Option<Process> {
        self.memory().askers.get(id).copied()
    }

    /// Records a question of an earlier hub whose hook alone can show that its agent lives: the hook comes
    /// back if it does.
    fn only_hook_shows(&self, id: &QuestionId) {
        self.memory().hooks.entry(id.clone()).or_insert_with(Presence::new).is_only_sign = true;
        self.lives.notify_one();
    }

    /// True if there are hooks whose end must be noticed.
    fn has_only_signs(&self) -> bool {
        self.memory().hooks.values().any(|presence| presence.is_only_sign)
    }

    /// The questions whose agent shows no sign of life any more.
    fn without_a_sign(&self) -> Vec<QuestionId> {
        let memory = self.memory();
        let is_gone = |presence: &Presence| {
            presence.is_only_sign && presence.waiting == 0 && presence.seen.elapsed() > GONE_AFTER
        };
        memory.hooks.iter().filter(|(_, presence)| is_gone(presence)).map(|(id, _)| id.clone()).collect()
    }

    fn wait_for(self: &Arc<Self>, id: &QuestionId) -> Waiting {
        self.memory().hooks.entry(id.clone()).or_insert_with(Presence::new).waiting += 1;
        Waiting { observed: Arc::clone(self), id: id.clone() }
    }

    /// The right to type into a session's terminal, unless another task has it.
    fn take_keyboard(self: &Arc<Self>, session: &SessionId) -> Option<Keyboard> {
        let is_free = self.memory().typing.insert(session.clone());
        is_free.then(|| Keyboard { observed: Arc::clone(self), session: session.clone() })
    }

    /// Forgets what has been silent for long.
    fn prune(&self) {
        let Memory { announced, names, hooks, transcripts, typable, .. } = &mut *self.memory();
        announced.retain(|known| known.at.elapsed() < REMEMBERED);
        hooks.retain(|_, presence| presence.waiting > 0 || presence.seen.elapsed() < REMEMBERED);
        names.retain(|id, _| hooks.contains_key(id));
        transcripts.retain(|_, named| named.elapsed() < REMEMBERED);
        typable.retain(|_, (_, at)| at.elapsed() < REMEMBERED);
    }

    fn forget(&self, id: &QuestionId) {
        let mut memory = self.memory();
        memory.names.remove(id);
        memory.askers.remove(id);
        memory.unhooked.remove(id);
        memory.times_out.remove(id);
        if memory.hooks.get(id).is_some_and(|presence| presence.waiting == 0) {
            memory.hooks.remove(id);
        }
    }
}

impl Presence {
    fn new() -> Self {
        Self { hooks: Vec::new(), waiting: 0, seen: Instant::now(), is_only_sign: false, was_told: false }
    }
}

enum HookPresence {
    Waits,
    Expected,
    Gone,
}

/// The turn to type into one terminal.
struct Keyboard {
    observed: Arc<Observed>,
    session: SessionId,
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.observed.memory().typing.remove(&self.session);
    }
}

/// A waiting hook.
struct Waiting {
    observed: Arc<Observed>,
    id: QuestionId,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(presence) = self.observed.memory().hooks.get_mut(&self.id) {
            presence.waiting = presence.waiting.saturating_sub(1);
            presence.seen = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use askd_core::{AskInput, Question, Status};

    use super::*;

    #[test]
    fn a_hook_is_not_waited_for_where_none_is_installed() {
        let input: AskInput = serde_json::from_str(r#"{"questions":[{"question":"Which?"}]}"#).unwrap();
        let question = |bits| Question {
            id: QuestionId::from_bits(bits),
            ask: input.clone().complete().unwrap().into(),
            status: Status::Requested,
            outcome: None,
            delivery: None,
            created_at: now(),
            seq: 1,
            road: None,
            agent_times_out_at: None,
            failed_tries: Vec::new(),
        };
        let (observed, hooked, unhooked) = (Observed::new(), question(1), question(2));
        observed.memory().unhooked.insert(unhooked.id.clone());
        assert!(matches!(observed.presence(&hooked), HookPresence::Expected));
        assert!(matches!(observed.presence(&unhooked), HookPresence::Gone));
        // One that comes all the same is heard.
        let observed = Arc::new(observed);
        let _waiting = observed.wait_for(&unhooked.id);
        assert!(matches!(observed.presence(&unhooked), HookPresence::Waits));
    }
}
