//! The checks of `askd doctor` for Claude Code: the channels of the installed version, the hooks, and the
//! modes without questions.
//!
//! In: the list of agents, and Claude Code's settings files. Out: checks, which contain nothing else of the
//! settings.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use askd_agents::claude_hook::{
    SettingsError, TIME_OUT_VARIABLE, found_hooks, hooked_events, hooks_are_off, shell_word, time_out,
};
use serde_json::Value;

use super::doctor_folder::{Check, State};
use super::install::{self, shown};
use askd_cli::text::one_line;
use askd_data::{DataFolder, real_path, told_folders, untold_folders};

const MODES: &str = "questions are asked in every permission mode but dontAsk, also with --dangerously-skip-permissions; without a \
                     screen the tool exists only in sessions that askd starts, and not with --permission-prompts none";

/// The channels of each program with different channels by version.
pub(super) fn roads(agents: &Value) -> Vec<Check> {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(one_line).unwrap_or_default();
    let mut checks = Vec::new();
    for agent in list(agents, "agents") {
        for found in list(&agent, "found") {
            for road in list(&found, "roads") {
                let works = road.get("works").and_then(Value::as_bool).unwrap_or(false);
                let name = format!("{} {}", text(&agent, "name"), text(&road, "road"));
                let does = if works { "works" } else { "does not work" };
                let detail = format!("{does} with {}: {}", text(&found, "version"), text(&road, "why"));
                let state = if works { State::Ok } else { State::Warn };
                let remedy = if works { "" } else { "install a newer version" }.to_owned();
                checks.push(Check { name, state, detail, remedy });
            }
        }
    }
    checks
}

/// The config folders beside the hub's own: those that the user allowed, whose transcripts are read, and the
/// others.
pub(super) fn folders(data: &DataFolder) -> Vec<Check> {
    let shown = |folder: &Path| one_line(&folder.display().to_string());
    let told = told_folders(data).into_iter().map(|folder| {
        Check::ok("claude folder", format!("{}: transcripts that hooks name there are read", shown(&folder)))
    });
    let wanted = Wanted::here(Some(data.path()));
    let untold = untold_folders(data).into_iter().map(move |folder| {
        let install = wanted.as_ref().map_or_else(String::new, |wanted| wanted.install(&format!(" --config-dir {}", shell_word(&install::shown(&folder)))));
        let shown = shown(&folder);
        Check::warn(
            "claude folder",
            format!("a hook named a transcript in {shown}, which askd was not told of: it is not read, so an answer that is given in that terminal is known by its hook alone"),
            format!("if it is yours: {install}"),
        )
    });
    told.chain(untold).collect()
}

/// A settings file that counts here, and its flag of `askd install`.
struct SettingsFile {
    path: PathBuf,
    flag: &'static str,
}

/// The expected command of hooks.
struct Wanted {
    program: String,
    /// The word that runs this program in a shell.
    name: String,
    /// The data folder of the checked hub.
    folder: PathBuf,
    /// The words of `askd install` for this folder; empty for the usual one.
    words: String,
}

impl Wanted {
    fn here(data: Option<&Path>) -> Option<Self> {
        let program = std::env::current_exe().ok()?.into_os_string().into_string().ok()?;
        let folder = data.map(DataFolder::at).or_else(DataFolder::from_environment)?;
        let folder = real_path(folder.path()).ok()?;
        let is_usual = usual().as_ref() == Some(&folder);
        let words = if is_usual { String::new() } else { format!("--data {} ", shell_word(&shown(&folder))) };
        let name = name_of(Path::new(&program), std::env::var_os("PATH").as_deref());
        Some(Self { program, name, folder, words })
    }

    fn install(&self, flag: &str) -> String {
        format!("{} {}install claude{flag}", self.name, self.words)
    }
}

