//! A file that grows, read as it grows. In: a path, a place to go on from, and the wish to look. Out: whole lines that are
//! new, each with where it ends, and the facts that the file was truncated or replaced. No clock and no watcher: the caller
//! decides when to look, and nothing is read twice. A half line waits for its end.

use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::lines::{Framed, LineSplitter};

/// One read. A first scan of a gigabyte is bound by this and by the search for `\n`.
const READ_BYTES: usize = 256 * 1024;
/// What one look reads at most, so that many files are served in turn.
pub const MAX_LOOK_BYTES: u64 = 64 * 1024 * 1024;

/// Where to go on: in which file, and after how many bytes. It lies between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TailPosition {
    pub device: u64,
    pub inode: u64,
    pub offset: u64,
}

/// What a look has found, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum TailEvent<'a> {
    /// A whole line; `end` is the offset after it.
    Line {
        bytes: &'a [u8],
        end: u64,
    },
    Oversized {
        prefix: &'a [u8],
        total_bytes: u64,
        end: u64,
    },
    /// The file is shorter than what was read of it: reading begins anew. A half line is lost with its bytes.
    Truncated,
    /// Another file has the name now; the old one was read to its end, a half line at its end came as a line.
    Replaced,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// Read to the end of the file.
    AtEnd,
    /// The limit of one look was reached; look again.
    More,
    /// There is no such file now.
    Missing,
}

#[derive(Debug)]
struct Opened {
    file: File,
    device: u64,
    inode: u64,
    /// How many bytes were read.
    read: u64,
}

#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    opened: Option<Opened>,
    /// Where an earlier life stopped; looked at once.
    resume: Option<TailPosition>,
    lines: LineSplitter,
    position: Option<TailPosition>,
}

