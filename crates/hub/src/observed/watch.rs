//! Watches Claude Code's transcripts: `inotify`, and a slow look at everything beside it.
//!
//! In: a config folder, and transcripts that hooks have named. Out: open questions, and those that the
//! terminal answered. Only the question and a short excerpt leave a transcript.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, MissedTickBehavior, sleep_until};

use askd_agents::claude_hook::{Entry, TIME_OUT_VARIABLE, Went, time_out};
use askd_core::SourceState;
use askd_data::regular::open_regular;
use askd_holder::process;

use super::LocalAgents;
use super::activity::Listed;
use super::ears::{Ears, Heard};
use super::files::{Files, Look, transcripts};
use super::folders::{PROJECTS, config_of};
use super::identity::Call;
use super::installed::may_be_hooked;
use super::registry::{self, Registered};
use super::session::Conversation;
use crate::EngineError;

/// The pause between looks at everything: for changes that `inotify` missed, or in its place.
const UNTOLD: Duration = Duration::from_secs(10);
const TOLD: Duration = Duration::from_secs(60);
/// The pause between looks at transcripts with a waiting hook.
const OFTEN: Duration = Duration::from_millis(500);
/// Bytes of a settings file; they have a few thousand.
const MAX_SETTINGS: u64 = 1 << 20;
/// How often the list of living sessions is looked at at most: many agents write into it.
const LISTED_AT_MOST: Duration = Duration::from_secs(1);
/// The pause between looks at the list, and at transcripts of live sessions, without `inotify`.
const LISTED_UNTOLD: Duration = Duration::from_secs(1);
/// Changes that wait; with more, everything is looked at.
const CHANGES: usize = 1024;

impl LocalAgents {
    /// Follows the transcripts of a config folder, and those that hooks name. Without a folder only the
    /// latter.
    pub fn observe(&self, config: Option<PathBuf>) {
        // The present files are recorded before this returns: every later change is news.
        let watch = Watch::new(self.clone(), config);
        self.hub().tasks.spawn(watch.run());
    }
}

struct Watch {
    local: LocalAgents,
    config: Option<PathBuf>,
    projects: Option<PathBuf>,
    files: Files,
    /// Files that one look did not finish, with the entries so far.
    unread: HashMap<PathBuf, Vec<Entry>>,
    changes: mpsc::Receiver<PathBuf>,
    /// Changes were lost: everything is looked at.
    lost: Arc<Notify>,
    /// The list of living sessions has changed.
    registered: Arc<Notify>,
    listed: Listed,
    ears: Option<Ears>,
    /// The reason why no changes arrive, as it was reported.
    trouble: Option<String>,
    told_trouble: Option<String>,
}

impl Watch {
    fn new(local: LocalAgents, config: Option<PathBuf>) -> Self {
        let (changed, changes) = mpsc::channel(CHANGES);
        // Without its links: hooks' transcripts are named so too.
        let real = |config: PathBuf| match local.inner.observed.folders.get() {
            Some(folders) => folders.real(&config),
            None => config,
        };
        let config = config.map(real);
        let projects = config.as_deref().map(|config| config.join(PROJECTS));
        let mut files = Files::default();
        for path in projects.as_deref().map(transcripts).unwrap_or_default() {
            files.skip(&path);
        }
        let (lost, registered) = (Arc::<Notify>::default(), Arc::<Notify>::default());
        let heard =
            Heard { transcripts: changed, registry: Arc::clone(&registered), lost: Arc::clone(&lost) };
        let ears = config.clone().map(|config| Ears::new(config, heard));
        Self {
            local,
            config,
            projects,
            files,
            unread: HashMap::new(),
            changes,
            lost,
            registered,
            listed: Listed::default(),
            ears,
            trouble: None,
            told_trouble: None,
        }
    }

    async fn run(mut self) {
        self.first_look().await;
        let (mut next, lost) = (Instant::now(), Arc::clone(&self.lost));
        let (mut next_list, registered) = (Instant::now(), Arc::clone(&self.registered));
        let mut listed_at = Instant::now();
        let mut often = tokio::time::interval(OFTEN);
        often.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let local = self.local.clone();
        let observed = &local.inner.observed;
        let lists = self.config.is_some();
        loop {
            let mut paths: HashSet<PathBuf> = HashSet::new();
            let is_behind = !self.unread.is_empty();
            let hooks_wait = !observed.memory().transcripts.is_empty();
            tokio::select! {
                Some(path) = self.changes.recv() => {
                    paths.insert(path);
                    while let Ok(path) = self.changes.try_recv() {
                        paths.insert(path);
                    }
                }
                _ = often.tick(), if hooks_wait => paths.extend(self.hooked()),
                () = observed.hooked.notified(), if !hooks_wait => {}
                () = tokio::task::yield_now(), if is_behind => paths.extend(self.unread.keys().cloned()),
                () = lost.notified() => next = Instant::now(),
                () = registered.notified() => next_list = next_list.min(listed_at + LISTED_AT_MOST),
                () = sleep_until(next_list), if lists => {
                    paths.extend(self.look_at_registry().await);
                    listed_at = Instant::now();
                    next_list = listed_at + if self.hears() { UNTOLD } else { LISTED_UNTOLD };
                }
                () = sleep_until(next) => {
                    self.listen();
                    next = Instant::now() + if self.hears() { TOLD } else { UNTOLD };
                    self.files.rest();
                    let all = self.projects.as_deref().map(transcripts).unwrap_or_default();
                    paths.extend(all.into_iter().filter(|path| self.files.has_grown(path)));
                }
            }
            for path in paths {
                self.look(&path, false).await;
            }
        }
    }