/// The word that runs this program in a shell: `askd` only if the shell finds this one. Another program would
/// install itself.
fn name_of(program: &Path, path: Option<&OsStr>) -> String {
    let mut named = std::env::split_paths(path.unwrap_or_default()).map(|folder| folder.join("askd"));
    let is_runnable = |path: &PathBuf| {
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let first = named.find(is_runnable).and_then(|path| path.canonicalize().ok());
    if first.is_some() && first == program.canonicalize().ok() {
        return "askd".to_owned();
    }
    shell_word(&shown(program))
}

fn usual() -> Option<PathBuf> {
    real_path(DataFolder::usual()?.path()).ok()
}

/// The way from hooks in this environment to their hub, if it is not the usual one.
pub(super) fn reach(
    url: Option<&str>,
    has_token: bool,
    in_container: bool,
    has_socket: bool,
) -> Option<Check> {
    const NAME: &str = "claude hooks reach";
    const HOW: &str = "set ASKD_URL to the hub's address and ASKD_TOKEN to what this prints on the machine of the hub: askd token create --right ask --name container";
    match url {
        Some(url) if has_token => {
            Some(Check::ok(NAME, format!("{} by ASKD_URL, with ASKD_TOKEN", one_line(url))))
        }
        Some(url) => {
            let detail = format!(
                "nothing: ASKD_URL names {} and there is no ASKD_TOKEN; questions are left to their terminal",
                one_line(url)
            );
            Some(Check::warn(NAME, detail, HOW))
        }
        None if in_container && !has_socket => {
            let detail = "nothing: this is a container, and the data folder in it has no hub; questions are left to their terminal";
            Some(Check::warn(NAME, detail, HOW))
        }
        None => None,
    }
}

/// The hooks and modes in the settings that count here: the user's, this project's shared and its own. A
/// later one overrules the ones before it.
pub(super) fn settings(data: Option<&Path>) -> Vec<Check> {
    let Some(wanted) = Wanted::here(data) else { return Vec::new() };
    let file = |path: PathBuf, flag| SettingsFile { path, flag };
    let mut files: Vec<SettingsFile> = install::user_settings()
        .into_iter()
        .map(|path| file(path, ""))
        .chain([
            file(".claude/settings.json".into(), " --project"),
            file(".claude/settings.local.json".into(), " --local"),
        ])
        .filter(|file| file.path.is_file())
        .collect();
    // In the home itself the project's file is the user's.
    let mut seen = Vec::new();
    files.retain(|file| match real_path(&file.path) {
        Ok(path) if seen.contains(&path) => false,
        Ok(path) => {
            seen.push(path);
            true
        }
        Err(_) => true,
    });
    let mut checks: Vec<Check> = files.iter().flat_map(|file| hooks(file, &wanted)).collect();
    if checks.is_empty() {
        let detail = "none of askd's hooks is installed: questions in your own terminals are seen, and answered by keys in tmux only";
        let remedy = wanted.install("");
        checks.push(Check {
            name: "claude hooks".to_owned(),
            state: State::Info,
            detail: detail.to_owned(),
            remedy,
        });
    }
    checks.extend(off(&files));
    checks.extend(files.iter().filter_map(|file| forbids(&file.path)));
    checks.extend(times_out(&files));
    checks.push(Check {
        name: "claude modes".to_owned(),
        state: State::Info,
        detail: MODES.to_owned(),
        remedy: String::new(),
    });
    checks
}

/// The faults of a file's hooks, each with its remedy; one good check if there are none.
fn hooks(file: &SettingsFile, wanted: &Wanted) -> Vec<Check> {
    let path = one_line(&shown(&file.path));
    let warn =
        |detail: String, remedy: String| Check::warn("claude hooks", format!("{path} {detail}"), remedy);
    let text = match std::fs::read(&file.path).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => {
            return vec![warn(
                "is not UTF-8, so askd cannot tell its hooks".to_owned(),
                format!("save {path} as UTF-8"),
            )];
        }
        Err(error) => return vec![warn(format!("cannot be read: {error}"), format!("see who owns {path}"))],
    };
    let found = match found_hooks(&text) {
        Ok(found) => found,
        Err(SettingsError::Malformed(why)) => {
            return vec![warn(format!("is not valid JSON ({why})"), format!("mend {path}"))];
        }
        Err(SettingsError::Unexpected(why)) => {
            return vec![warn(format!("is not understood: {why}"), format!("mend {path}"))];
        }
    };
    if found.is_empty() {
        return Vec::new();
    }
    let mut wrong: Vec<String> = Vec::new();
    let mut add = |text: String| {
        if !wrong.contains(&text) {
            wrong.push(text);
        }
    };
    for hook in &found {
        if hook.program != wanted.program {
            let program = one_line(&hook.program);
            let there = if Path::new(&hook.program).exists() { "" } else { ", which is not there" };
            add(format!("runs another askd: {program}{there}"));
        }
        let folder = match &hook.data {
            Some(data) => real_path(Path::new(data)).ok(),
            None => usual(),
        };
        if folder.as_ref() != Some(&wanted.folder) {
            let folder = folder.map_or_else(
                || "of an unknown folder".to_owned(),
                |folder| format!("of {}", one_line(&shown(&folder))),
            );
            add(format!(
                "brings questions to the hub {folder}, and this is the hub of {}",
                one_line(&shown(&wanted.folder))
            ));
        }
    }
    if found.iter().any(|hook| !hook.is_current) {
        add("has hooks of another version, or changed ones".to_owned());
    }
    for event in hooked_events() {
        match found.iter().filter(|hook| hook.event == event).count() {
            0 => add(format!("has no hook for {event}")),
            1 => {}
            n => add(format!("has {n} of askd's hooks for {event}")),
        }
    }
    if wrong.is_empty() {
        return vec![Check::ok("claude hooks", format!("installed in {path}"))];
    }
    vec![warn(wrong.join("; it "), wanted.install(file.flag))]
}

