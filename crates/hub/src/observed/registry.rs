//! Claude Code's own list of its living sessions: `sessions/PID.json` in its config folder. The `.key` files
//! beside them are secrets of the program and are never opened.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::files::is_transcript;
use askd_core::Timestamp;
use askd_core::session::{Activity, ActivityState};

use askd_data::regular::open_regular;
use askd_holder::process;

/// The folder of the entries in a config folder.
pub(super) const SESSIONS: &str = "sessions";
/// Characters of `waitingFor`; the agent writes two words.
const MAX_WAITING_FOR: usize = 200;
/// Bytes of one entry; they have a few hundred.
const MAX_ENTRY: u64 = 64 << 10;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Registered {
    pub pid: u32,
    pub session_id: String,
    #[serde(default)]
    pub cwd: Option<String>,
    /// When the process began, in milliseconds since 1970.
    #[serde(default)]
    pub started_at: i64,
    /// When the entry was last written.
    #[serde(default)]
    updated_at: i64,
    /// The start of the process as the kernel counts it, so that a reused process id is not mistaken for it.
    #[serde(default)]
    proc_start: Option<String>,
    /// The agent's activity: `idle`, `busy` or `waiting`.
    #[serde(default)]
    status: Option<String>,
    /// The subject of its wait, in its own words.
    #[serde(default)]
    waiting_for: Option<String>,
    /// When its status was last another one, in milliseconds since 1970.
    #[serde(default)]
    status_updated_at: Option<i64>,
    /// How it was started: `cli` in a terminal, `sdk-cli` by a program.
    #[serde(default)]
    entrypoint: Option<String>,
}

impl Registered {
    /// True if a person can see it: an agent that a program runs (`claude -p`) has no terminal.
    pub(super) fn has_terminal(&self) -> bool {
        self.entrypoint.as_deref().is_none_or(|entrypoint| !entrypoint.starts_with("sdk"))
    }

    /// Its activity, if its version reports one.
    pub(super) fn activity(&self) -> Option<Activity> {
        let state = match self.status.as_deref()? {
            "idle" => ActivityState::Idle,
            "busy" => ActivityState::Working,
            "waiting" => ActivityState::Waiting,
            _ => return None,
        };
        let short = |text: &String| text.chars().take(MAX_WAITING_FOR).collect();
        let waiting_for = self.waiting_for.as_ref().filter(|_| state == ActivityState::Waiting).map(short);
        Some(Activity { state, waiting_for, since: self.status_updated_at.map(Timestamp::from_millis) })
    }

    /// The path of its transcript. The folder's name is the working folder with a dash for each other
    /// character.
    pub(super) fn transcript(&self, projects: &Path) -> Option<PathBuf> {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let folder: String = self.cwd.as_deref()?.chars().map(plain).collect();
        let path = projects.join(folder).join(format!("{}.jsonl", self.session_id));
        is_transcript(projects, &path).then_some(path)
    }

    /// True if the process with this start wrote the entry. Versions without a start are trusted.
    fn is_by(&self, start_time: u64) -> bool {
        let written = self.proc_start.as_deref().and_then(|text| text.parse::<u64>().ok());
        written.is_none_or(|written| written == start_time)
    }
}

/// The live process with this conversation. A killed one leaves its entry, and two may have the same one:
/// then the latest entry counts.
pub(super) fn holder<'a>(living: &'a [Registered], session: &str) -> Option<&'a Registered> {
    let holds = |registered: &&Registered| registered.session_id == session && !is_managed(registered.pid);
    living.iter().filter(holds).reduce(later)
}

/// The later of two entries.
pub(super) fn later<'a>(one: &'a Registered, other: &'a Registered) -> &'a Registered {
    let heard = |registered: &Registered| (registered.updated_at, registered.started_at);
    if heard(other) >= heard(one) { other } else { one }
}

/// The sessions with a live process. `None` if this version keeps no list.
pub(super) fn living(config: &Path) -> Option<Vec<Registered>> {
    // Without `/proc` the list means nothing.
    if !Path::new("/proc/self").exists() {
        return None;
    }
    let entries = std::fs::read_dir(config.join(SESSIONS)).ok()?;
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let pid: u32 = name.to_str()?.strip_suffix(".json")?.parse().ok()?;
        let mut bytes = Vec::new();
        open_regular(&entry.path()).ok()?.take(MAX_ENTRY).read_to_end(&mut bytes).ok()?;
        let registered: Registered = serde_json::from_slice(&bytes).ok()?;
        let facts = process::facts(i32::try_from(pid).ok()?).ok()??;
        let is_it = registered.pid == pid && !facts.is_zombie() && registered.is_by(facts.start_time);
        is_it.then_some(registered)
    };
    Some(entries.flatten().filter_map(read).collect())
}

/// True if askd started the process: its questions come by its own channel.
pub(super) fn is_managed(pid: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(b"ASKD_SESSION="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_of_living_processes_count_and_keys_are_not_read() {
        let config = tempfile::tempdir().unwrap();
        assert!(living(config.path()).is_none());
        let folder = config.path().join("sessions");
        std::fs::create_dir(&folder).unwrap();
        let own = std::process::id();
        let entry =
            |pid: u32| format!(r#"{{"pid":{pid},"sessionId":"s-{pid}","cwd":"/w","status":"waiting"}}"#);
        std::fs::write(folder.join(format!("{own}.json")), entry(own)).unwrap();
        std::fs::write(folder.join("999999999.json"), entry(999_999_999)).unwrap();
        // A number that is used again is another process.
        let other = entry(1).replace(r#""status""#, r#""procStart":"1","status""#);
        std::fs::write(folder.join("1.json"), other).unwrap();
        // Were it opened, it would be read as a second entry.
        std::fs::write(folder.join(format!("{own}.abc.key")), entry(own)).unwrap();
        let found = living(config.path()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].session_id.clone(), found[0].pid), (format!("s-{own}"), own));
    }
}
