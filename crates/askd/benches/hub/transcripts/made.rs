//! Transcripts as Claude Code 2.1 writes them, made up: in size, mixture and members like the real ones.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Result;

/// A question comes after so many lines, one of its kind among many calls that ask nobody.
const QUESTION_EVERY: usize = 200;
/// Every so many-th file ends with an open question.
pub const OPEN_EVERY: usize = 10;

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn words(&mut self, count: usize) -> String {
        const WORDS: [&str; 12] = [
            "the",
            "parser",
            "returns",
            "an",
            "error",
            "\"quoted\"",
            "when",
            "fn main()",
            "src/lib.rs:42",
            "→",
            "\n",
            "tests",
        ];
        (0..count).map(|_| WORDS[self.roll(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }
}

pub fn session_name(number: usize) -> String {
    format!("3337aed3-e7c1-49cf-a370-{number:012x}")
}

/// A line with the members that every line has.
fn line(session: &str, kind: &str, message: &Value, more: &Value) -> String {
    let mut line = json!({
        "parentUuid": "fe425263-6c51-4bf5-93a7-84a0f756d82b", "isSidechain": false, "message": message, "type": kind,
        "uuid": "fe691450-7a0e-4371-b659-1dd6cdeaa179", "timestamp": "2026-11-15T07:32:14.805Z", "userType": "external",
        "entrypoint": "cli", "cwd": "/home/dev/app", "sessionId": session, "version": "2.1.325", "gitBranch": "main",
    });
    if let (Some(line), Some(more)) = (line.as_object_mut(), more.as_object()) {
        line.extend(more.clone());
    }
    line.to_string()
}

fn says(session: &str, block: &Value) -> String {
    let usage = json!({ "input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 18222, "output_tokens": 5,
        "server_tool_use": { "web_search_requests": 0, "web_fetch_requests": 0 }, "service_tier": "standard" });
    let message = json!({ "id": "msg_c9c23289fa8a491ebf2e45ee", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [block], "stop_reason": null, "stop_sequence": null, "usage": usage });
    line(session, "assistant", &message, &json!({ "requestId": "req_011CU" }))
}

fn result(session: &str, id: &str, told: &str, more: &Value) -> String {
    let block = json!({ "tool_use_id": id, "type": "tool_result", "content": told });
    line(session, "user", &json!({ "role": "user", "content": [block] }), more)
}

/// A call that asks.
pub fn asks(session: &str, id: &str, question: &str) -> String {
    let options = json!([{ "label": "JWT", "description": "Stateless tokens" }, { "label": "Session cookies", "description": "In Redis" }]);
    let item =
        json!({ "question": question, "header": "Auth method", "options": options, "multiSelect": false });
    says(
        session,
        &json!({ "type": "tool_use", "id": id, "name": "AskUserQuestion", "input": { "questions": [item] } }),
    )
}

/// Its end.
pub fn answered(session: &str, id: &str, question: &str) -> String {
    let told = format!(
        "Your questions have been answered: \"{question}\"=\"JWT\". You can now continue with these answers in mind."
    );
    result(
        session,
        id,
        &told,
        &json!({ "toolUseResult": { "questions": [], "answers": { question: "JWT" } } }),
    )
}

/// An ordinary line: words, a call, or what a tool printed.
fn ordinary(session: &str, number: usize, dice: &mut Dice) -> String {
    match dice.roll(10) {
        0..3 => {
            let count = 20 + dice.roll(200);
            says(session, &json!({ "type": "text", "text": dice.words(count) }))
        }
        3..6 => {
            let command = dice.words(12);
            let input = json!({ "command": command, "description": "Run it" });
            says(
                session,
                &json!({ "type": "tool_use", "id": format!("toolu_bash_{number}"), "name": "Bash", "input": input }),
            )
        }
        _ => {
            let count = 50 + dice.roll(1200);
            let printed = dice.words(count);
            let more = json!({ "toolUseResult": { "stdout": printed, "stderr": "", "interrupted": false, "isImage": false } });
            result(session, &format!("toolu_bash_{number}"), &printed, &more)
        }
    }
}

/// A session of about `bytes` bytes; gives back how many it has.
pub fn transcript(path: &Path, number: usize, bytes: u64) -> Result<u64> {
    let session = session_name(number);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1));
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let (mut written, mut count) = (0, 0);
    let mut add = |text: String| -> Result<u64> {
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        Ok(text.len() as u64 + 1)
    };
    while written < bytes {
        count += 1;
        written += add(ordinary(&session, count, &mut dice))?;
        if count.is_multiple_of(QUESTION_EVERY) {
            let id = format!("toolu_ask_{count}");
            written += add(asks(&session, &id, "Which auth?"))?;
            written += add(answered(&session, &id, "Which auth?"))?;
        }
    }
    if number.is_multiple_of(OPEN_EVERY) {
        written += add(asks(&session, "toolu_ask_last", "Which auth?"))?;
    }
    file.flush()?;
    Ok(written)
}

/// Fills a folder of projects; gives back the paths and the bytes in all.
pub fn projects(folder: &Path, files: usize, bytes_each: u64) -> Result<(Vec<PathBuf>, u64)> {
    let mut all = (Vec::new(), 0);
    for number in 0..files {
        let project = folder.join(format!("-home-dev-app-{}", number % 16));
        std::fs::create_dir_all(&project)?;
        let path = project.join(format!("{}.jsonl", session_name(number)));
        all.1 += transcript(&path, number, bytes_each)?;
        all.0.push(path);
    }
    Ok(all)
}
