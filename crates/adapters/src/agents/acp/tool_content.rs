//! What a tool call is about, for a person to read: its text, its diff, its command.

use askd_core::question::{Body, BodyFormat};
use serde_json::Value;

/// The content blocks of a tool call, or else its raw input.
pub(crate) fn body_of(content: &[Value], raw_input: Option<&Value>) -> Option<Body> {
    let mut diff = false;
    let mut parts: Vec<String> = Vec::new();
    for block in content {
        match block.get("type").and_then(Value::as_str) {
            Some("content") => {
                let text = block.pointer("/content/text").and_then(Value::as_str);
                parts.extend(text.map(str::to_owned));
            }
            Some("diff") => {
                diff = true;
                parts.push(diff_of(block));
            }
            _ => {}
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    if !parts.is_empty() {
        let format = if diff { BodyFormat::Diff } else { BodyFormat::Markdown };
        return Some(Body { format, text: parts.join("\n") });
    }
    let input = raw_input.filter(|input| !input.is_null())?;
    if let Some(command) = command_of(input) {
        return Some(Body { format: BodyFormat::Command, text: command });
    }
    let empty = input.as_object().is_some_and(serde_json::Map::is_empty);
    let text = serde_json::to_string_pretty(input).ok().filter(|_| !empty)?;
    Some(Body { format: BodyFormat::Text, text })
}

fn command_of(input: &Value) -> Option<String> {
    match input.get("command")? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

/// The changed lines between what both texts begin and end with.
fn diff_of(block: &Value) -> String {
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    let path = text("path").unwrap_or("file");
    let old: Vec<&str> = text("oldText").unwrap_or_default().lines().collect();
    let new: Vec<&str> = text("newText").unwrap_or_default().lines().collect();
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let removed = &old_rest[..old_rest.len() - tail];
    let added = &new_rest[..new_rest.len() - tail];
    let from = if text("oldText").is_some() { path } else { "/dev/null" };
    let (at, was, is) = (same + 1, removed.len(), added.len());
    let mut lines =
        vec![format!("--- {from}"), format!("+++ {path}"), format!("@@ -{at},{was} +{at},{is} @@")];
    lines.extend(removed.iter().map(|line| format!("-{line}")));
    lines.extend(added.iter().map(|line| format!("+{line}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_diff_shows_the_changed_lines_only() {
        let block =
            json!({"type":"diff","path":"a.rs","oldText":"one\ntwo\nthree\n","newText":"one\n2\nthree\n"});
        let body = body_of(&[block], None).unwrap();
        assert_eq!(body.format, BodyFormat::Diff);
        assert_eq!(body.text, "--- a.rs\n+++ a.rs\n@@ -2,1 +2,1 @@\n-two\n+2");
    }

    #[test]
    fn a_command_is_shown_as_a_command() {
        let body = body_of(&[], Some(&json!({"command":["git","push"],"cwd":"/"}))).unwrap();
        assert_eq!((body.format, body.text.as_str()), (BodyFormat::Command, "git push"));
        assert_eq!(body_of(&[], Some(&json!({}))), None);
    }
}
