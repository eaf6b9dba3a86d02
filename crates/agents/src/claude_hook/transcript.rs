//! Claude Code's transcripts: the questions in them, and their ends.
//!
//! In: lines of one file, in order, each once, in blocks of any size. Out: an [`Entry`] for a call that asks
//! and for the result of an open one. The bytes of a block are searched for a few words; only lines with one
//! of them are parsed as JSON. Total on any bytes.

use std::collections::HashMap;

use memchr::{memchr, memmem, memrchr};
use serde::Deserialize;
use serde_json::Value;

use super::evidence::is_cut_off;
use super::needle::Needle;
use super::question::Tool;
use askd_wire::readable::readable;

/// Bytes before a question that are searched for the words that lead to it; the line with them is kept from
/// block to block.
const EXCERPT_REACH: usize = 64 << 10;
/// Characters of the words before a question: enough to understand it.
const EXCERPT_CHARS: usize = 600;
/// Bytes of a call's id; Anthropic's have 30.
const MAX_ID: usize = 256;
/// Open calls of one transcript; a file with more is not one of a living session.
const MAX_OPEN: usize = 256;

/// An entry about questions in a transcript.
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
        /// True if a program runs the process that wrote it (`claude -p`): it has no terminal.
        is_by_program: bool,
    },
    Ended {
        tool: Tool,
        call_id: String,
        session: String,
        input: Value,
        is_error: bool,
        told: Option<String>,
        result: Option<Value>,
        is_by_program: bool,
    },
}

impl Entry {
    /// The call that this entry opens.
    fn opened(&self) -> Option<&str> {
        if let Self::Asked { call_id, .. } = self { Some(call_id) } else { None }
    }
}

/// Reads one transcript.
#[derive(Debug, Default)]
pub struct TranscriptReader {
    calls: HashMap<String, Call>,
    /// The assistant's last line, unparsed.
    said: Vec<u8>,
}

/// A call without a result so far.
#[derive(Debug)]
struct Call {
    tool: Tool,
    input: Value,
    /// Another process took up the conversation and wrote in the place of the result; the one that asked may
    /// still write the real one.
    cut_off: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<Message>,
    session_id: Option<String>,
    cwd: Option<String>,
    /// How the process that wrote the line was started: `cli` in a terminal, `sdk-cli` and the like by a
    /// program.
    entrypoint: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    tool_use_result: Option<Value>,
}

impl Line {
    fn is_by_program(&self) -> bool {
        self.entrypoint.as_deref().is_some_and(|entrypoint| entrypoint.starts_with("sdk"))
    }
}

#[derive(Deserialize)]
struct Message {
    id: Option<String>,
    #[serde(default)]
    content: Value,
}

