//! askd's hooks in a settings file of Claude Code: put in and taken out, everything else byte for byte.
//!
//! In: the text of the file and the command to run. Out: the new text, or why the file is left alone.
//! Insertions are made behind what is there, so that taking them out gives the text from before; a hook of
//! another program is never touched.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use askd_wire::json_edit::{NamedNode, Node, parse};

/// The tools with dialogs that askd answers.
const MATCHER: &str = "AskUserQuestion|ExitPlanMode";
/// How long the deciding hook may wait for a person, in seconds: a week. Without it the program stops waiting
/// after 600 s.
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
    let data = data.map_or(String::new(), |data| format!(" --data {}", shell_word(data)));
    format!("{}{data} hook claude", shell_word(program))
}

/// A word for a shell, quoted if necessary.
pub fn shell_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The program and the data folder of a command, if it is exactly what [`hook_command`] writes for an
/// absolute path.
pub fn hook_parts(command: &str) -> Option<(String, Option<String>)> {
    let (program, rest) = first_word(command.strip_suffix(" hook claude")?)?;
    let data = match rest.strip_prefix(" --data ") {
        Some(rest) => Some(first_word(rest)?.0),
        None => None,
    };
    let is_whole = program.starts_with('/') && hook_command(&program, data.as_deref()) == command;
    is_whole.then_some((program, data))
}

/// The first word as [`shell_word`] writes it, and the rest.
fn first_word(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('\'') else {
        let end = text.find(' ').unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut word = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        word.push_str(part);
        match after.strip_prefix(r"\''") {
            Some(after) => {
                word.push('\'');
                rest = after;
            }
            None => return Some((word, after)),
        }
    }
}

/// One of askd's hooks in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHook {
    /// Claude Code's name of the event.
    pub event: &'static str,
    pub program: String,
    /// The data folder in its command.
    pub data: Option<String>,
    /// True if this version would write it exactly so for its program and folder.
    pub is_current: bool,
}

/// The events with a hook of askd.
pub fn hooked_events() -> impl Iterator<Item = &'static str> {
    EVENTS.into_iter().map(|(event, _)| event)
}

/// All of askd's hooks in a settings file, in the order of the text.
pub fn found_hooks(text: &str) -> Result<Vec<FoundHook>, SettingsError> {
    let (_, text) = without_mark(text);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    Ok(entries(text, Containers::default())?.into_iter().map(|entry| entry.hook).collect())
}

/// The value of `disableAllHooks` in a settings file, with which Claude Code runs no hook at all.
pub fn hooks_are_off(text: &str) -> Option<bool> {
    let (_, text) = without_mark(text);
    let root = read(text).ok()?;
    let value = &root.members()?.iter().rfind(|member| member.key == "disableAllHooks")?.value;
    text[value.span.clone()].parse().ok()
}

/// The text with askd's hooks. The same text again if they are there already.
pub fn install(text: &str, command: &str) -> Result<String, SettingsError> {
    let (mark, text) = without_mark(text);
    let mut text = if text.trim().is_empty() { "{\n}\n".to_owned() } else { text.to_owned() };
    let there = entries(&text, Containers::default())?;
    let is_there = there.iter().all(|entry| entry.hook.is_current && entry.command == command)
        && there.len() == EVENTS.len()
        && hooked_events().all(|event| there.iter().any(|entry| entry.hook.event == event));
    if !is_there {
        text = taken_out(text.clone(), Containers::of(&text))?;
        for (event, timeout) in EVENTS {
            text = add(&text, event, timeout, command)?;
        }
    }
    Ok(format!("{mark}{text}"))
}

/// The text without askd's hooks, and without the containers that only they filled. Containers in `before`,
/// the text from before an installation, stay.
pub fn uninstall(text: &str, before: Option<&str>) -> Result<String, SettingsError> {
    let (mark, text) = without_mark(text);
    if text.trim().is_empty() {
        return Ok(format!("{mark}{text}"));
    }
    let kept = before.map_or_else(Containers::default, |before| Containers::of(without_mark(before).1));
    Ok(format!("{mark}{}", taken_out(text.to_owned(), kept)?))
}

fn taken_out(mut text: String, kept: Containers) -> Result<String, SettingsError> {
    while let Some(entry) = entries(&text, kept)?.pop() {
        text.replace_range(entry.cut, "");
    }
    Ok(text)
}

/// The byte order mark with which some editors begin a file, and the rest. Claude Code reads both.
fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// The containers of hooks in a text.
#[derive(Debug, Clone, Copy, Default)]
struct Containers {
    hooks: bool,
    events: [bool; EVENTS.len()],
}

