//! The checks of `askd doctor` that need no hub: the data folder, and a given list of agents.

use std::path::Path;

use askd_core::Timestamp;
use askd_holder::HolderFound;
use serde_json::Value;

use askd_cli::text::one_line;
use askd_data::{DataFolder, Kind, NotPrivate, check, read_missed, read_on_the_port};

/// Below this the hub will soon refuse questions.
const LOW_DISK_BYTES: u64 = 256 << 20;
/// How far back missed questions are told.
const MISSED_DAYS: i64 = 7;
/// How far back hooks and plugins of an earlier askd are told: one that is still in use is seen daily.
const ON_THE_PORT_DAYS: i64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    /// Neither good nor bad.
    Info,
    Warn,
    Fail,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) detail: String,
    /// The remedy; empty if there is none or none is needed.
    pub(super) remedy: String,
}

impl Check {
    pub(super) fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Ok, detail: detail.into(), remedy: String::new() }
    }

    pub(super) fn warn(
        name: impl Into<String>,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), state: State::Warn, detail: detail.into(), remedy: remedy.into() }
    }

    pub(super) fn fail(
        name: impl Into<String>,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), state: State::Fail, detail: detail.into(), remedy: remedy.into() }
    }
}

/// Questions of the last days that no hub was there to take.
pub(super) fn missed(folder: &DataFolder) -> Option<Check> {
    let since = askd_cli::when::now().millis() - MISSED_DAYS * 86_400_000;
    let mut missed = read_missed(&folder.missed());
    missed.retain(|missed| missed.at.millis() >= since);
    let last = missed.last()?;
    let detail = format!(
        "{} in {MISSED_DAYS} days while the hub was down or did not answer, the last {} in {}: {}",
        missed.len(),
        askd_cli::when::ago(last.at),
        last.cwd.as_deref().map_or_else(|| "an unknown folder".to_owned(), one_line),
        last.question.as_deref().map(one_line).unwrap_or_default(),
    );
    Some(Check::warn(
        "missed questions",
        detail,
        "they were left to their terminals; keep the hub running: askd up",
    ))
}

/// Agents that run while no hub can report them.
pub(super) fn holders(folder: &DataFolder) -> Vec<Check> {
    let found = match askd_holder::list(folder.path()) {
        Ok(found) => found,
        Err(error) => return vec![Check::warn("holders", error.to_string(), "")],
    };
    let living = found.iter().filter(|held| held.alive);
    let check = |held: &HolderFound| {
        let program = held.spec.as_ref().map_or("an agent", |spec| spec.command.as_str());
        let pids = held
            .running
            .as_ref()
            .map(|running| format!(": holder {}, agent {}", running.holder_pid, running.agent_pid));
        let detail = format!("{} goes on without a hub{}", one_line(program), pids.unwrap_or_default());
        Check {
            name: format!("holder {}", held.id),
            state: State::Info,
            detail,
            remedy: "the next askd up takes it up again".to_owned(),
        }
    };
    living.map(check).collect()
}

/// The data folder: there, ours, closed to others, with room on its disk.
pub(super) fn examine(folder: &DataFolder) -> Vec<Check> {
    let path = folder.path();
    let shown = path.display();
    let mut checks = match private("data folder", Kind::Folder, path) {
        Some(check) => vec![check],
        None => {
            return vec![Check::warn(
                "data folder",
                format!("{shown} does not exist yet"),
                "it is made by: askd up",
            )];
        }
    };
    for (name, kind, path) in [
        ("token file", Kind::Secret, folder.token()),
        ("ask-token file", Kind::Secret, folder.ask_token()),
        ("key file", Kind::Secret, folder.secret_key()),
        ("agents file", Kind::Other, folder.agents()),
        ("socket", Kind::Socket, folder.socket()),
    ] {
        checks.extend(private(name, kind, &path));
    }
    checks.extend(disk(path));
    checks
}

/// Checks that others cannot use a path; `None` if it does not exist.
fn private(name: &str, kind: Kind, path: &Path) -> Option<Check> {
    match check(kind, path) {
        Ok(true) => Some(Check::ok(name, path.display().to_string())),
        Ok(false) => None,
        Err(NotPrivate::Refused { path, why, mend }) => {
            Some(Check::fail(name, format!("{}: {why}", path.display()), mend))
        }
        Err(error) => Some(Check::fail(name, error.to_string(), "see who owns it")),
    }
}

