//! askd's hooks in a settings file of Claude Code: put in and taken out, everything else byte for byte.
//!
//! In: the text of the file and the command to run. Out: the new text, or why the file is left alone. Insertions are made
//! behind what is there, so that taking them out gives the text from before; a hook of somebody else is never touched.

use std::ops::Range;

use serde_json::{Value, json};

use super::json_text::{Member, Node, parse};

/// The tools whose dialogs askd answers.
const MATCHER: &str = "AskUserQuestion|ExitPlanMode";
/// How long the deciding hook may wait for a person, in seconds: a week. Without it the program stops waiting after 600 s.
const PATIENCE: u64 = 604_800;
/// How long the two telling hooks may take: they hand over and end at once.
const TELLING: u64 = 10;
const EVENTS: [(&str, u64); 3] =
    [("PermissionRequest", PATIENCE), ("PreToolUse", TELLING), ("PostToolUse", TELLING)];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("it is not valid JSON ({0}); nothing was changed")]
    Malformed(String),
    #[error("{0}; nothing was changed")]
    Unexpected(String),
}

/// The command line of the hook for a shell: the program, its data folder if it is not the usual one.
pub fn hook_command(program: &str, data: Option<&str>) -> String {
    let data = data.map_or(String::new(), |data| format!(" --data {}", quoted(data)));
    format!("{}{data} hook claude", quoted(program))
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Whether a command is one that askd has put in.
fn is_ours(command: &str) -> bool {
    let command = command.trim();
    command.strip_suffix(" hook claude").is_some_and(|program| {
        let program = program.split(" --data ").next().unwrap_or(program).trim_matches('\'');
        program.rsplit('/').next().is_some_and(|name| name.starts_with("askd"))
    })
}

/// Whether askd's hooks are in a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    Yes,
    /// They run another askd, or are of another version.
    Otherwise,
    No,
}

pub fn installed(text: &str, command: &str) -> Result<Installed, SettingsError> {
    if install(text, command)? == text {
        return Ok(Installed::Yes);
    }
    Ok(if uninstall(text)? == text { Installed::No } else { Installed::Otherwise })
}

/// The text with askd's hooks. The same text again if they are there already.
pub fn install(text: &str, command: &str) -> Result<String, SettingsError> {
    let mut text = if text.trim().is_empty() { "{\n}\n".to_owned() } else { text.to_owned() };
    read(&text)?;
    if groups(&text)?.iter().filter(|group| group.command == command && group.current).count() == EVENTS.len()
    {
        return Ok(text);
    }
    text = uninstall(&text)?;
    for (event, timeout) in EVENTS {
        text = add(&text, event, timeout, command)?;
    }
    Ok(text)
}

/// The text without askd's hooks, and without the containers that only they had filled.
pub fn uninstall(text: &str) -> Result<String, SettingsError> {
    let mut text = text.to_owned();
    if text.trim().is_empty() {
        return Ok(text);
    }
    while let Some(group) = groups(&text)?.pop() {
        text.replace_range(group.cut, "");
    }
    Ok(text)
}

/// One of our groups in the text.
struct Group {
    command: String,
    /// Whether it is as this version would write it.
    current: bool,
    /// What to take away.
    cut: Range<usize>,
}

fn read(text: &str) -> Result<Node, SettingsError> {
    serde_json::from_str::<Value>(text).map_err(|error| SettingsError::Malformed(error.to_string()))?;
    let node = parse(text).ok_or_else(|| SettingsError::Malformed("it is nested too deeply".to_owned()))?;
    let unexpected = |what: &str| Err(SettingsError::Unexpected(what.to_owned()));
    let Some(root) = node.members() else { return unexpected("its outermost value is not an object") };
    let hooks: Vec<&Member> = root.iter().filter(|member| member.key == "hooks").collect();
    match &hooks[..] {
        [] => {}
        [one] => {
            let Some(events) = one.value.members() else {
                return unexpected("its \"hooks\" is not an object");
            };
            for (event, _) in EVENTS {
                let found: Vec<_> = events.iter().filter(|member| member.key == event).collect();
                if found.len() > 1 {
                    return unexpected(&format!("\"{event}\" is in it twice"));
                }
                if found.iter().any(|member| member.value.items().is_none()) {
                    return unexpected(&format!("its \"{event}\" is not an array"));
                }
            }
        }
        _ => return unexpected("\"hooks\" is in it twice"),
    }
    Ok(node)
}

