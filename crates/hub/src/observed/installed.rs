//! Finds out whether a hook of askd can report from a terminal: the hub waits only for an installed hook.
//!
//! In: the folders of a conversation and its process. Out: true if one of the settings that Claude Code reads
//! there has askd's hook, or if that cannot be known.

use std::io::Read;
use std::path::{Path, PathBuf};

use askd_data::regular::open_regular;
use askd_holder::process;

/// Bytes of a settings file; they have a few thousand.
const MAX_SETTINGS: u64 = 1 << 20;
/// The end of every hook's command, whatever its program and data folder.
const HOOK: &str = "hook claude";
/// The administrator's settings for all users of a machine.
const FOR_ALL: &str = "/etc/claude-code/managed-settings.json";
/// Settings of one start: a file, or the settings themselves.
const GIVEN: &str = "--settings";

/// Reads files: not for an async thread.
pub(super) fn may_be_hooked(config: Option<&Path>, cwd: Option<&str>, pid: Option<u32>) -> bool {
    let Some(config) = config else { return true };
    let beside = |folder: &Path| ["settings.json", "settings.local.json"].map(|name| folder.join(name));
    // A project's settings are in the folder where Claude Code was started, which may be a parent.
    let projects = cwd.map(Path::new).into_iter().flat_map(Path::ancestors);
    let projects = projects.flat_map(|folder| beside(&folder.join(".claude")));
    let mut files = beside(config).into_iter().chain(projects).chain([PathBuf::from(FOR_ALL)]);
    files.any(|path| has_hook(&path)) || pid.is_some_and(|pid| is_given(pid, cwd))
}

/// True also for a file that cannot be read.
fn has_hook(path: &Path) -> bool {
    // A link may be the user's own way to keep settings elsewhere.
    let Ok(path) = path.canonicalize() else { return false };
    let mut text = Vec::new();
    match open_regular(&path).and_then(|file| file.take(MAX_SETTINGS).read_to_end(&mut text)) {
        Ok(_) => text.windows(HOOK.len()).any(|part| part == HOOK.as_bytes()),
        Err(_) => true,
    }
}

/// True if the process was started with settings that may have the hook.
fn is_given(pid: u32, cwd: Option<&str>) -> bool {
    let words = i32::try_from(pid).ok().and_then(|pid| process::command_line(pid).ok().flatten());
    let words = words.unwrap_or_default();
    let after = words.windows(2).filter(|pair| pair[0] == GIVEN).map(|pair| pair[1].as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix(GIVEN)?.strip_prefix('='));
    let cwd = Path::new(cwd.unwrap_or_default());
    after.chain(joined).any(|given| match given.trim_start().starts_with('{') {
        true => given.contains(HOOK),
        false => has_hook(&cwd.join(given)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_expected_only_where_settings_have_one() {
        let root = tempfile::tempdir().unwrap();
        let (config, work) = (root.path().join("config"), root.path().join("work/deep"));
        std::fs::create_dir_all(&config).unwrap();
        std::fs::create_dir_all(root.path().join("work/.claude")).unwrap();
        let expected = || may_be_hooked(Some(&config), work.to_str(), Some(std::process::id()));
        assert!(!expected());
        assert!(may_be_hooked(None, None, None), "nothing is known");
        std::fs::write(config.join("settings.json"), r#"{"model":"opus"}"#).unwrap();
        assert!(!expected());
        let hooked = r#"{"hooks":{"PermissionRequest":[{"hooks":[{"command":"/bin/askd hook claude"}]}]}}"#;
        let project = root.path().join("work/.claude/settings.local.json");
        std::fs::write(&project, hooked).unwrap();
        assert!(expected());
        std::fs::remove_file(&project).unwrap();
        std::fs::write(config.join("settings.json"), hooked).unwrap();
        assert!(expected());
    }
}
