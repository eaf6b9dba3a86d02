//! Claude Code in terminals that askd did not start: heard by its hooks and its transcripts, answered by the hook that waits.
//!
//! In: reports of hooks and lines of transcripts, in any order, repeated, or lost. Out: one question per tool call, whichever
//! road saw it first; the decision for the hook; and what the terminal answered. A hook that goes away cancels nothing.

mod evidence;
mod files;
mod hooks;
mod identity;
mod liveness;
mod mouth;
mod peek;
mod registry;
mod session;
mod watch;
mod whose;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use askd_core::{QuestionId, SourceId};

pub use hooks::{HookHeard, HookReport, HookWord};
pub(super) use liveness::is_alive;

/// The kind of the source that stands for the hooks and transcripts of this machine.
pub(super) const HOOK: &str = "hook";
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
    memory: Mutex<Memory>,
    born: Instant,
}

#[derive(Default)]
struct Place {
    source: Option<SourceId>,
}

#[derive(Default)]
struct Memory {
    /// Calls that were announced and are no question yet, oldest first.
    announced: Vec<Announced>,
    /// Names of calls that were learnt after their question was stored.
    names: HashMap<QuestionId, String>,
    hooks: HashMap<QuestionId, Presence>,
    /// When the processes of sessions started, so that a reused number is not taken for them.
    processes: HashMap<u32, u64>,
    /// Transcripts in which hooks wait.
    transcripts: HashMap<PathBuf, Instant>,
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
            memory: Mutex::default(),
            born: Instant::now(),
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a hook waits for this question, or may be back in a moment.
    fn presence(&self, id: &QuestionId) -> HookPresence {
        let memory = self.memory();
        let seen = match memory.hooks.get(id) {
            Some(presence) if presence.waiting > 0 => return HookPresence::Waits,
            Some(presence) => presence.seen,
            None => self.born,
        };
        if seen.elapsed() < BACK_WITHIN { HookPresence::Expected } else { HookPresence::Gone }
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

    /// Forgets what nobody has spoken of for long.
    fn prune(&self) {
        let Memory { announced, names, hooks, transcripts, .. } = &mut *self.memory();
        announced.retain(|known| known.at.elapsed() < REMEMBERED);
        hooks.retain(|_, presence| presence.waiting > 0 || presence.seen.elapsed() < REMEMBERED);
        names.retain(|id, _| hooks.contains_key(id));
        transcripts.retain(|_, named| named.elapsed() < REMEMBERED);
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
