//! Transcripts as they really grow: through a file that is appended to at any byte, truncated, rotated, or
//! full of other things. What the reader tells must be what a slow reading of every line tells, each question
//! once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use askd_agents::claude_hook::{Entry, Tool, TranscriptReader};
use askd_agents::tail::{Looked, Tail, TailEvent};
use proptest::prelude::*;
use serde_json::{Value, json};

/// As the hub has it.
const MAX_LINE: usize = 16 << 20;

fn assistant(block: Value) -> Vec<u8> {
    json!({ "type": "assistant", "isSidechain": false, "sessionId": "s", "message": { "id": "m", "content": [block] } })
        .to_string()
        .into_bytes()
}

fn asks(id: usize, tool: Tool) -> Vec<u8> {
    assistant(json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": tool.name(), "input": {} }))
}

fn ends(id: usize) -> Vec<u8> {
    let result = json!({ "type": "tool_result", "tool_use_id": format!("toolu_{id}"), "content": "told" });
    json!({ "type": "user", "sessionId": "s", "message": { "content": [result] } }).to_string().into_bytes()
}

/// What a transcript, or something that pretends to be one, has in its lines.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let id = 0..6usize;
    prop_oneof![
        4 => (id.clone(), any::<bool>()).prop_map(|(id, plan)| asks(id, if plan { Tool::ExitPlanMode } else { Tool::AskUserQuestion })),
        4 => id.clone().prop_map(ends),
        2 => ".{0,80}".prop_map(|text| assistant(json!({ "type": "text", "text": text }))),
        1 => Just(assistant(json!({ "type": "text", "text": "a \"tool_use\" of AskUserQuestion for toolu_1" }))),
        1 => Just(assistant(json!({ "type": "tool_use", "id": "toolu_bash", "name": "Bash", "input": { "command": "x" } }))),
        1 => id.clone().prop_map(|id| String::from_utf8(asks(id, Tool::AskUserQuestion)).unwrap().replace("false", "true").into_bytes()),
        1 => id.prop_map(|id| String::from_utf8(ends(id)).unwrap().replace("\"user\"", "\"never-seen\"").into_bytes()),
        1 => any::<[u8; 12]>().prop_map(|bytes| [&b"\xff\xfe\"tool_use\"AskUserQuestion"[..], &bytes].concat()),
        1 => Just(Vec::new()),
        // Longer than a block.
        1 => Just(assistant(json!({ "type": "text", "text": "x".repeat(600 << 10) }))),
    ]
    .prop_map(|line| line.into_iter().filter(|byte| *byte != b'\n').collect())
}

/// A reading without any cleverness: the ids that are asked (+) and ended (-), in order.
#[derive(Default)]
struct Slow {
    open: HashSet<String>,
    told: Vec<String>,
}

impl Slow {
    fn read(&mut self, lines: &[u8]) {
        for line in lines.split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            if line["isSidechain"] == true {
                continue;
            }
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                let named = block["name"].as_str().and_then(Tool::parse).is_some();
                if line["type"] == "assistant" && block["type"] == "tool_use" && named {
                    let id = block["id"].as_str().unwrap();
                    if self.open.insert(id.to_owned()) {
                        self.told.push(format!("+{id}"));
                    }
                }
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if line["type"] == "user" && block["type"] == "tool_result" && self.open.remove(id) {
                    self.told.push(format!("-{id}"));
                }
            }
        }
    }
}

fn told(entry: &Entry) -> String {
    match entry {
        Entry::Asked { call_id, .. } => format!("+{call_id}"),
        Entry::Ended { call_id, .. } => format!("-{call_id}"),
    }
}

/// A file, the reader that follows it, and the slow reading of the same.
struct Followed {
    folder: tempfile::TempDir,
    tail: Tail,
    reader: TranscriptReader,
    told: Vec<String>,
    oversized: usize,
    slow: Slow,
    /// What the slow reading has not read: a half line.
    half: Vec<u8>,
}

impl Followed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        File::create(&path).unwrap();
        let tail = Tail::new(path, None, MAX_LINE);
        let (reader, slow) = (TranscriptReader::default(), Slow::default());
        Self { folder, tail, reader, told: Vec::new(), oversized: 0, slow, half: Vec::new() }
    }

    fn path(&self) -> PathBuf {
        self.tail.path().to_owned()
    }

    fn look(&mut self) {
        let (reader, all, oversized) = (&mut self.reader, &mut self.told, &mut self.oversized);
        let mut found = |event: TailEvent<'_>| match event {
            TailEvent::Lines { bytes, .. } => all.extend(reader.lines(bytes).iter().map(told)),
            TailEvent::Oversized { .. } => *oversized += 1,
            TailEvent::Truncated | TailEvent::Replaced => reader.reset(),
        };
        while self.tail.look_at_most(1 << 20, &mut found).unwrap() == Looked::More {}
    }

    fn append(&mut self, bytes: &[u8]) {
        OpenOptions::new().append(true).open(self.path()).unwrap().write_all(bytes).unwrap();
        self.half.extend_from_slice(bytes);
        if let Some(last) = self.half.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.half.split_off(last + 1);
            self.slow.read(&std::mem::replace(&mut self.half, rest));
        }
        self.look();
    }

    /// Everything in it is gone, the half line too.
    fn truncate(&mut self) {
        OpenOptions::new().write(true).open(self.path()).unwrap().set_len(0).unwrap();
        self.half.clear();
        self.slow.open.clear();
        self.look();
    }

    /// Another file takes the name; a half line of the old one is all that there will be of it.
    fn rotate(&mut self) {
        std::fs::rename(self.path(), self.folder.path().join("old")).unwrap();
        File::create(self.path()).unwrap();
        self.slow.read(&std::mem::take(&mut self.half));
        self.slow.open.clear();
        self.look();
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<u8>),
    Truncate,
    Rotate,
}

