//! The content of a tool call for a person: its text, its diff, its command.

use askd_core::question::{Body, BodyFormat};
use serde_json::Value;

use super::draft;

/// Bytes of a tool's content that are shown; the rest is cut with a mark. The request itself is kept whole.
const MAX_SHOWN: usize = 256 << 10;

/// The tool call's raw input or diff, and the agent's words beside it: words alone could hide the action.
pub(crate) fn body_of(
    content: &[Value],
    raw_input: Option<&Value>,
    description: Option<&str>,
) -> Option<Body> {
    let Body { format, mut text } = whole_body_of(content, raw_input, description)?;
    if text.len() > MAX_SHOWN {
        text = format!("{}\n[cut here: the rest is too long to show]", draft::beginning(&text, MAX_SHOWN));
    }
    Some(Body { format, text })
}

pub(crate) fn whole_body_of(
    content: &[Value],
    raw_input: Option<&Value>,
    description: Option<&str>,
) -> Option<Body> {
    let mut diff = false;
    let mut parts: Vec<String> = description.map(str::to_owned).into_iter().collect();
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
    parts.dedup();
    if diff {
        return Some(Body { format: BodyFormat::Diff, text: parts.join("\n") });
    }
    let Some((done, folder)) = raw_input.and_then(done_by) else {
        let text = parts.join("\n");
        return (!text.is_empty()).then_some(Body { format: BodyFormat::Markdown, text });
    };
    if parts.is_empty() && folder.is_none() {
        return Some(done);
    }
    let folder = folder.map(|folder| format!("in the folder {folder}"));
    let parts: Vec<String> = [fenced(&done.text)].into_iter().chain(folder).chain(parts).collect();
    Some(Body { format: BodyFormat::Markdown, text: parts.join("\n\n") })
}

/// The command of a raw input and the folder that it names for it, or all of the input.
fn done_by(input: &Value) -> Option<(Body, Option<&str>)> {
    if let Some(text) = command_of(input) {
        let folder = input.get("cwd").and_then(Value::as_str).filter(|folder| !folder.is_empty());
        return Some((Body { format: BodyFormat::Command, text }, folder));
    }
    let empty = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
    let text = serde_json::to_string_pretty(input).ok().filter(|_| !empty)?;
    Some((Body { format: BodyFormat::Text, text }, None))
}

/// A text that Markdown shows unchanged.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

fn command_of(input: &Value) -> Option<String> {
    match input.get("command")? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(quoted)).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

/// A word as a shell would have to be given it.
fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The changed lines between the common beginning and end.
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
        let body = body_of(&[block], None, None).unwrap();
        assert_eq!(body.format, BodyFormat::Diff);
        assert_eq!(body.text, "--- a.rs\n+++ a.rs\n@@ -2,1 +2,1 @@\n-two\n+2");
    }

    #[test]
    fn a_command_is_shown_as_a_command() {
        let body = body_of(&[], Some(&json!({"command":["git","push"]})), None).unwrap();
        assert_eq!((body.format, body.text.as_str()), (BodyFormat::Command, "git push"));
        let words = json!({ "command": ["rm", "-rf", "my dir", "; ls", "it's", ""] });
        let body = body_of(&[], Some(&words), None).unwrap();
        assert_eq!(body.text, r"rm -rf 'my dir' '; ls' 'it'\''s' ''");
        assert_eq!(body_of(&[], Some(&json!({})), None), None);
    }

    #[test]
    fn words_do_not_hide_what_is_to_be_done() {
        let said = [json!({"type":"content","content":{"type":"text","text":"Remove old build files"}})];
        let text = |input: Value, description| body_of(&said, Some(&input), description).unwrap().text;
        let command = json!({"command":"rm -rf /srv/```x","cwd":"/srv"});
        assert_eq!(
            text(command, Some("IMPORTANT")),
            "````\nrm -rf /srv/```x\n````\n\nin the folder /srv\n\nIMPORTANT\n\nRemove old build files"
        );
        assert_eq!(
            text(json!({"url":"http://x"}), None),
            "```\n{\n  \"url\": \"http://x\"\n}\n```\n\nRemove old build files"
        );
        assert_eq!(text(Value::Null, None), "Remove old build files");
        let long = text(json!({ "command": "x".repeat(MAX_SHOWN + 1) }), None);
        assert!(long.len() < MAX_SHOWN + 100 && long.ends_with("too long to show]"));
        let diff = [json!({"type":"diff","path":"a","newText":"x"})];
        assert!(body_of(&diff, None, Some("IMPORTANT")).unwrap().text.starts_with("IMPORTANT\n--- "));
    }
}