    /// Reads a file to its end, a look at a time.
    async fn look_whole(&mut self, path: &Path) {
        loop {
            self.look(path, true).await;
            if !self.unread.contains_key(path) {
                return;
            }
        }
    }

    /// The first look: transcripts of live sessions are read whole, all others only from now on.
    async fn first_look(&mut self) {
        self.listen();
        let Some(projects) = self.projects.clone() else { return };
        let living = self.living().unwrap_or_default();
        let lives = |path: &Path| {
            let session = path.file_stem().and_then(|stem| stem.to_str());
            living.iter().any(|registered| Some(registered.session_id.as_str()) == session)
        };
        for path in transcripts(&projects) {
            if lives(&path) {
                self.files.read_whole(&path);
                self.look_whole(&path).await;
            }
        }
    }

    /// The live sessions by the agent's own list; `None` if its version keeps no list.
    fn living(&self) -> Option<Vec<Registered>> {
        self.config.as_deref().and_then(registry::living)
    }

    /// The same for the config folder of a transcript, which can be another for a hook.
    fn living_beside(path: &Path) -> Option<Vec<Registered>> {
        config_of(path).and_then(registry::living)
    }

    /// The transcripts with a waiting hook; they may be in another folder.
    fn hooked(&self) -> Vec<PathBuf> {
        let named: Vec<PathBuf> = self.local.inner.observed.memory().transcripts.keys().cloned().collect();
        named.into_iter().filter(|path| self.files.has_grown(path)).collect()
    }

    /// Sets up `inotify` for the folders that exist. A failure is reported once, and the slow look takes
    /// over.
    fn listen(&mut self) {
        let Some(ears) = &mut self.ears else { return };
        ears.listen();
        let trouble = ears.trouble().map(str::to_owned);
        if let Some(why) = &trouble
            && self.trouble.is_none()
        {
            tracing::warn!(
                why,
                "cannot watch Claude Code's transcripts; looking at those of living sessions once a second"
            );
        }
        self.trouble = trouble;
    }

    fn hears(&self) -> bool {
        self.ears.as_ref().is_some_and(Ears::hears)
    }

    /// Reads the list of live sessions, and returns their transcripts if no changes arrive.
    async fn look_at_registry(&mut self) -> Vec<PathBuf> {
        let local = self.local.clone();
        let living = match local.look_at_registry(&mut self.listed).await {
            Ok(living) => living,
            Err(error) => {
                tracing::error!(%error, "cannot note Claude Code's living sessions");
                return Vec::new();
            }
        };
        self.tell_trouble().await;
        let Some(projects) = self.projects.as_deref().filter(|_| !self.hears()) else { return Vec::new() };
        let paths = living.iter().filter_map(|entry| entry.transcript(projects));
        paths.filter(|path| self.files.has_grown(path)).collect()
    }

    /// Stores at the source how well changes arrive, for `askd doctor` and the page.
    async fn tell_trouble(&mut self) {
        let source = self.local.inner.observed.memory().source.clone();
        let Some(source) = source.filter(|_| self.told_trouble != self.trouble) else { return };
        let trouble = self.trouble.clone().map(|why| {
            format!("its transcripts are looked at once a second instead of watched, because {why}")
        });
        match self.local.hub().sources.set_state(&source, SourceState::Connected, trouble).await {
            Ok(()) => self.told_trouble = self.trouble.clone(),
            Err(error) => tracing::error!(%error, "cannot note how well Claude Code's transcripts are heard"),
        }
    }