/// Lines, cut into pieces anywhere, with what may happen to a file in between.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let happens =
        prop_oneof![12 => Just(None), 1 => Just(Some(Step::Truncate)), 1 => Just(Some(Step::Rotate))];
    let piece = (proptest::collection::vec(line(), 0..12), any::<prop::sample::Index>(), happens);
    proptest::collection::vec(piece, 1..8).prop_map(|pieces| {
        let mut steps = Vec::new();
        for (lines, cut, happens) in pieces {
            let mut bytes: Vec<u8> = lines.join(&b'\n');
            bytes.push(b'\n');
            let rest = bytes.split_off(cut.index(bytes.len()));
            steps.push(Step::Append(bytes));
            steps.extend(happens);
            steps.push(Step::Append(rest));
        }
        steps
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn however_a_file_grows_each_question_is_told_once(steps in steps()) {
        let mut file = Followed::new();
        for step in steps {
            match step {
                Step::Append(bytes) => file.append(&bytes),
                Step::Truncate => file.truncate(),
                Step::Rotate => file.rotate(),
            }
            prop_assert_eq!(&file.told, &file.slow.told);
        }
        let open: HashSet<String> = file.reader.open().map(str::to_owned).collect();
        prop_assert_eq!(open, file.slow.open);
    }

    #[test]
    fn a_block_tells_what_its_lines_tell(lines in proptest::collection::vec(line(), 0..40)) {
        let block = lines.join(&b'\n');
        let (mut whole, mut single) = (TranscriptReader::default(), TranscriptReader::default());
        let all: Vec<String> = whole.lines(&block).iter().map(told).collect();
        let each: Vec<String> = lines.iter().flat_map(|line| single.lines(line)).map(|entry| told(&entry)).collect();
        prop_assert_eq!(all, each);
    }

    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let mut reader = TranscriptReader::default();
        reader.lines(&asks(1, Tool::AskUserQuestion));
        reader.lines(&bytes);
        prop_assert_eq!(reader.lines(&ends(1)).len(), 1);
    }
}

#[test]
fn a_line_of_50_mb_is_passed_over_and_the_next_one_is_read() {
    let mut file = Followed::new();
    file.append(&[asks(1, Tool::AskUserQuestion), b"\n".to_vec()].concat());
    let piece = vec![b'x'; 5_000_000];
    for _ in 0..10 {
        OpenOptions::new().append(true).open(file.path()).unwrap().write_all(&piece).unwrap();
        file.look();
    }
    file.append(
        &[b"\n".to_vec(), ends(1), b"\n".to_vec(), asks(2, Tool::ExitPlanMode), b"\n".to_vec()].concat(),
    );
    assert_eq!(
        (file.told, file.oversized),
        (vec!["+toolu_1".into(), "-toolu_1".into(), "+toolu_2".into()], 1)
    );
}

/// The words that lead to a question are found in the lines before it, also when they came in an earlier
/// look.
#[test]
fn what_was_said_before_a_question_is_kept() {
    let text = assistant(json!({ "type": "text", "text": "I need to know." }));
    let question = asks(1, Tool::AskUserQuestion);
    let excerpt = |blocks: &[Vec<u8>]| {
        let mut reader = TranscriptReader::default();
        let entries: Vec<Entry> = blocks.iter().flat_map(|block| reader.lines(block)).collect();
        let [Entry::Asked { excerpt, .. }] = &entries[..] else { panic!("{entries:?}") };
        excerpt.clone()
    };
    let said = Some("I need to know.".to_owned());
    assert_eq!(excerpt(&[[&text[..], b"\n", &question, b"\n"].concat()]), said);
    assert_eq!(excerpt(&[text.clone(), question.clone()]), said);
    // Far into a block, where only its end is looked through for words.
    let far =
        [vec![b' '; 100 << 10], b"\n".to_vec(), text.clone(), b"\n".to_vec(), question.clone()].concat();
    assert_eq!(excerpt(&[far]), said);
    let other = String::from_utf8(text).unwrap().replace("\"m\"", "\"other\"").into_bytes();
    assert_eq!(excerpt(&[[&other[..], b"\n", &question].concat()]), None, "another message's words");
}
