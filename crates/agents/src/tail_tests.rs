//! The tests of `tail.rs`.

use std::{fs, io::Write as _};

use super::*;

struct Watched {
    folder: tempfile::TempDir,
}

impl Watched {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }
    fn path(&self) -> PathBuf {
        self.folder.path().join("log")
    }
    fn append(&self, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.path()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
    fn tail(&self, resume: Option<TailPosition>) -> Tail {
        Tail::new(self.path(), resume, 10)
    }
}

fn look(tail: &mut Tail) -> (Vec<String>, Looked) {
    let mut found = Vec::new();
    let looked = tail.look(|event| found.push(text(&event))).unwrap();
    (found, looked)
}

fn text(event: &TailEvent<'_>) -> String {
    match event {
        TailEvent::Lines { bytes, end } => format!("{}@{end}", String::from_utf8_lossy(bytes)),
        TailEvent::Oversized { total_bytes, end, .. } => format!("oversized {total_bytes}@{end}"),
        TailEvent::Truncated => "truncated".to_owned(),
        TailEvent::Replaced => "replaced".to_owned(),
    }
}

fn found(lines: &[&str], looked: Looked) -> (Vec<String>, Looked) {
    (lines.iter().map(|line| (*line).to_owned()).collect(), looked)
}

#[test]
fn only_what_is_new_is_read_and_a_half_line_waits() {
    let file = Watched::new();
    let mut tail = file.tail(None);
    assert_eq!(look(&mut tail), found(&[], Looked::Missing));
    file.append("one\r\ntw");
    assert_eq!(look(&mut tail), found(&["one\r\n@5"], Looked::AtEnd));
    assert_eq!(look(&mut tail), found(&[], Looked::AtEnd));
    file.append("o\nthree\n");
    assert_eq!(look(&mut tail), found(&["two\nthree\n@15"], Looked::AtEnd));
    file.append("a line beyond the limit\nok\n");
    assert_eq!(look(&mut tail), found(&["oversized 23@39", "ok\n@42"], Looked::AtEnd));
}

#[test]
fn a_later_life_goes_on_between_two_lines() {
    let file = Watched::new();
    file.append("one\nhal");
    let mut tail = file.tail(None);
    look(&mut tail);
    let saved = tail.position().unwrap();
    assert_eq!(saved.offset, 4);
    let saved = serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap();
    file.append("f\n");
    assert_eq!(look(&mut file.tail(Some(saved))), found(&["half\n@9"], Looked::AtEnd));
    fs::write(file.path(), "").unwrap();
    assert_eq!(look(&mut file.tail(Some(saved))), found(&["truncated"], Looked::AtEnd));
    fs::write(file.folder.path().join("other"), "new\n").unwrap();
    fs::rename(file.folder.path().join("other"), file.path()).unwrap();
    assert_eq!(look(&mut file.tail(Some(saved))), found(&["replaced", "new\n@4"], Looked::AtEnd));
}

#[test]
fn a_truncated_file_is_read_anew() {
    let file = Watched::new();
    file.append("one\ntwo\nhal");
    let mut tail = file.tail(None);
    look(&mut tail);
    fs::write(file.path(), "x\n").unwrap();
    assert_eq!(look(&mut tail), found(&["truncated", "x\n@2"], Looked::AtEnd));
    assert_eq!(tail.position().unwrap().offset, 2);
}

#[test]
fn a_rotated_file_is_read_to_its_end_first() {
    let file = Watched::new();
    file.append("one\n");
    let mut tail = file.tail(None);
    look(&mut tail);
    file.append("two\nhalf");
    fs::rename(file.path(), file.folder.path().join("log.1")).unwrap();
    file.append("three\n");
    assert_eq!(look(&mut tail), found(&["two\n@8", "half@12", "replaced", "three\n@6"], Looked::AtEnd));
    fs::remove_file(file.path()).unwrap();
    assert_eq!(look(&mut tail), found(&["replaced"], Looked::Missing));
    assert_eq!(look(&mut tail), found(&[], Looked::Missing));
    file.append("four\n");
    assert_eq!(look(&mut tail), found(&["four\n@5"], Looked::AtEnd));
}

#[test]
fn a_long_file_is_read_in_several_looks() {
    let file = Watched::new();
    let whole: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    file.append(&whole);
    let mut tail = Tail::new(file.path(), None, READ_BYTES);
    let (mut read, mut looks) = (Vec::new(), 0);
    let mut found = |event: TailEvent<'_>| match event {
        TailEvent::Lines { bytes, end } => {
            read.extend_from_slice(bytes);
            assert!(bytes.ends_with(b"\n") && end == read.len() as u64);
        }
        other => panic!("{other:?}"),
    };
    while tail.look_at_most(1, &mut found).unwrap() == Looked::More {
        looks += 1;
    }
    assert_eq!((read.len(), looks), (whole.len(), whole.len().div_ceil(READ_BYTES)));
    assert_eq!(String::from_utf8(read).unwrap(), whole);
}
