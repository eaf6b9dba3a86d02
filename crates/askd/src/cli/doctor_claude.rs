//! What `askd doctor` says about Claude Code: the roads of the installed version, the hooks, and the modes in which it asks nobody.
//!
//! In: the list of agents, and Claude Code's settings files. Out: checks. Nothing of the settings is shown but what is said here.

use std::path::{Path, PathBuf};

use askd_adapters::agents::claude_hook::{Installed, installed};
use serde_json::Value;

use super::doctor_folder::{Check, State};
use super::install;
use super::text::one_line;

const MODES: &str = "questions are asked in every permission mode but dontAsk, also with --dangerously-skip-permissions; without a \
                     screen the tool exists only in sessions that askd starts, and not with --permission-prompts none";

/// The roads of every program that has them by version.
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

/// The hooks and modes in the settings that count here: the user's, this project's shared and its own.
pub(super) fn settings(data: Option<&Path>) -> Vec<Check> {
    let Ok(command) = install::command(data) else { return Vec::new() };
    let user = install::user_settings();
    let files: Vec<PathBuf> = user
        .into_iter()
        .chain([".claude/settings.json", ".claude/settings.local.json"].map(PathBuf::from))
        .filter(|path| path.is_file())
        .collect();
    let mut checks: Vec<Check> = files.iter().filter_map(|path| hooks(path, &command)).collect();
    if checks.is_empty() {
        let detail = "none of askd's hooks is installed: questions in your own terminals are seen, and answered by keys in tmux only";
        let remedy = "askd install claude".to_owned();
        checks.push(Check {
            name: "claude hooks".to_owned(),
            state: State::Info,
            detail: detail.to_owned(),
            remedy,
        });
    }
    checks.extend(files.iter().filter_map(|path| forbids(path)));
    checks.push(Check {
        name: "claude modes".to_owned(),
        state: State::Info,
        detail: MODES.to_owned(),
        remedy: String::new(),
    });
    checks
}

fn hooks(path: &Path, command: &str) -> Option<Check> {
    let text = std::fs::read_to_string(path).ok()?;
    let shown = path.display();
    match installed(&text, command) {
        Ok(Installed::No) => None,
        Ok(Installed::Yes) => Some(Check::ok("claude hooks", format!("installed in {shown}"))),
        Ok(Installed::Otherwise) => Some(Check::warn(
            "claude hooks",
            format!("{shown} runs another askd, another data folder, or hooks of another version"),
            "askd install claude",
        )),
        Err(error) => Some(Check::warn("claude hooks", format!("{shown}: {error}"), "mend the file")),
    }
}

/// Settings with which Claude Code asks nobody.
fn forbids(path: &Path) -> Option<Check> {
    let settings: Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
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
    use askd_adapters::agents::claude_hook::install;

    #[test]
    fn hooks_are_told_apart_and_modes_explained() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let state = |text: &str| {
            std::fs::write(&path, text).unwrap();
            hooks(&path, "/bin/askd hook claude").map(|check| check.state)
        };
        assert_eq!(state("{}"), None);
        assert_eq!(state(&install("{}", "/bin/askd hook claude").unwrap()), Some(State::Ok));
        assert_eq!(state(&install("{}", "/old/askd hook claude").unwrap()), Some(State::Warn));
        assert_eq!(state("{"), Some(State::Warn));
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