impl Tail {
    /// Reads from the position of an earlier life, or from the beginning.
    pub fn new(path: impl Into<PathBuf>, resume: Option<TailPosition>, max_line: usize) -> Self {
        let lines = LineSplitter::new(max_line);
        Self { path: path.into(), opened: None, resume, lines, position: resume }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// After the last whole line that was given out; to be saved with what was made of it.
    pub fn position(&self) -> Option<TailPosition> {
        self.position
    }

    /// Reads what is new, up to the limit of one look.
    pub fn look(&mut self, found: impl FnMut(TailEvent<'_>)) -> io::Result<Looked> {
        self.look_at_most(MAX_LOOK_BYTES, found)
    }

    /// Reads what is new, about `budget` bytes of it at most.
    pub fn look_at_most(
        &mut self,
        mut budget: u64,
        mut found: impl FnMut(TailEvent<'_>),
    ) -> io::Result<Looked> {
        loop {
            // Before the file is read: what is appended to the old file before it loses its name is read.
            let named = match std::fs::metadata(&self.path) {
                Ok(meta) => Some((meta.dev(), meta.ino())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            if self.opened.is_none() {
                self.open(&mut found)?;
            }
            let Some(opened) = &mut self.opened else { return Ok(Looked::Missing) };
            if opened.file.metadata()?.len() < opened.read {
                opened.file.seek(SeekFrom::Start(0))?;
                opened.read = 0;
                self.lines.reset(0);
                self.position = Some(opened.position(0));
                found(TailEvent::Truncated);
            }
            if !read_on(opened, &mut self.lines, &mut self.position, &mut budget, &mut found)? {
                return Ok(Looked::More);
            }
            if named == Some((opened.device, opened.inode)) {
                return Ok(Looked::AtEnd);
            }
            // The name belongs to another file, or to none: the old one is finished.
            let end = opened.read;
            if let Some(line) = self.lines.finish() {
                found(event(line, end));
            }
            self.opened = None;
            found(TailEvent::Replaced);
        }
    }

    fn open(&mut self, found: &mut impl FnMut(TailEvent<'_>)) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let meta = file.metadata()?;
        let mut read = 0;
        if let Some(resume) = self.resume.take() {
            if (resume.device, resume.inode) != (meta.dev(), meta.ino()) {
                found(TailEvent::Replaced);
            } else if meta.len() < resume.offset {
                found(TailEvent::Truncated);
            } else {
                read = resume.offset;
                file.seek(SeekFrom::Start(read))?;
            }
        }
        let opened = Opened { file, device: meta.dev(), inode: meta.ino(), read };
        self.lines.reset(read);
        self.position = Some(opened.position(read));
        self.opened = Some(opened);
        Ok(())
    }
}

impl Opened {
    fn position(&self, offset: u64) -> TailPosition {
        TailPosition { device: self.device, inode: self.inode, offset }
    }
}

/// Reads to the end of the file; `false`: the budget was spent before.
fn read_on(
    opened: &mut Opened,
    lines: &mut LineSplitter,
    position: &mut Option<TailPosition>,
    budget: &mut u64,
    found: &mut impl FnMut(TailEvent<'_>),
) -> io::Result<bool> {
    // Most of many watched files are quiet: whether there is something to read is known before memory is taken.
    if opened.file.metadata()?.len() <= opened.read {
        return Ok(true);
    }
    let mut chunk = vec![0; READ_BYTES];
    while *budget > 0 {
        let read = match opened.file.read(&mut chunk) {
            Ok(0) => return Ok(true),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        opened.read += read as u64;
        *budget = budget.saturating_sub(read as u64);
        lines.push(&chunk[..read]);
        while let Some((line, end)) = lines.pop_at() {
            found(event(line, end));
            *position = Some(opened.position(end));
        }
    }
    Ok(false)
}

fn event(line: Framed<'_>, end: u64) -> TailEvent<'_> {
    match line {
        Framed::Line(bytes) => TailEvent::Line { bytes, end },
        Framed::Oversized { prefix, total_bytes } => TailEvent::Oversized { prefix, total_bytes, end },
    }
}

#[cfg(test)]
mod tests {
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
            TailEvent::Line { bytes, end } => format!("{}@{end}", String::from_utf8_lossy(bytes)),
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
        assert_eq!(look(&mut tail), found(&["one@5"], Looked::AtEnd));
        assert_eq!(look(&mut tail), found(&[], Looked::AtEnd));
        file.append("o\nthree\n");
        assert_eq!(look(&mut tail), found(&["two@9", "three@15"], Looked::AtEnd));
        file.append("a line beyond the limit\nok\n");
        assert_eq!(look(&mut tail), found(&["oversized 23@39", "ok@42"], Looked::AtEnd));
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
        assert_eq!(look(&mut file.tail(Some(saved))), found(&["half@9"], Looked::AtEnd));
        fs::write(file.path(), "").unwrap();
        assert_eq!(look(&mut file.tail(Some(saved))), found(&["truncated"], Looked::AtEnd));
        fs::write(file.folder.path().join("other"), "new\n").unwrap();
        fs::rename(file.folder.path().join("other"), file.path()).unwrap();
        assert_eq!(look(&mut file.tail(Some(saved))), found(&["replaced", "new@4"], Looked::AtEnd));
    }

    #[test]
    fn a_truncated_file_is_read_anew() {
        let file = Watched::new();
        file.append("one\ntwo\nhal");
        let mut tail = file.tail(None);
        look(&mut tail);
        fs::write(file.path(), "x\n").unwrap();
        assert_eq!(look(&mut tail), found(&["truncated", "x@2"], Looked::AtEnd));
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
        assert_eq!(look(&mut tail), found(&["two@8", "half@12", "replaced", "three@6"], Looked::AtEnd));
        fs::remove_file(file.path()).unwrap();
        assert_eq!(look(&mut tail), found(&["replaced"], Looked::Missing));
        assert_eq!(look(&mut tail), found(&[], Looked::Missing));
        file.append("four\n");
        assert_eq!(look(&mut tail), found(&["four@5"], Looked::AtEnd));
    }

    #[test]
    fn a_long_file_is_read_in_several_looks() {
        let file = Watched::new();
        let whole: String = (0..100_000).map(|n| format!("{n}\n")).collect();
        file.append(&whole);
        let mut tail = file.tail(None);
        let (mut lines, mut looks) = (0, 0);
        while tail.look_at_most(1, |_| lines += 1).unwrap() == Looked::More {
            looks += 1;
        }
        assert_eq!((lines, looks), (100_000, whole.len().div_ceil(READ_BYTES)));
    }
}
