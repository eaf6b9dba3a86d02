//! Claude Code's transcripts: which questions are asked in them, and how they ended.
//!
//! In: lines of one file, in order, each once. Out: an [`Entry`] for a call that asks and for the result of one that is open.
//! Most lines are passed over after a search for a few words; only lines that matter are read as JSON. Total on any bytes.

use std::collections::HashMap;

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;

use super::question::Tool;

/// Bytes of an assistant's line that is kept, for the words before a question.
const EXCERPT_LINE: usize = 64 << 10;
/// Characters of the words before a question: enough to understand it.
const EXCERPT_CHARS: usize = 600;
/// Open calls of one transcript; a file with more is not one of a living session.
const MAX_OPEN: usize = 256;

/// Something that a transcript tells about questions.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    Asked {
        tool: Tool,
        call_id: String,
        message_id: Option<String>,
        input: Value,
        session: String,
        cwd: Option<String>,
        excerpt: Option<String>,
    },
    Ended {
        tool: Tool,
        call_id: String,
        session: String,
        input: Value,
        is_error: bool,
        told: Option<String>,
        result: Option<Value>,
    },
}

/// Reads one transcript.
#[derive(Debug, Default)]
pub struct TranscriptReader {
    open: HashMap<String, (Tool, Value)>,
    /// The last line in which the assistant said something, unread.
    said: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<Message>,
    session_id: Option<String>,
    cwd: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    tool_use_result: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    id: Option<String>,
    #[serde(default)]
    content: Value,
}

impl TranscriptReader {
    /// The calls that have no result yet.
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.open.keys().map(String::as_str)
    }

    /// Reads one line without its line feed.
    pub fn line(&mut self, bytes: &[u8]) -> Vec<Entry> {
        let has = |word: &str| memmem::find(bytes, word.as_bytes()).is_some();
        if has("\"tool_use\"") && Tool::ALL.into_iter().any(|tool| has(tool.name())) {
            return self.asked(bytes);
        }
        if !self.open.is_empty() && has("\"tool_result\"") && self.open.keys().any(|id| has(id)) {
            return self.ended(bytes);
        }
        if bytes.len() <= EXCERPT_LINE && has("\"assistant\"") && has("\"type\":\"text\"") {
            self.said.clear();
            self.said.extend_from_slice(bytes);
        }
        Vec::new()
    }

    /// The file begins anew: what was open in it is not known any more.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn asked(&mut self, bytes: &[u8]) -> Vec<Entry> {
        let Ok(line) = serde_json::from_slice::<Line>(bytes) else { return Vec::new() };
        let (Some("assistant"), Some(message), Some(session), false) =
            (line.kind.as_deref(), line.message, line.session_id, line.is_sidechain)
        else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        let mut said_here = String::new();
        for block in blocks(&message.content) {
            let text = |key: &str| block.get(key).and_then(Value::as_str);
            if let (Some("text"), Some(text)) = (text("type"), text("text")) {
                said_here.push_str(text);
            }
            let (Some("tool_use"), Some(id), Some(tool)) =
                (text("type"), text("id"), text("name").and_then(Tool::parse))
            else {
                continue;
            };
            if self.open.contains_key(id) || self.open.len() >= MAX_OPEN {
                continue;
            }
            let input = block.get("input").cloned().unwrap_or(Value::Null);
            self.open.insert(id.to_owned(), (tool, input.clone()));
            let here = (!said_here.is_empty()).then(|| excerpt_of(&said_here));
            entries.push(Entry::Asked {
                tool,
                call_id: id.to_owned(),
                message_id: message.id.clone(),
                input,
                session: session.clone(),
                cwd: line.cwd.clone(),
                excerpt: here.or_else(|| self.said_before(message.id.as_deref())),
            });
        }
        entries
    }

    /// What the same message said before: each of its blocks is a line of its own.
    fn said_before(&self, message_id: Option<&str>) -> Option<String> {
        let line: Line = serde_json::from_slice(&self.said).ok()?;
        let message = line.message?;
        if message.id.is_none() || message.id.as_deref() != message_id {
            return None;
        }
        let texts = blocks(&message.content).iter().filter_map(|block| block.get("text")?.as_str());
        Some(excerpt_of(&texts.collect::<Vec<_>>().join("\n"))).filter(|text| !text.is_empty())
    }

    fn ended(&mut self, bytes: &[u8]) -> Vec<Entry> {
        let Ok(line) = serde_json::from_slice::<Line>(bytes) else { return Vec::new() };
        // Records of requests repeat the result without its structure, and may come before it.
        let (Some("user"), Some(message), Some(session), false) =
            (line.kind.as_deref(), line.message, line.session_id, line.is_sidechain)
        else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        for block in blocks(&message.content) {
            if block.get("type").and_then(Value::as_str) != Some("tool_result") {
                continue;
            }
            let Some(id) = block.get("tool_use_id").and_then(Value::as_str) else { continue };
            let Some((tool, input)) = self.open.remove(id) else { continue };
            entries.push(Entry::Ended {
                tool,
                call_id: id.to_owned(),
                session: session.clone(),
                input,
                is_error: block.get("is_error").and_then(Value::as_bool).unwrap_or(false),
                told: told(block.get("content")),
                result: line.tool_use_result.clone().filter(Value::is_object),
            });
        }
        entries
    }
}