/// True if Claude Code runs no hook at all: the last file with a value counts.
fn off(files: &[SettingsFile]) -> Option<Check> {
    let said = files.iter().rev().find_map(|file| {
        let text = std::fs::read_to_string(&file.path).ok()?;
        Some((file, hooks_are_off(&text)?))
    });
    let (file, true) = said? else { return None };
    let path = one_line(&shown(&file.path));
    Some(Check::warn(
        "claude hooks",
        format!("disableAllHooks is true in {path}: Claude Code runs no hook, also not askd's"),
        format!("take \"disableAllHooks\" out of {path}"),
    ))
}

/// Claude Code's own time-out, where one is set: the project's own settings count before its shared ones, and
/// those before the user's.
fn times_out(files: &[SettingsFile]) -> Option<Check> {
    let read = |file: &SettingsFile| serde_json::from_slice(&std::fs::read(&file.path).ok()?).ok();
    let settings: Vec<Value> = files.iter().rev().filter_map(read).collect();
    let variable = std::env::var(TIME_OUT_VARIABLE).ok();
    let after = time_out(variable.as_deref(), &settings)?;
    Some(Check::warn(
        "claude time-out",
        format!(
            "Claude Code waits {} s for an answer and then goes on without one: such a question ends as cancelled (agentTimedOut)",
            after.as_secs_f64()
        ),
        format!(
            "to let it wait: set askUserQuestionTimeout to \"never\" in its settings, and {TIME_OUT_VARIABLE} to nothing"
        ),
    ))
}