impl Containers {
    fn of(text: &str) -> Self {
        let root = read(text).ok();
        let hooks = root.as_ref().and_then(|root| member(root, "hooks"));
        let has = |event: &str| hooks.is_some_and(|hooks| member(hooks, event).is_some());
        Self { hooks: hooks.is_some(), events: EVENTS.map(|(event, _)| has(event)) }
    }
}

/// The value of a member; of several with the same name the last, as Claude Code reads them.
fn member<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    node.members()?.iter().rfind(|member| member.key == key).map(|member| &member.value)
}

/// One of our entries in the text.
struct Entry {
    hook: FoundHook,
    command: String,
    /// The range to remove.
    cut: Range<usize>,
}

fn read(text: &str) -> Result<Node, SettingsError> {
    // Without values: a half of a surrogate pair or a number beyond all bounds is text that Claude Code
    // takes.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| SettingsError::Malformed(error.to_string()))?;
    let node = parse(text).ok_or_else(|| SettingsError::Malformed("it is nested too deeply".to_owned()))?;
    let unexpected = |what: &str| Err(SettingsError::Unexpected(what.to_owned()));
    let Some(root) = node.members() else { return unexpected("its outermost value is not an object") };
    let hooks: Vec<&NamedNode> = root.iter().filter(|member| member.key == "hooks").collect();
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

/// Our entries, in the order of the text. A group that holds a hook of another program beside ours loses ours
/// only.
fn entries(text: &str, kept: Containers) -> Result<Vec<Entry>, SettingsError> {
    let root = read(text)?;
    let mut found = Vec::new();
    let Some(root_members) = root.members() else { return Ok(found) };
    let Some((at_hooks, hooks)) = root_members.iter().enumerate().find(|(_, member)| member.key == "hooks")
    else {
        return Ok(found);
    };
    let spans = |items: &[Node]| items.iter().map(|item| item.span.clone()).collect::<Vec<_>>();
    let members =
        |members: &[NamedNode]| members.iter().map(|member| member.span.clone()).collect::<Vec<_>>();
    let events = hooks.value.members().unwrap_or_default();
    for (at_event, event) in events.iter().enumerate() {
        let Some(n) = EVENTS.iter().position(|(name, _)| *name == event.key) else { continue };
        let groups = event.value.items().unwrap_or_default();
        for (at_group, group) in groups.iter().enumerate() {
            let list = member(group, "hooks").and_then(Node::items).unwrap_or_default();
            let matcher = member(group, "matcher").map(|node| value_of(text, node));
            for (at, node) in list.iter().enumerate() {
                let value = value_of(text, node);
                let Some((command, hook)) = ours(&value, matcher.as_ref(), n) else { continue };
                let cut = if list.len() > 1 {
                    cut(text, &spans(list), at)
                } else if groups.len() > 1 || kept.events[n] {
                    cut(text, &spans(groups), at_group)
                } else if events.len() > 1 || kept.hooks {
                    cut(text, &members(events), at_event)
                } else {
                    cut(text, &members(root_members), at_hooks)
                };
                found.push(Entry { hook, command, cut });
            }
        }
    }
    Ok(found)
}

/// The value of a node; null if it cannot be parsed, which never applies to askd's own.
fn value_of(text: &str, node: &Node) -> Value {
    serde_json::from_str(&text[node.span.clone()]).unwrap_or(Value::Null)
}

/// True for an entry of askd: its command is exactly askd's. A program with another name is recognised by the
/// rest of the entry, so that a program with merely the same arguments is left alone.
fn ours(entry: &Value, matcher: Option<&Value>, n: usize) -> Option<(String, FoundHook)> {
    let (event, timeout) = EVENTS[n];
    let command = entry["command"].as_str()?;
    let (program, data) = hook_parts(command)?;
    let is_current = *entry == entry_of(timeout, command) && matcher.and_then(Value::as_str) == Some(MATCHER);
    let is_named = entry["type"] == "command" && program.rsplit('/').next() == Some("askd");
    (is_named || is_current).then(|| (command.to_owned(), FoundHook { event, program, data, is_current }))
}

/// The range that removes one of several values: itself and its comma.
fn cut(text: &str, spans: &[Range<usize>], at: usize) -> Range<usize> {
    let own = spans[at].clone();
    if at > 0 {
        return spans[at - 1].end..own.end;
    }
    if let Some(next) = spans.get(1) {
        return own.start..next.start;
    }
    // The only value: with the line that an insertion into an empty container began and ended.
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
    json!({ "matcher": MATCHER, "hooks": [entry_of(timeout, command)] })
}

fn entry_of(timeout: u64, command: &str) -> Value {
    json!({ "type": "command", "command": command, "timeout": timeout })
}

fn add(text: &str, event: &str, timeout: u64, command: &str) -> Result<String, SettingsError> {
    let root = read(text)?;
    let style = Style::of(text);
    let group = of(timeout, command);
    let find = |node: &Node, key: &str| member(node, key).cloned();
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