impl TranscriptReader {
    /// The calls without a result.
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().filter(|(_, call)| !call.cut_off).map(|(id, _)| id.as_str())
    }

    /// Reads whole lines; the last one may lack its line feed.
    pub fn lines(&mut self, block: &[u8]) -> Vec<Entry> {
        let mut needles: Vec<Needle> = Tool::ALL.iter().map(|tool| Needle::new(tool.name())).collect();
        needles.extend(self.calls.keys().map(|id| Needle::new(id)));
        let mut entries = Vec::new();
        let mut at = 0;
        while let Some(hit) = needles.iter_mut().filter_map(|needle| needle.next(block, at)).min() {
            let start = memrchr(b'\n', &block[at..hit]).map_or(at, |feed| at + feed + 1);
            let end = memchr(b'\n', &block[hit..]).map_or(block.len(), |feed| hit + feed);
            let told = self.line(&block[start..end], &block[..start]);
            needles.extend(told.iter().filter_map(Entry::opened).map(Needle::new));
            entries.extend(told);
            at = end + 1;
        }
        if let Some(line) = said_in(block) {
            self.said.clear();
            self.said.extend_from_slice(line);
        }
        entries
    }

    /// Parses a line with one of the words, perhaps by chance.
    fn line(&mut self, bytes: &[u8], before: &[u8]) -> Vec<Entry> {
        let has = |word: &str| memmem::find(bytes, word.as_bytes()).is_some();
        if !has("\"tool_use\"") && !has("\"tool_result\"") {
            return Vec::new();
        }
        let Ok(line) = serde_json::from_str::<Line>(&readable(bytes)) else { return Vec::new() };
        // Records of requests repeat a result without its structure, and may come before it: only the two
        // kinds count.
        match line.kind.as_deref() {
            Some("assistant") => self.asked(line, before),
            Some("user") => self.ended(line),
            _ => Vec::new(),
        }
    }

    /// The file begins again: forget its open calls.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn asked(&mut self, line: Line, before: &[u8]) -> Vec<Entry> {
        let is_by_program = line.is_by_program();
        let (Some(message), Some(session), false) = (line.message, line.session_id, line.is_sidechain) else {
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
            if !is_plain(id) || self.calls.contains_key(id) || self.calls.len() >= MAX_OPEN {
                continue;
            }
            let input = block.get("input").cloned().unwrap_or(Value::Null);
            self.calls.insert(id.to_owned(), Call { tool, input: input.clone(), cut_off: false });
            let here = (!said_here.is_empty()).then(|| excerpt_of(&said_here));
            entries.push(Entry::Asked {
                tool,
                call_id: id.to_owned(),
                message_id: message.id.clone(),
                input,
                session: session.clone(),
                cwd: line.cwd.clone(),
                excerpt: here.or_else(|| self.said_before(before, message.id.as_deref())),
                is_by_program,
            });
        }
        entries
    }

    /// The text of the same message before this block: each block is a line of its own.
    fn said_before(&self, before: &[u8], message_id: Option<&str>) -> Option<String> {
        let said = said_in(before).unwrap_or(&self.said);
        let line: Line = serde_json::from_str(&readable(said)).ok()?;
        let message = line.message?;
        if message.id.is_none() || message.id.as_deref() != message_id {
            return None;
        }
        let texts = blocks(&message.content).iter().filter_map(|block| block.get("text")?.as_str());
        Some(excerpt_of(&texts.collect::<Vec<_>>().join("\n"))).filter(|text| !text.is_empty())
    }

    fn ended(&mut self, line: Line) -> Vec<Entry> {
        let is_by_program = line.is_by_program();
        let (Some(message), Some(session), false) = (line.message, line.session_id, line.is_sidechain) else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        for block in blocks(&message.content) {
            if block.get("type").and_then(Value::as_str) != Some("tool_result") {
                continue;
            }
            let Some(id) = block.get("tool_use_id").and_then(Value::as_str) else { continue };
            let (is_error, told) =
                (block.get("is_error").and_then(Value::as_bool).unwrap_or(false), told(block.get("content")));
            let Some(Call { tool, input, cut_off }) = self.calls.remove(id) else { continue };
            if is_error && told.as_deref().is_some_and(is_cut_off) {
                self.calls.insert(id.to_owned(), Call { tool, input: input.clone(), cut_off: true });
                if cut_off {
                    continue;
                }
            }
            entries.push(Entry::Ended {
                tool,
                call_id: id.to_owned(),
                session: session.clone(),
                input,
                is_error,
                told,
                result: line.tool_use_result.clone().filter(Value::is_object),
                is_by_program,
            });
        }
        entries
    }
}

