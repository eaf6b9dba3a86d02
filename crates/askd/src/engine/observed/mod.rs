//! Claude Code in terminals that askd did not start: heard by its hooks and its transcripts, answered by the hook that waits, or by
//! keys in its tmux pane where no hook is.
//!
//! In: reports of hooks and lines of transcripts, in any order, repeated, or lost. Out: one question per tool call, whichever
//! road saw it first; the decision for the hook; and what the terminal answered. A hook that goes away cancels nothing.

mod evidence;
mod files;
mod hooks;
mod identity;
mod keys;
mod liveness;
mod mouth;
mod peek;
mod registry;
mod road;
mod session;
mod watch;
mod whose;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use askd_core::{Question, QuestionId, SessionId, SourceId};

use crate::engine::now;

pub use hooks::{HookHeard, HookReport, HookWord};
pub(super) use liveness::is_alive;

/// The kind of the source that stands for the hooks and transcripts of this machine.
pub(super) const HOOK: &str = "hook";
/// How long after a question was seen its hook may still come, also on a busy machine.
const COMES_WITHIN: Duration = Duration::from_secs(5);
/// How long after a hook was last there it is still expected back: a hub restarts in less.
const BACK_WITHIN: Duration = Duration::from_secs(15);
/// How long things are remembered of which nothing is heard any more; a waiting hook reports every hour.
const REMEMBERED: Duration = Duration::from_secs(2 * 3600);

/// What is remembered of hooks and transcripts; everything that must outlive the hub is in the store.
pub(super) struct Observed {
    /// One sighting at a time: two roads that see a question at once must make one question.
    turn: tokio::sync::Mutex<Place>,
    /// Wakes a sighting that waits for the name of its call.
    named: Notify,
    /// Wakes the watch of transcripts when a hook begins to wait in one.
    hooked: Notify,
    /// Wakes the watch of processes when there is one.
    lives: Notify,
    memory: Mutex<Memory>,
    born: Instant,
}

#[derive(Default)]
struct Place {
    source: Option<SourceId>,
}

#[derive(Default)]
struct Memory {
    /// The source of all of them, for readers who must not wait for a turn.
    source: Option<SourceId>,
    /// Calls that were announced and are no question yet, oldest first.
    announced: Vec<Announced>,
    /// Names of calls that were learnt after their question was stored.
    names: HashMap<QuestionId, String>,
    hooks: HashMap<QuestionId, Presence>,
    /// The processes of sessions, and when they started where that is known, so that a reused number is not taken for them.
    processes: HashMap<u32, Option<u64>>,
    /// Transcripts in which hooks wait.
    transcripts: HashMap<PathBuf, Instant>,
    /// Sessions into whose terminals an answer is being typed.
    typing: HashSet<SessionId>,
    /// Whether sessions run in tmux, and when that was seen.
    typable: HashMap<SessionId, (bool, Instant)>,
}

struct Announced {
    session: String,
    call_id: String,
    likeness: String,
    at: Instant,
}

/// The hooks that wait for one question.
struct Presence {
    hooks: Vec<String>,
    waiting: usize,
    seen: Instant,
}

impl Observed {
    pub(super) fn new() -> Self {
        Self {
            turn: tokio::sync::Mutex::default(),
            named: Notify::new(),
            hooked: Notify::new(),
            lives: Notify::new(),
            memory: Mutex::default(),
            born: Instant::now(),
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a hook waits for this question, or may be here in a moment.
    fn presence(&self, question: &Question) -> HookPresence {
        let age = u64::try_from(now().millis() - question.created_at.millis()).unwrap_or(0);
        let age = Duration::from_millis(age);
        let is_expected = match self.memory().hooks.get(&question.id) {
            Some(presence) if presence.waiting > 0 => return HookPresence::Waits,
            Some(presence) => presence.seen.elapsed() < BACK_WITHIN,
            // Its hook may not have found this hub yet.
            None if age > self.born.elapsed() => self.born.elapsed() < BACK_WITHIN,
            None => age < COMES_WITHIN,
        };
        if is_expected { HookPresence::Expected } else { HookPresence::Gone }
    }

    fn join(&self, id: &QuestionId, hook: &str) {
        let mut memory = self.memory();
        let presence = memory.hooks.entry(id.clone()).or_insert_with(Presence::new);
        presence.seen = Instant::now();
        if !presence.hooks.iter().any(|known| known == hook) {
            presence.hooks.push(hook.to_owned());
        }
    }

    fn wait_for(self: &Arc<Self>, id: &QuestionId) -> Waiting {
        self.memory().hooks.entry(id.clone()).or_insert_with(Presence::new).waiting += 1;
        Waiting { observed: Arc::clone(self), id: id.clone() }
    }

    /// The turn to type into a session's terminal, unless somebody has it.
    fn take_keyboard(self: &Arc<Self>, session: &SessionId) -> Option<Keyboard> {
        let is_free = self.memory().typing.insert(session.clone());
        is_free.then(|| Keyboard { observed: Arc::clone(self), session: session.clone() })
    }

    /// Forgets what nobody has spoken of for long.
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
        if memory.hooks.get(id).is_some_and(|presence| presence.waiting == 0) {
            memory.hooks.remove(id);
        }
    }
}

impl Presence {
    fn new() -> Self {
        Self { hooks: Vec::new(), waiting: 0, seen: Instant::now() }
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

/// A hook that is waiting now.
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
