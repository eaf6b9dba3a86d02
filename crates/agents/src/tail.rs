//! A regular file of this user that grows, read as it grows. In: a path, a place to go on from, and the wish
//! to look. Out: whole lines that are new, as many at a time as were read at once, and the facts that the
//! file was truncated or replaced. No clock and no watcher: the caller decides when to look, and nothing is
//! read twice. A half line waits for its end.
//!
//! Lines come in blocks because most readers look for few of them: a search through a block is as fast as
//! memory, a line at a time is not. The bytes are copied once, by the system.

use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use memchr::{memchr, memrchr};
use serde::{Deserialize, Serialize};

use askd_data::regular::open_regular;

/// One read, and with it the usual block: small enough to stay in the processor's cache while it is searched.
const READ_BYTES: usize = 512 * 1024;
/// The most bytes of one look, so that many files have their turn.
pub const MAX_LOOK_BYTES: u64 = 64 * 1024 * 1024;

/// The position to continue from: a file, and a number of bytes. It lies between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TailPosition {
    pub device: u64,
    pub inode: u64,
    pub offset: u64,
}

/// The results of a look, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum TailEvent<'a> {
    /// Whole lines with their line feeds; `end` is the offset after them. Only the last line of a replaced
    /// file may lack its line feed.
    Lines { bytes: &'a [u8], end: u64 },
    /// A line over the limit, with its length.
    Oversized { total_bytes: u64, end: u64 },
    /// The file is shorter than what was read of it: reading begins anew. A half line is lost with its bytes.
    Truncated,
    /// Another file has the name now; the old one was read to its end, a half line at its end came as a line.
    Replaced,
}

/// The next step.
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
    max_line: usize,
    opened: Option<Opened>,
    /// The position of an earlier life; used once.
    resume: Option<TailPosition>,
    half: HalfLine,
    position: Option<TailPosition>,
}

/// The beginning of a line without an end so far.
#[derive(Debug, Default)]
struct HalfLine {
    bytes: Vec<u8>,
    /// Of a line beyond the limit only its length is kept.
    skipped: Option<u64>,
}

impl Tail {
    /// Reads from the position of an earlier life, or from the beginning.
    pub fn new(path: impl Into<PathBuf>, resume: Option<TailPosition>, max_line: usize) -> Self {
        let half = HalfLine::default();
        Self { path: path.into(), max_line, opened: None, resume, half, position: resume }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The position after the last whole line; save it together with its effects.
    pub fn position(&self) -> Option<TailPosition> {
        self.position
    }

    /// Reads new bytes, up to the limit of one look.
    pub fn look(&mut self, found: impl FnMut(TailEvent<'_>)) -> io::Result<Looked> {
        self.look_at_most(MAX_LOOK_BYTES, found)
    }

    /// Reads new bytes, at most about `budget`.
    pub fn look_at_most(
        &mut self,
        mut budget: u64,
        mut found: impl FnMut(TailEvent<'_>),
    ) -> io::Result<Looked> {
        loop {
            // Before the file is read: what is appended to the old file before it loses its name is read.
            let named = match std::fs::symlink_metadata(&self.path) {
                Ok(meta) => Some((meta.dev(), meta.ino())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            if self.opened.is_none() {
                self.open(&mut found)?;
            }
            let Some(opened) = &mut self.opened else { return Ok(Looked::Missing) };
            let length = opened.file.metadata()?.len();
            if length < opened.read {
                opened.file.seek(SeekFrom::Start(0))?;
                opened.read = 0;
                self.half = HalfLine::default();
                self.position = Some(opened.position(0));
                found(TailEvent::Truncated);
            }
            // Most of many watched files are quiet: whether there is something to read is known before memory
            // is taken.
            if length > opened.read && !self.read_on(length, &mut budget, &mut found)? {
                return Ok(Looked::More);
            }
            let Some(opened) = &self.opened else { return Ok(Looked::Missing) };
            if named == Some((opened.device, opened.inode)) {
                return Ok(Looked::AtEnd);
            }
            // The name belongs to another file, or to none: the old one is finished.
            let (end, half) = (opened.read, std::mem::take(&mut self.half));
            if let Some(skipped) = half.skipped {
                found(TailEvent::Oversized { total_bytes: skipped, end });
            } else if !half.bytes.is_empty() {
                found(TailEvent::Lines { bytes: &half.bytes, end });
            }
            self.opened = None;
            found(TailEvent::Replaced);
        }
    }

    fn open(&mut self, found: &mut impl FnMut(TailEvent<'_>)) -> io::Result<()> {
        let mut file = match open_regular(&self.path) {
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
        self.half = HalfLine::default();
        self.position = Some(opened.position(read));
        self.opened = Some(opened);
        Ok(())
    }

    /// Reads to the end of the file, which was at `length`; `false`: the budget was spent before.
    fn read_on(
        &mut self,
        length: u64,
        budget: &mut u64,
        found: &mut impl FnMut(TailEvent<'_>),
    ) -> io::Result<bool> {
        let Some(opened) = &mut self.opened else { return Ok(true) };
        // No more than a line may have, so that only the first line of a block can be too long.
        let mut step =
            READ_BYTES.min(self.max_line).min(usize::try_from(length - opened.read).unwrap_or(READ_BYTES));
        let mut block = std::mem::take(&mut self.half.bytes);
        let mut filled = block.len();
        let at_end = loop {
            if *budget == 0 {
                break false;
            }
            if block.len() < filled + step {
                block.resize(filled + step, 0);
            }
            let read = match opened.file.read(&mut block[filled..filled + step]) {
                Ok(0) => break true,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.half.bytes = kept(block, filled);
                    return Err(error);
                }
            };
            // A file that grows meanwhile is read in larger and larger steps.
            step = READ_BYTES.min(self.max_line).min(step * 2);
            opened.read += read as u64;
            *budget = budget.saturating_sub(read as u64);
            let fresh = filled;
            filled += read;
            let mut start = 0;
            let offset_after = |at: usize| opened.read - (filled - at) as u64;
            match memchr(b'\n', &block[fresh..filled]).map(|feed| fresh + feed) {
                None if self.half.skipped.is_some() || filled > self.max_line => {
                    *self.half.skipped.get_or_insert(0) += filled as u64;
                    filled = 0;
                    continue;
                }
                None => continue,
                Some(feed) if self.half.skipped.is_some() || feed > self.max_line => {
                    let total_bytes = self.half.skipped.take().unwrap_or(0) + feed as u64;
                    start = feed + 1;
                    found(TailEvent::Oversized { total_bytes, end: offset_after(start) });
                }
                Some(_) => {}
            }
            if let Some(last) = memrchr(b'\n', &block[start..filled]) {
                let lines = &block[start..=start + last];
                start += last + 1;
                found(TailEvent::Lines { bytes: lines, end: offset_after(start) });
            }
            self.position = Some(opened.position(offset_after(start)));
            block.copy_within(start..filled, 0);
            filled -= start;
        };
        self.half.bytes = kept(block, filled);
        Ok(at_end)
    }
}

/// The half line alone: a thousand quiet files must not hold a block each.
fn kept(mut block: Vec<u8>, filled: usize) -> Vec<u8> {
    block.truncate(filled);
    block.shrink_to_fit();
    block
}

impl Opened {
    fn position(&self, offset: u64) -> TailPosition {
        TailPosition { device: self.device, inode: self.inode, offset }
    }
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