/// Our groups, in the order of the text. A group that holds a hook of somebody else beside ours loses ours only.
fn groups(text: &str) -> Result<Vec<Group>, SettingsError> {
    let root = read(text)?;
    let mut found = Vec::new();
    let Some(root_members) = root.members() else { return Ok(found) };
    let Some((at_hooks, hooks)) = root_members.iter().enumerate().find(|(_, member)| member.key == "hooks")
    else {
        return Ok(found);
    };
    let events = hooks.value.members().unwrap_or_default();
    for (at_event, event) in events.iter().enumerate() {
        let Some((_, timeout)) = EVENTS.into_iter().find(|(name, _)| *name == event.key) else { continue };
        let items = event.value.items().unwrap_or_default();
        for (at_group, group) in items.iter().enumerate() {
            let value: Value = serde_json::from_str(&text[group.span.clone()]).unwrap_or(Value::Null);
            let entries = value["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
            let command =
                |entry: &Value| entry["command"].as_str().filter(|text| is_ours(text)).map(str::to_owned);
            let Some((at, command)) =
                entries.iter().enumerate().find_map(|(at, entry)| Some((at, command(entry)?)))
            else {
                continue;
            };
            let current = value == of(timeout, &command);
            let spans = |items: &[Node]| items.iter().map(|item| item.span.clone()).collect::<Vec<_>>();
            let members =
                |members: &[Member]| members.iter().map(|member| member.span.clone()).collect::<Vec<_>>();
            let cut = if entries.len() > 1 {
                let list = group.members().into_iter().flatten().find(|member| member.key == "hooks");
                let Some(list) = list.and_then(|list| list.value.items()) else { continue };
                cut(text, &spans(list), at)
            } else if items.len() > 1 {
                cut(text, &spans(items), at_group)
            } else if events.len() > 1 {
                cut(text, &members(events), at_event)
            } else {
                cut(text, &members(root_members), at_hooks)
            };
            found.push(Group { command, current, cut });
        }
    }
    Ok(found)
}

/// What to remove for one of several values: itself and the comma that binds it.
fn cut(text: &str, spans: &[Range<usize>], at: usize) -> Range<usize> {
    let own = spans[at].clone();
    if at > 0 {
        return spans[at - 1].end..own.end;
    }
    if let Some(next) = spans.get(1) {
        return own.start..next.start;
    }
    // Alone: with the line that an insertion into an empty container began and ended.
    let before = text[..own.start].trim_end_matches([' ', '\t']);
    let before = before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n')).unwrap_or(before).len();
    let after = &text[own.end..];
    let after = after
        .strip_prefix("\r\n")
        .or_else(|| after.strip_prefix('\n'))
        .map_or(0, |rest| after.len() - rest.len());
    before..own.end + after
}

fn of(timeout: u64, command: &str) -> Value {
    json!({ "matcher": MATCHER, "hooks": [{ "type": "command", "command": command, "timeout": timeout }] })
}

fn add(text: &str, event: &str, timeout: u64, command: &str) -> Result<String, SettingsError> {
    let root = read(text)?;
    let style = Style::of(text);
    let group = of(timeout, command);
    let find = |node: &Node, key: &str| {
        node.members()
            .and_then(|members| members.iter().find(|member| member.key == key))
            .map(|member| member.value.clone())
    };
    let (container, depth, key, value) = match find(&root, "hooks") {
        None => (root, 1, Some("hooks"), json!({ event: [group] })),
        Some(hooks) => match find(&hooks, event) {
            None => (hooks, 2, Some(event), json!([group])),
            Some(list) => (list, 3, None, group),
        },
    };
    let key = key.map_or(String::new(), |key| format!("{}: ", Value::from(key)));
    let new = format!("{}{key}{}", style.line(depth), style.written(&value, depth));
    let last = match (container.members(), container.items()) {
        (Some(members), _) => members.last().map(|member| member.span.end),
        (_, Some(items)) => items.last().map(|item| item.span.end),
        _ => None,
    };
    let mut text = text.to_owned();
    match last {
        Some(end) => text.insert_str(end, &format!(",{new}")),
        None => text.insert_str(container.span.start + 1, &format!("{new}{}", style.newline)),
    }
    Ok(text)
}

/// How the file is written: its line ends and its steps of indentation.
struct Style {
    newline: &'static str,
    step: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indented =
            text.lines().skip(1).find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
        let step = indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]);
        Self { newline, step: step.to_owned() }
    }

    fn line(&self, depth: usize) -> String {
        format!("{}{}", self.newline, self.step.repeat(depth))
    }

    fn written(&self, value: &Value, depth: usize) -> String {
        let list = |open: char, parts: Vec<String>, close: char| {
            let inner = self.line(depth + 1);
            format!("{open}{inner}{}{}{close}", parts.join(&format!(",{inner}")), self.line(depth))
        };
        match value {
            Value::Object(members) => {
                let parts = members.iter().map(|(key, value)| {
                    format!("{}: {}", Value::from(key.as_str()), self.written(value, depth + 1))
                });
                list('{', parts.collect(), '}')
            }
            Value::Array(items) => {
                list('[', items.iter().map(|item| self.written(item, depth + 1)).collect(), ']')
            }
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
