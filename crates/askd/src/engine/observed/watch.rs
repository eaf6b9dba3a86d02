//! Watching Claude Code's transcripts: inotify where it works, a slow look at everything beside it.
//!
//! In: a config folder, and transcripts that hooks have named. Out: questions that are open and those that the terminal answered.
//! Nothing of a transcript goes anywhere but the question and a short excerpt.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{RecursiveMode, Watcher};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, MissedTickBehavior, sleep_until};

use askd_adapters::agents::claude_hook::{Entry, Went};

use super::files::{Files, is_transcript, transcripts};
use super::identity::Call;
use super::registry::{self, Registered};
use super::session::Conversation;
use crate::engine::{Engine, EngineError};

/// How often everything is looked at where there is no inotify, and where there is one, for what it did not tell.
const UNTOLD: Duration = Duration::from_secs(10);
const TOLD: Duration = Duration::from_secs(60);
/// How often the transcripts are looked at in which a hook waits.
const OFTEN: Duration = Duration::from_millis(500);
/// Changes that wait; more than that and everything is looked at.
const CHANGES: usize = 1024;

impl Engine {
    /// Follows the transcripts of a config folder, and those that hooks name. Without a folder only the latter.
    pub fn observe(&self, config: Option<PathBuf>) {
        // What is there is noted before this returns: whatever comes afterwards is news.
        let watch = Watch::new(self.clone(), config);
        self.spawn(|_| watch.run());
    }
}

/// Its number, and when it was made: a number is used again.
type FolderId = (u64, Option<SystemTime>);

struct Watch {
    engine: Engine,
    config: Option<PathBuf>,
    projects: Option<PathBuf>,
    files: Files,
    changes: mpsc::Receiver<PathBuf>,
    changed: mpsc::Sender<PathBuf>,
    /// Changes were lost: everything is looked at.
    lost: Arc<Notify>,
    /// With the folder that it watches: another one may take its place.
    watcher: Option<(notify::RecommendedWatcher, FolderId)>,
}

impl Watch {
    fn new(engine: Engine, config: Option<PathBuf>) -> Self {
        let (changed, changes) = mpsc::channel(CHANGES);
        let projects = config.as_deref().map(|config| config.join("projects"));
        let mut files = Files::default();
        for path in projects.as_deref().map(transcripts).unwrap_or_default() {
            files.skip(&path);
        }
        Self { engine, config, projects, files, changes, changed, lost: Arc::default(), watcher: None }
    }

