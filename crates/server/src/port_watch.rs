//! Names the clients that still speak to the port with the token that the data folder has for hooks: hooks
//! and plugins that an askd before the socket installed. They are served as before, and named in the log and
//! by `askd doctor`.
//!
//! In: every request with a good token. Out: one line in the log for each kind, and a note in the data
//! folder.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::request::Parts;

use askd_core::{Timestamp, TokenId};
use askd_hub::TokenRecord;

use super::server::Arrival;
use askd_data::{OnThePort, note_on_the_port, read_on_the_port};

/// How often the note is brought up to date while such requests come.
const NOTE_EVERY: Duration = Duration::from_secs(3600);

/// Counts nothing without the tokens to watch.
#[derive(Debug, Clone, Default)]
pub struct PortWatch(Option<Arc<Watch>>);

#[derive(Debug)]
struct Watch {
    /// The id of the token for hooks.
    token: TokenId,
    note: PathBuf,
    seen: Mutex<OnThePort>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Hook,
    Plugin,
}

impl PortWatch {
    pub fn new(token: TokenId, note: PathBuf) -> Self {
        Self(Some(Arc::new(Watch { token, note, seen: Mutex::default() })))
    }

    pub(super) fn look(&self, parts: &Parts, token: &TokenRecord) {
        let Some(watch) = &self.0 else { return };
        let by_port = parts.extensions.get() == Some(&Arrival::Port { loopback: true });
        if let Some(sort) = sort_of(parts.uri.path())
            && by_port
            && token.id == watch.token
        {
            watch.saw(sort, askd_hub::now());
        }
    }
}

fn sort_of(path: &str) -> Option<Sort> {
    if path.starts_with("/v1/hooks/") {
        Some(Sort::Hook)
    } else if path.starts_with("/v1/plugins/") {
        Some(Sort::Plugin)
    } else {
        None
    }
}

impl Watch {
    fn saw(self: &Arc<Self>, sort: Sort, now: Timestamp) {
        let first = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let place = match sort {
                Sort::Hook => &mut seen.hook,
                Sort::Plugin => &mut seen.plugin,
            };
            let age = place.map(|last| now.millis() - last.millis());
            if age.is_some_and(|age| u128::try_from(age).is_ok_and(|age| age < NOTE_EVERY.as_millis())) {
                return;
            }
            place.replace(now).is_none()
        };
        if first {
            let (what, mend) = match sort {
                Sort::Hook => ("a hook of Claude Code", "askd install claude"),
                Sort::Plugin => ("a plugin of OpenCode", "askd install opencode"),
            };
            tracing::warn!(
                "{what} of an earlier askd speaks to the port; it still works, and this brings the new one: {mend}"
            );
        }
        let watch = Arc::clone(self);
        tokio::task::spawn_blocking(move || watch.write());
    }

    /// An earlier hub's record of the other kind stays.
    fn write(&self) {
        // Requests do not wait for the disk.
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let before = read_on_the_port(&self.note);
        let all = OnThePort { hook: seen.hook.or(before.hook), plugin: seen.plugin.or(before.plugin) };
        if let Err(error) = note_on_the_port(&self.note, &all) {
            tracing::warn!(%error, "cannot write {}", self.note.display());
        }
    }
}
