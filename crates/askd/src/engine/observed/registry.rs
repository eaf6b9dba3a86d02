//! Claude Code's own list of its living sessions: `sessions/PID.json` in its config folder. The `.key` files beside them are
//! secrets of the program and are never opened.

use std::path::Path;

use serde::Deserialize;

use askd_adapters::transport::process;

/// Bytes of one entry; they have a few hundred.
const MAX_ENTRY: u64 = 64 << 10;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Registered {
    pub pid: u32,
    pub session_id: String,
    #[serde(default)]
    pub cwd: Option<String>,
}

/// The sessions whose process lives. `None`: this version keeps no list.
pub(super) fn living(config: &Path) -> Option<Vec<Registered>> {
    let entries = std::fs::read_dir(config.join("sessions")).ok()?;
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let pid: u32 = name.to_str()?.strip_suffix(".json")?.parse().ok()?;
        if entry.metadata().ok()?.len() > MAX_ENTRY {
            return None;
        }
        let registered: Registered = serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()?;
        let facts = process::facts(i32::try_from(pid).ok()?).ok()??;
        (registered.pid == pid && !facts.is_zombie()).then_some(registered)
    };
    Some(entries.flatten().filter_map(read).collect())
}

/// Whether a process was started by askd itself: its questions come by its own channel.
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
        // Were it opened, it would be read as a second entry.
        std::fs::write(folder.join(format!("{own}.abc.key")), entry(own)).unwrap();
        let found = living(config.path()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].session_id.clone(), found[0].pid), (format!("s-{own}"), own));
    }
}