/// The last line of these in which the assistant said something, within the reach of an excerpt.
fn said_in(lines: &[u8]) -> Option<&[u8]> {
    let reach = &lines[lines.len().saturating_sub(EXCERPT_REACH)..];
    // The first piece is the end of a line, unless everything is within reach.
    let whole = if reach.len() == lines.len() { 0 } else { memchr(b'\n', reach)? + 1 };
    let words: Vec<usize> = memmem::find_iter(&reach[whole..], b"\"type\":\"text\"").collect();
    let mut end = reach.len();
    for hit in words.into_iter().rev().map(|hit| whole + hit) {
        let start = memrchr(b'\n', &reach[whole..hit]).map_or(whole, |feed| whole + feed + 1);
        let stop = memchr(b'\n', &reach[hit..]).map_or(reach.len(), |feed| hit + feed);
        if start >= end {
            continue;
        }
        end = start;
        if memmem::find(&reach[start..stop], b"\"assistant\"").is_some() {
            return Some(&reach[start..stop]);
        }
    }
    None
}

/// True if the file contains the id unescaped, so that its result can be searched for.
fn is_plain(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    (1..=MAX_ID).contains(&id.len()) && id.bytes().all(plain)
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

/// The end of the text: the question follows from there.
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
        assert!(reader.lines(ends("toolu_1", false).as_bytes()).is_empty());
        assert!(reader.lines(assistant("m", json!({"type":"text","text":"Before."})).as_bytes()).is_empty());
        let found = reader.lines(asks("toolu_1").as_bytes());
        let [Entry::Asked { call_id, excerpt, cwd, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (call_id.as_str(), excerpt.as_deref(), cwd.as_deref()),
            ("toolu_1", Some("Before."), Some("/w"))
        );
        assert!(reader.lines(asks("toolu_1").as_bytes()).is_empty(), "the same call again");
        let repeated = ends("toolu_1", false).replace("\"type\":\"user\"", "\"type\":\"api-request-blob\"");
        assert!(reader.lines(repeated.as_bytes()).is_empty(), "a record of the request is not the result");
        let found = reader.lines(ends("toolu_1", false).as_bytes());
        let [Entry::Ended { is_error: false, result: Some(result), told: Some(told), .. }] = &found[..]
        else {
            panic!()
        };
        assert_eq!((&result["answers"]["Q"], told.as_str()), (&json!("A"), "told"));
        assert_eq!(reader.open().count(), 0);
    }

    #[test]
    fn the_real_result_is_still_read_after_another_process_wrote_in_its_place() {
        let mut reader = TranscriptReader::default();
        reader.lines(asks("toolu_1").as_bytes());
        let cut_off =
            ends("toolu_1", true).replace("told", "[Tool call interrupted: the session ended before this");
        assert_eq!(reader.lines(cut_off.as_bytes()).len(), 1);
        assert_eq!((reader.open().count(), reader.lines(cut_off.as_bytes()).len()), (0, 0));
        let found = reader.lines(ends("toolu_1", false).as_bytes());
        assert!(matches!(&found[..], [Entry::Ended { is_error: false, .. }]), "{found:?}");
    }

    #[test]
    fn side_chains_and_words_that_look_alike_are_no_questions() {
        let mut reader = TranscriptReader::default();
        let side = asks("toolu_2").replace("\"isSidechain\":false", "\"isSidechain\":true");
        assert!(reader.lines(side.as_bytes()).is_empty());
        let quote = assistant("m", json!({"type":"text","text":"a \"tool_use\" of AskUserQuestion"}));
        assert!(reader.lines(quote.as_bytes()).is_empty());
        let user = json!({"type":"user","sessionId":"s","message":{"content":[{"type":"tool_use","id":"x","name":"AskUserQuestion"}]}});
        assert!(reader.lines(user.to_string().as_bytes()).is_empty());
    }

    #[test]
    fn no_bytes_break_it() {
        let mut reader = TranscriptReader::default();
        let whole = asks("toolu_3");
        for cut in 0..whole.len() {
            reader.lines(&whole.as_bytes()[..cut]);
        }
        reader.lines(&[0xff, 0xfe, b'{']);
        reader.lines(b"\"tool_use\" AskUserQuestion");
        assert_eq!(reader.lines(whole.as_bytes()).len(), 1);
    }
}