/// Settings with which Claude Code asks no question.
fn forbids(path: &Path) -> Option<Check> {
    let text = std::fs::read_to_string(path).ok()?;
    let settings: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let permissions = settings.get("permissions")?;
    let why = if permissions.get("defaultMode").and_then(Value::as_str) == Some("dontAsk") {
        "permissions.defaultMode is dontAsk: Claude Code refuses its own questions and asks nobody"
    } else if permissions.get("denyInsteadOfPrompting").and_then(Value::as_bool) == Some(true) {
        "permissions.denyInsteadOfPrompting is set: Claude Code has no question tool"
    } else {
        return None;
    };
    Some(Check::warn(
        "claude modes",
        format!("{}: {why}", path.display()),
        "take it out, or start with another --permission-mode",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use askd_agents::claude_hook::install;

    #[test]
    fn hooks_are_told_apart_and_modes_explained() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let file = SettingsFile { path: path.clone(), flag: " --project" };
        let wanted = Wanted {
            program: "/bin/askd".into(),
            name: "askd".into(),
            folder: "/d".into(),
            words: "--data /d ".into(),
        };
        let told = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            hooks(&file, &wanted).into_iter().map(|check| (check.state, check.detail, check.remedy)).next()
        };
        let of = |command: &str| told(install("{}", command).unwrap().as_bytes()).unwrap();
        assert_eq!(told(b"{}"), None);
        assert_eq!(of("/bin/askd --data /d hook claude").0, State::Ok);
        for (command, word) in [
            ("/old/askd --data /d hook claude", "runs another askd: /old/askd, which is not there"),
            ("/bin/askd --data /e hook claude", "to the hub of /e, and this is the hub of /d"),
            ("/bin/askd hook claude", "and this is the hub of /d"),
        ] {
            let (state, detail, remedy) = of(command);
            assert!(state == State::Warn && detail.contains(word), "{detail}");
            assert_eq!(remedy, "askd --data /d install claude --project");
        }
        for (text, word) in [(&b"{"[..], "not valid JSON"), (b"{\"a\":\"\xff\"}", "not UTF-8")] {
            let (state, detail, _) = told(text).unwrap();
            assert!(state == State::Warn && detail.contains(word), "{detail}");
        }
        for (text, is_told) in [
            (r#"{"permissions":{"defaultMode":"dontAsk"}}"#, true),
            (r#"{"permissions":{"denyInsteadOfPrompting":true}}"#, true),
            (r#"{"permissions":{"defaultMode":"plan"}}"#, false),
            ("[]", false),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(forbids(&path).is_some(), is_told, "{text}");
        }
    }

    #[test]
    fn a_container_is_told_how_its_hooks_reach_the_hub() {
        let reach = |url: Option<&str>, has_token, in_container, has_socket| {
            reach(url, has_token, in_container, has_socket).map(|check| (check.state, check.detail))
        };
        assert_eq!(reach(None, false, false, false), None);
        assert_eq!(reach(None, false, true, true), None, "a namespace that shares the folder");
        let state = |told: Option<(State, String)>| told.map(|(state, _)| state);
        assert_eq!(state(reach(None, true, true, false)), Some(State::Warn));
        assert_eq!(state(reach(Some("http://hub:1"), true, true, false)), Some(State::Ok));
        let (state, detail) = reach(Some("http://hub:1"), false, true, true).unwrap();
        assert!(state == State::Warn && detail.contains("no ASKD_TOKEN"), "{detail}");
    }

    #[test]
    fn a_road_that_does_not_work_is_a_warning_with_its_reason() {
        let road = |works: bool| serde_json::json!({"road": "hook", "works": works, "why": "because"});
        let found =
            serde_json::json!([{"version": "2.0.44", "path": "/c", "roads": [road(true), road(false)]}]);
        let checks =
            roads(&serde_json::json!({"agents": [{"name": "claude", "found": found}, {"name": "x"}]}));
        let told: Vec<_> = checks.iter().map(|check| (check.state, check.detail.as_str())).collect();
        let wanted =
            [(State::Ok, "works with 2.0.44: because"), (State::Warn, "does not work with 2.0.44: because")];
        assert_eq!(told, wanted);
    }
}