/// Hooks and plugins of an earlier askd, without the socket.
pub(super) fn on_the_port(folder: &DataFolder) -> Vec<Check> {
    let seen = read_on_the_port(&folder.on_the_port());
    let since = askd_cli::when::now().millis() - ON_THE_PORT_DAYS * 86_400_000;
    let one = |name: &str, agent: &str, at: Option<Timestamp>, mend: &str| {
        let at = at.filter(|at| at.millis() >= since)?;
        let detail = format!("one of an earlier askd spoke to the hub's port {}", askd_cli::when::ago(at));
        Some(Check::warn(
            name,
            detail,
            format!("{mend}; {agent} that runs already keeps the old one until it ends"),
        ))
    };
    [
        one("claude hook", "a Claude Code", seen.hook, "askd install claude"),
        one("opencode plugin", "an OpenCode", seen.plugin, "askd install opencode"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn disk(path: &Path) -> Option<Check> {
    let disk = rustix::fs::statvfs(path).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let detail = format!("{} MiB free", free >> 20);
    Some(if free < LOW_DISK_BYTES {
        Check::warn(
            "disk",
            detail,
            "make room: without it the hub refuses questions, and loses none that it took",
        )
    } else {
        Check::ok("disk", detail)
    })
}

/// The claims for each agent here. The list grows with the adapters, so it is parsed leniently.
pub(super) fn agents(value: &Value) -> Vec<Check> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(one_line);
    let list = value.get("agents").and_then(Value::as_array).cloned().unwrap_or_default();
    if list.is_empty() {
        return vec![Check::ok("agents", "none is known to this hub; programs can ask through the API")];
    }
    let check = |agent: &Value| {
        let name = text(agent, "name").or_else(|| text(agent, "id")).unwrap_or_default();
        let questions = agent.get("questions").cloned().unwrap_or_default();
        let state = text(&questions, "state").unwrap_or_else(|| "unknown".to_owned());
        let why = text(&questions, "why").map(|why| format!(" ({why})")).unwrap_or_default();
        let found = found(agent);
        let known = if found.is_some() && state != "no" { State::Ok } else { State::Info };
        let found = found.unwrap_or_else(|| "not found on this machine".to_owned());
        let detail = format!("{found}; questions: {state}{why}");
        Check { name: format!("agent {name}"), state: known, detail, remedy: String::new() }
    };
    list.iter().map(check).collect()
}

/// The versions of an agent on this machine: texts, or objects with a version and a path.
fn found(agent: &Value) -> Option<String> {
    let versions = ["versions", "found", "installed"].iter().find_map(|name| agent.get(*name))?;
    let one = |value: &Value| match value {
        Value::String(text) => Some(one_line(text)),
        Value::Object(fields) => {
            let field = |name: &str| fields.get(name).and_then(Value::as_str).map(one_line);
            let parts: Vec<String> = [field("version"), field("path")].into_iter().flatten().collect();
            (!parts.is_empty()).then(|| parts.join(" at "))
        }
        _ => None,
    };
    let texts: Vec<String> = match versions {
        Value::Array(list) => list.iter().filter_map(one).collect(),
        other => one(other).into_iter().collect(),
    };
    (!texts.is_empty()).then(|| texts.join(", "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_open_folder_is_told_with_its_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::at(dir.path());
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let checks = examine(&folder);
        assert_eq!(checks[0].state, State::Fail);
        assert!(checks[0].remedy.starts_with("close it with: chmod 700"), "{checks:?}");
        let missing = examine(&DataFolder::at(dir.path().join("none")));
        assert!(missing[0].remedy.contains("askd up"), "{missing:?}");
    }

    #[test]
    fn agents_are_told_in_any_form() {
        let value = serde_json::json!({"agents": [
            {"name": "claude", "questions": {"state": "proven"}, "versions": [{"version": "2.1", "path": "/bin/claude"}]},
            {"name": "amp\u{1b}[2J", "questions": {"state": "no", "why": "it never asks"}}]});
        let details: Vec<String> =
            agents(&value).into_iter().map(|check| format!("{}: {}", check.name, check.detail)).collect();
        assert_eq!(
            details,
            [
                "agent claude: 2.1 at /bin/claude; questions: proven",
                "agent amp: not found on this machine; questions: no (it never asks)"
            ]
        );
    }
}