    async fn run(mut self) {
        self.first_look().await;
        let (mut next, lost) = (Instant::now(), Arc::clone(&self.lost));
        let mut often = tokio::time::interval(OFTEN);
        often.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let engine = self.engine.clone();
        let observed = &engine.inner.observed;
        loop {
            let mut paths: HashSet<PathBuf> = HashSet::new();
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
                () = lost.notified() => next = Instant::now(),
                () = sleep_until(next) => {
                    self.listen();
                    next = Instant::now() + if self.watcher.is_some() { TOLD } else { UNTOLD };
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

    /// What is there at the start: living sessions are read whole, all others only from now on.
    async fn first_look(&mut self) {
        self.listen();
        let Some(projects) = self.projects.clone() else { return };
        let living = self.living();
        let lives = |path: &Path| {
            let session = path.file_stem().and_then(|stem| stem.to_str());
            living.iter().any(|registered| Some(registered.session_id.as_str()) == session)
        };
        for path in transcripts(&projects) {
            if lives(&path) {
                self.files.read_whole(&path);
                self.look(&path, true).await;
            }
        }
    }

    fn living(&self) -> Vec<Registered> {
        self.config.as_deref().and_then(registry::living).unwrap_or_default()
    }

    /// The transcripts of hooks that wait; they may lie in another folder.
    fn hooked(&self) -> Vec<PathBuf> {
        let named: Vec<PathBuf> = self.engine.inner.observed.memory().transcripts.keys().cloned().collect();
        named.into_iter().filter(|path| self.files.has_grown(path)).collect()
    }

    /// Sets inotify up as soon as there is a folder, and again for another in its place; where it cannot be had, the slow look does
    /// its work.
    fn listen(&mut self) {
        let Some(projects) = self.projects.clone() else { return };
        let folder = std::fs::metadata(&projects).ok().filter(Metadata::is_dir);
        let folder = folder.map(|folder| (folder.ino(), folder.created().ok()));
        if folder == self.watcher.as_ref().map(|(_, watched)| *watched) {
            return;
        }
        self.watcher = None;
        let Some(folder) = folder else { return };
        let (changed, lost, root) = (self.changed.clone(), Arc::clone(&self.lost), projects.clone());
        let heard = move |event: notify::Result<notify::Event>| {
            let is_gone = |event: &notify::Event| event.kind.is_remove() && event.paths.contains(&root);
            let event = match event {
                Ok(event) if !event.need_rescan() && !is_gone(&event) => event,
                _ => return lost.notify_one(),
            };
            if !(event.kind.is_modify() || event.kind.is_create()) {
                return;
            }
            for path in event.paths.into_iter().filter(|path| is_transcript(&root, path)) {
                if changed.try_send(path).is_err() {
                    lost.notify_one();
                }
            }
        };
        let watcher = notify::recommended_watcher(heard).and_then(|mut watcher| {
            watcher.watch(&projects, RecursiveMode::Recursive)?;
            Ok(watcher)
        });
        match watcher {
            Ok(watcher) => self.watcher = Some((watcher, folder)),
            Err(error) => {
                tracing::warn!(%error, "cannot watch Claude Code's transcripts; looking at them now and then")
            }
        }
    }

    /// Reads on a thread of its own: a first look may be long.
    async fn read(&mut self, path: &Path) -> Vec<Entry> {
        let (mut files, path) = (std::mem::take(&mut self.files), path.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let entries = files.look(&path);
            (files, entries)
        });
        match read.await {
            Ok((files, entries)) => {
                self.files = files;
                entries
            }
            Err(_) => Vec::new(),
        }
    }

    async fn look(&mut self, path: &Path, is_old: bool) {
        let entries = self.read(path).await;
        if entries.is_empty() {
            return;
        }
        let living = self.living();
        let ended: HashSet<String> = entries.iter().filter_map(ended_id).collect();
        let asked: HashSet<String> = entries.iter().filter_map(asked_id).collect();
        for entry in entries {
            let told = match entry {
                Entry::Asked { ref call_id, .. } if ended.contains(call_id) => Ok(()),
                Entry::Asked { .. } => self.asked(entry, &living).await,
                Entry::Ended { ref call_id, .. } => {
                    let is_old = is_old || asked.contains(call_id);
                    self.ended(entry, &living, is_old).await
                }
            };
            if let Err(error) = told {
                tracing::error!(%error, "cannot note what a transcript tells");
            }
        }
    }

    /// The conversation, unless it is one of askd's own agents.
    async fn conversation(
        &self,
        session: String,
        cwd: Option<String>,
        living: &[Registered],
    ) -> Result<Option<Conversation>, EngineError> {
        let registered = living.iter().find(|registered| registered.session_id == session);
        if registered.is_some_and(|registered| registry::is_managed(registered.pid))
            || self.engine.is_managed_session(&session).await?
        {
            return Ok(None);
        }
        let cwd = cwd.or_else(|| registered.and_then(|registered| registered.cwd.clone()));
        Ok(Some(Conversation { native_id: session, cwd, pid: registered.map(|registered| registered.pid) }))
    }

    async fn asked(&self, entry: Entry, living: &[Registered]) -> Result<(), EngineError> {
        let Entry::Asked { tool, call_id, message_id, input, session, cwd, excerpt } = entry else {
            return Ok(());
        };
        let Some(conversation) = self.conversation(session, cwd.clone(), living).await? else {
            return Ok(());
        };
        let seen =
            askd_adapters::agents::claude_hook::Seen { call_id: Some(call_id), message_id, cwd, excerpt };
        self.engine.transcript_asks(&conversation, Call { tool, input: &input, seen }).await
    }

    async fn ended(&self, entry: Entry, living: &[Registered], is_old: bool) -> Result<(), EngineError> {
        let Entry::Ended { tool, call_id, session, input, is_error, told, result } = entry else {
            return Ok(());
        };
        let went = Went { is_error, result: result.as_ref(), told: told.as_deref() };
        if is_old {
            return self.engine.old_call_ended(&session, &call_id, tool, went).await;
        }
        let Some(conversation) = self.conversation(session, None, living).await? else { return Ok(()) };
        self.engine.call_ended(&conversation, &call_id, tool, &input, went).await
    }
}

fn ended_id(entry: &Entry) -> Option<String> {
    if let Entry::Ended { call_id, .. } = entry { Some(call_id.clone()) } else { None }
}

fn asked_id(entry: &Entry) -> Option<String> {
    if let Entry::Asked { call_id, .. } = entry { Some(call_id.clone()) } else { None }
}
