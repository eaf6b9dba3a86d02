//! The hub's one `inotify` instance. A user has few instances (128 by default), and each Claude Code takes
//! one: the hub takes its own at the start, keeps it, and watches all folders with it.
//!
//! In: folders that may come, go, or be replaced. Out: changed transcripts, changes of the list of live
//! sessions, or lost changes. If no instance is free, it reports that, and the caller polls.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use notify::event::{CreateKind, RemoveKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::{Notify, mpsc};

use super::files::is_transcript;
use super::folders::PROJECTS;
use super::registry::SESSIONS;

/// Its number, and when it was made: a number is used again.
type FolderId = (u64, Option<SystemTime>);

/// The receiver of changes.
#[derive(Clone)]
pub(super) struct Heard {
    pub transcripts: mpsc::Sender<PathBuf>,
    /// The list of living sessions has changed.
    pub registry: Arc<Notify>,
    /// Changes were lost: everything is looked at.
    pub lost: Arc<Notify>,
}

pub(super) struct Ears {
    config: PathBuf,
    heard: Heard,
    watcher: Result<RecommendedWatcher, String>,
    watched: HashMap<PathBuf, FolderId>,
}

impl Ears {
    /// Takes the instance early, before other programs take the last one.
    pub(super) fn new(config: PathBuf, heard: Heard) -> Self {
        let mut ears = Self { config, heard, watcher: Err(String::new()), watched: HashMap::new() };
        ears.take();
        ears
    }

    /// The reason why no changes arrive, if there is one.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.watcher.as_ref().err().map(String::as_str)
    }

    /// True if changes of transcripts arrive.
    pub(super) fn hears(&self) -> bool {
        self.watched.contains_key(&self.config.join(PROJECTS))
    }

    /// Watches the folders once they exist, and again after one was replaced.
    pub(super) fn listen(&mut self) {
        if self.watcher.is_err() {
            self.take();
        }
        for (name, mode) in [(PROJECTS, RecursiveMode::Recursive), (SESSIONS, RecursiveMode::NonRecursive)] {
            let folder = self.config.join(name);
            if let Err(error) = self.watch(&folder, mode) {
                // Gives the instance back and takes a new one, with all folders.
                self.watched.clear();
                self.watcher = Err(why(&error));
                return;
            }
        }
    }

    fn watch(&mut self, folder: &Path, mode: RecursiveMode) -> notify::Result<()> {
        let Ok(watcher) = &mut self.watcher else { return Ok(()) };
        let there = std::fs::metadata(folder).ok().filter(Metadata::is_dir);
        let there = there.map(|meta| (meta.ino(), meta.created().ok()));
        if there.as_ref() == self.watched.get(folder) {
            return Ok(());
        }
        if self.watched.remove(folder).is_some() {
            // The kernel itself drops the watches of a removed folder.
            drop(watcher.unwatch(folder));
        }
        if let Some(there) = there {
            watcher.watch(folder, mode)?;
            self.watched.insert(folder.to_owned(), there);
        }
        Ok(())
    }

    fn take(&mut self) {
        let (projects, sessions) = (self.config.join(PROJECTS), self.config.join(SESSIONS));
        let heard = self.heard.clone();
        let hear = move |event: notify::Result<notify::Event>| {
            let is_gone = |event: &notify::Event| event.kind.is_remove() && event.paths.contains(&projects);
            let event = match event {
                Ok(event) if !event.need_rescan() && !is_gone(&event) => event,
                _ => return heard.lost.notify_one(),
            };
            let is_change = event.kind.is_modify()
                || matches!(
                    event.kind,
                    EventKind::Create(CreateKind::File | CreateKind::Folder | CreateKind::Any)
                );
            let is_end = matches!(event.kind, EventKind::Remove(RemoveKind::File | RemoveKind::Any));
            if (is_change || is_end) && event.paths.iter().any(|path| path.parent() == Some(&sessions)) {
                heard.registry.notify_one();
            }
            if !is_change {
                return;
            }
            for path in event.paths.into_iter().filter(|path| is_transcript(&projects, path)) {
                if heard.transcripts.try_send(path).is_err() {
                    heard.lost.notify_one();
                }
            }
        };
        self.watched.clear();
        self.watcher = notify::recommended_watcher(hear).map_err(|error| why(&error));
    }
}

/// The remedy for a person, if it is known.
fn why(error: &notify::Error) -> String {
    let limit = |name: &str| {
        let limit = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).unwrap_or_default();
        format!("the limit is {}; raise it with: sysctl fs.inotify.{name}=8192", limit.trim())
    };
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            format!("no inotify watch is free: {}", limit("max_user_watches"))
        }
        notify::ErrorKind::Io(io) if io.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            format!(
                "no inotify instance is free, because each Claude Code takes one: {}",
                limit("max_user_instances")
            )
        }
        _ => error.to_string(),
    }
}