    /// Reads on a thread of its own: a first look may be long.
    async fn read(&mut self, path: &Path) -> Look {
        let (mut files, path) = (std::mem::take(&mut self.files), path.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let look = files.look(&path);
            (files, look)
        });
        match read.await {
            Ok((files, look)) => {
                self.files = files;
                look
            }
            Err(_) => Look::default(),
        }
    }

    async fn look(&mut self, path: &Path, is_old: bool) {
        let Look { entries: fresh, more } = self.read(path).await;
        let mut entries = self.unread.remove(path).unwrap_or_default();
        entries.extend(fresh);
        if more {
            // A question here may end further on in the file.
            self.unread.insert(path.to_owned(), entries);
            return;
        }
        if entries.is_empty() {
            return;
        }
        let living = Self::living_beside(path);
        let living = living.as_deref();
        let ended: HashSet<String> = entries.iter().filter_map(ended_id).collect();
        let asked: HashSet<String> = entries.iter().filter_map(asked_id).collect();
        for entry in entries {
            let told = match entry {
                Entry::Asked { ref call_id, .. } if ended.contains(call_id) => Ok(()),
                Entry::Asked { .. } => self.asked(path, entry, living).await,
                Entry::Ended { ref call_id, .. } => {
                    let is_old = is_old || asked.contains(call_id);
                    self.ended(entry, living, is_old).await
                }
            };
            if let Err(error) = told {
                tracing::error!(%error, "cannot note what a transcript tells");
            }
        }
    }

    /// The conversation, if it lives in a terminal: with a process in the agent's own list, or seen there by
    /// a hook. An agent that askd started has a channel of its own, and the transcript of an ended one is no
    /// conversation.
    async fn conversation(
        &self,
        session: String,
        cwd: Option<String>,
        living: Option<&[Registered]>,
        is_by_program: bool,
    ) -> Result<Option<Conversation>, EngineError> {
        let known = self.local.known_as(&session).await?;
        let holder = registry::holder(living.unwrap_or_default(), &session);
        // A version without the list has no processes to look for.
        let may_live = holder.is_some() || (!known.was_managed && (known.is_live || living.is_none()));
        // A terminal may take up a conversation while askd's own agent holds it: what the terminal writes
        // comes by no other channel.
        let is_of_terminal = holder.is_some() && !is_by_program;
        if (known.managed && !is_of_terminal) || !may_live {
            return Ok(None);
        }
        let cwd = cwd.or_else(|| holder.and_then(|registered| registered.cwd.clone()));
        let pid = holder.map(|registered| registered.pid);
        Ok(Some(Conversation { native_id: session, cwd, pid, times_out: None, has_no_hook: false }))
    }

    async fn asked(
        &self,
        path: &Path,
        entry: Entry,
        living: Option<&[Registered]>,
    ) -> Result<(), EngineError> {
        let Entry::Asked { tool, call_id, message_id, input, session, cwd, excerpt, is_by_program } = entry
        else {
            return Ok(());
        };
        let Some(mut conversation) = self.conversation(session, cwd.clone(), living, is_by_program).await?
        else {
            return Ok(());
        };
        conversation.times_out = times_out(config_of(path), conversation.pid);
        let (config, folder) = (config_of(path).map(Path::to_owned), conversation.cwd.clone());
        let pid = conversation.pid;
        let looked = move || may_be_hooked(config.as_deref(), folder.as_deref(), pid);
        let may_be_hooked = tokio::task::spawn_blocking(looked).await.unwrap_or(true);
        conversation.has_no_hook = !may_be_hooked;
        let seen = askd_agents::claude_hook::Seen { call_id: Some(call_id), message_id, cwd, excerpt };
        self.local.transcript_asks(&conversation, Call { tool, input: &input, seen }).await
    }

    async fn ended(
        &self,
        entry: Entry,
        living: Option<&[Registered]>,
        is_old: bool,
    ) -> Result<(), EngineError> {
        let Entry::Ended { tool, call_id, session, input, is_error, told, result, is_by_program } = entry
        else {
            return Ok(());
        };
        let went = Went { is_error, result: result.as_ref(), told: told.as_deref() };
        let conversation = match is_old {
            true => None,
            false => self.conversation(session.clone(), None, living, is_by_program).await?,
        };
        match conversation {
            Some(conversation) => self.local.call_ended(&conversation, &call_id, tool, &input, went).await,
            // It becomes no session, but a question with its native id has ended.
            None => self.local.old_call_ended(&session, &call_id, tool, went).await,
        }
    }
}

/// The agent's own time-out, from its environment and the settings of its config folder. Only hooks know a
/// project's settings.
fn times_out(config: Option<&Path>, pid: Option<u32>) -> Option<Duration> {
    let pid = pid.and_then(|pid| i32::try_from(pid).ok());
    let variable = pid.and_then(|pid| process::variable(pid, TIME_OUT_VARIABLE).ok().flatten());
    let read = |config: &Path| {
        let mut bytes = Vec::new();
        let file = open_regular(&config.join("settings.json")).ok()?;
        file.take(MAX_SETTINGS).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    let settings: Option<Value> = config.and_then(read);
    time_out(variable.as_deref(), &settings)
}

fn ended_id(entry: &Entry) -> Option<String> {
    if let Entry::Ended { call_id, .. } = entry { Some(call_id.clone()) } else { None }
}

fn asked_id(entry: &Entry) -> Option<String> {
    if let Entry::Asked { call_id, .. } = entry { Some(call_id.clone()) } else { None }
}
