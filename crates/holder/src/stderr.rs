//! The agent's `stderr`. In: bytes. Out: the last lines, in memory and, a few more, in a file that outlives
//! the holder.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};

use askd_wire::lines::{Framed, LineSplitter};

/// A line of the tail; a longer one is cut with a mark.
const MAX_STDERR_LINE_BYTES: usize = 2 * 1024;
/// The file is begun anew at this size; the one before is kept beside it.
const MAX_STDERR_FILE_BYTES: u64 = 256 * 1024;

#[derive(Debug)]
pub(super) struct StderrTail {
    lines: VecDeque<String>,
    most: usize,
    splitter: LineSplitter,
    path: PathBuf,
    file: Option<File>,
    file_bytes: u64,
}

impl StderrTail {
    pub(super) fn new(path: PathBuf, most: usize) -> Self {
        let splitter = LineSplitter::new(MAX_STDERR_LINE_BYTES);
        Self { lines: VecDeque::new(), most, splitter, path, file: None, file_bytes: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.keep(bytes);
        self.splitter.push(bytes);
        while let Some(line) = self.splitter.pop() {
            add(&mut self.lines, self.most, line);
        }
    }

    /// The last lines, a half one at the end included.
    pub(super) fn finish(&mut self) -> Vec<String> {
        if let Some(line) = self.splitter.finish() {
            add(&mut self.lines, self.most, line);
        }
        self.lines.iter().cloned().collect()
    }

    /// The file is a comfort: what cannot be written to it is not worth ending an agent.
    fn keep(&mut self, bytes: &[u8]) {
        if self.file_bytes >= MAX_STDERR_FILE_BYTES {
            let _ = fs::rename(&self.path, self.path.with_extension("old"));
            self.file = None;
            self.file_bytes = 0;
        }
        if self.file.is_none() {
            self.file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(bytes);
            self.file_bytes += bytes.len() as u64;
        }
    }
}

fn add(lines: &mut VecDeque<String>, most: usize, line: Framed<'_>) {
    let text = match line {
        Framed::Line(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Framed::Oversized { prefix, total_bytes } => {
            let shown = &prefix[..prefix.len().min(MAX_STDERR_LINE_BYTES)];
            format!("{} [{total_bytes} bytes]", String::from_utf8_lossy(shown))
        }
    };
    lines.push_back(text);
    while lines.len() > most {
        lines.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_stay_and_a_long_one_is_cut_with_a_mark() {
        let folder = tempfile::tempdir().unwrap();
        let mut tail = StderrTail::new(folder.path().join("stderr"), 3);
        tail.push(b"one\ntwo\nthree\n");
        tail.push(&[b'x'; 5000]);
        tail.push(b"\nhalf");
        let long = format!("{} [5000 bytes]", "x".repeat(2048));
        assert_eq!(tail.finish(), vec!["three".to_owned(), long, "half".to_owned()]);
    }

    #[test]
    fn the_file_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut tail = StderrTail::new(folder.path().join("stderr"), 1);
        for _ in 0..100 {
            tail.push(&[b'y'; 64 * 1024]);
        }
        let total: u64 =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(total <= 2 * (MAX_STDERR_FILE_BYTES + 64 * 1024), "{total} bytes");
    }
}