fn blocks(content: &Value) -> &[Value] {
    content.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn told(content: Option<&Value>) -> Option<String> {
    match content? {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            Some(texts.join("\n"))
        }
        _ => None,
    }
}

/// The end of what was said: the question follows from there.
fn excerpt_of(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(EXCERPT_CHARS);
    text.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assistant(message: &str, block: Value) -> String {
        json!({"type":"assistant","isSidechain":false,"sessionId":"s","cwd":"/w",
            "message":{"id":message,"role":"assistant","content":[block]}})
        .to_string()
    }

    fn asks(id: &str) -> String {
        let input = json!({"questions":[{"question":"Q","header":"H","options":[]}]});
        assistant("m", json!({"type":"tool_use","id":id,"name":"AskUserQuestion","input":input}))
    }

    fn ends(id: &str, is_error: bool) -> String {
        let block = json!({"type":"tool_result","tool_use_id":id,"content":"told","is_error":is_error});
        json!({"type":"user","sessionId":"s","message":{"role":"user","content":[block]},"toolUseResult":{"answers":{"Q":"A"}}})
            .to_string()
    }

    #[test]
    fn a_call_is_open_until_its_result() {
        let mut reader = TranscriptReader::default();
        assert!(reader.line(ends("toolu_1", false).as_bytes()).is_empty());
        assert!(reader.line(assistant("m", json!({"type":"text","text":"Before."})).as_bytes()).is_empty());
        let found = reader.line(asks("toolu_1").as_bytes());
        let [Entry::Asked { call_id, excerpt, cwd, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (call_id.as_str(), excerpt.as_deref(), cwd.as_deref()),
            ("toolu_1", Some("Before."), Some("/w"))
        );
        assert!(reader.line(asks("toolu_1").as_bytes()).is_empty(), "the same call again");
        let repeated = ends("toolu_1", false).replace("\"type\":\"user\"", "\"type\":\"api-request-blob\"");
        assert!(reader.line(repeated.as_bytes()).is_empty(), "a record of the request is not the result");
        let found = reader.line(ends("toolu_1", false).as_bytes());
        let [Entry::Ended { is_error: false, result: Some(result), told: Some(told), .. }] = &found[..]
        else {
            panic!()
        };
        assert_eq!((&result["answers"]["Q"], told.as_str()), (&json!("A"), "told"));
        assert_eq!(reader.open().count(), 0);
    }

    #[test]
    fn side_chains_and_words_that_look_alike_are_no_questions() {
        let mut reader = TranscriptReader::default();
        let side = asks("toolu_2").replace("\"isSidechain\":false", "\"isSidechain\":true");
        assert!(reader.line(side.as_bytes()).is_empty());
        let quote = assistant("m", json!({"type":"text","text":"a \"tool_use\" of AskUserQuestion"}));
        assert!(reader.line(quote.as_bytes()).is_empty());
        let user = json!({"type":"user","sessionId":"s","message":{"content":[{"type":"tool_use","id":"x","name":"AskUserQuestion"}]}});
        assert!(reader.line(user.to_string().as_bytes()).is_empty());
    }

    #[test]
    fn no_bytes_break_it() {
        let mut reader = TranscriptReader::default();
        let whole = asks("toolu_3");
        for cut in 0..whole.len() {
            reader.line(&whole.as_bytes()[..cut]);
        }
        reader.line(&[0xff, 0xfe, b'{']);
        reader.line(b"\"tool_use\" AskUserQuestion");
        assert_eq!(reader.line(whole.as_bytes()).len(), 1);
    }
}
