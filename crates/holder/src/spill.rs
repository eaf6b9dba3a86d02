//! Lines of the agent on disk: what memory may not keep, in files that the next hub or a reader of a dead
//! holder finds.
//!
//! In: runs of frames that follow each other, and the last line that may go. Out: the same frames, from any
//! line that is still here. A segment is a file that is a run of `Line` and `Oversized` frames, named by its
//! first line. The holder removes it when the hub has acknowledged all of it. Segments are not forced to
//! disk: they have to outlive the hub and the holder, and without the machine there is no agent either.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::protocol::{HEADER_BYTES, line_number, split_frame};

/// The part of a buffer in one segment, so that acknowledgements free space in steps.
const SEGMENTS_PER_BACKLOG: u64 = 8;
/// The writer begins a new segment past this length: finding a line in a segment is a scan.
const MAX_SEGMENT_BYTES: u64 = 4 * 1024 * 1024;
/// One read of a segment.
const READ_BYTES: usize = 64 * 1024;

#[derive(Debug)]
struct Segment {
    first: u64,
    /// The line after its last one.
    end: u64,
    bytes: u64,
}

#[derive(Debug)]
pub(super) struct Spill {
    folder: PathBuf,
    segment_bytes: u64,
    segments: VecDeque<Segment>,
    /// The last segment, open for appending.
    writer: Option<File>,
    bytes: u64,
}

/// A reader's open segment, and the position of its next frame.
#[derive(Debug)]
pub(super) struct OpenSegment {
    first: u64,
    file: File,
    offset: u64,
}

impl Spill {
    /// `limit`: how many bytes the whole backlog may have.
    pub(super) fn new(folder: PathBuf, limit: u64) -> Self {
        Self {
            folder,
            segment_bytes: (limit / SEGMENTS_PER_BACKLOG).min(MAX_SEGMENT_BYTES),
            segments: VecDeque::new(),
            writer: None,
            bytes: 0,
        }
    }

    /// Appends the frames of the lines from `first` up to, not with, `end`. After an error nothing of them is
    /// in a file.
    pub(super) fn append(&mut self, first: u64, end: u64, frames: &[u8]) -> io::Result<()> {
        if self.segments.back().is_none_or(|segment| segment.bytes >= self.segment_bytes) {
            self.writer = None;
        }
        if self.writer.is_none() {
            let path = segment_path(&self.folder, first);
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
            file.set_len(0)?;
            self.writer = Some(file);
            self.segments.push_back(Segment { first, end: first, bytes: 0 });
        }
        let (Some(writer), Some(segment)) = (&mut self.writer, self.segments.back_mut()) else {
            return Ok(());
        };
        if let Err(error) = writer.write_all(frames) {
            writer.set_len(segment.bytes)?;
            return Err(error);
        }
        segment.bytes += frames.len() as u64;
        segment.end = end;
        self.bytes += frames.len() as u64;
        Ok(())
    }

    /// Removes the segments up to `line`.
    pub(super) fn remove_through(&mut self, line: u64) -> io::Result<()> {
        while let Some(segment) = self.segments.front().filter(|segment| segment.end <= line + 1) {
            let path = segment_path(&self.folder, segment.first);
            self.bytes -= segment.bytes;
            self.segments.pop_front();
            if self.segments.is_empty() {
                self.writer = None;
            }
            fs::remove_file(path)?;
        }
        Ok(())
    }

    /// Appends whole frames from `line` on to `out` by one read, and moves `line` behind them. `false`: no
    /// segment has it.
    pub(super) fn read(
        &self,
        line: &mut u64,
        open: &mut Option<OpenSegment>,
        out: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let Some(segment) = self.segment_of(*line) else { return Ok(false) };
        let open = match open {
            Some(open) if open.first == segment.first => open,
            _ => {
                let file = File::open(segment_path(&self.folder, segment.first))?;
                open.insert(OpenSegment { first: segment.first, file, offset: 0 })
            }
        };
        read_frames(open, segment.bytes, line, out)?;
        Ok(true)
    }

    fn segment_of(&self, line: u64) -> Option<&Segment> {
        let index = self.segments.partition_point(|segment| segment.end <= line);
        self.segments.get(index).filter(|segment| segment.first <= line)
    }

    /// The oldest line on disk.
    pub(super) fn first(&self) -> Option<u64> {
        self.segments.front().map(|segment| segment.first)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// One read of a segment; lines before the wanted one are passed over.
fn read_frames(open: &mut OpenSegment, end: u64, line: &mut u64, out: &mut Vec<u8>) -> io::Result<()> {
    let left = end.saturating_sub(open.offset);
    let mut wanted = READ_BYTES.min(usize::try_from(left).unwrap_or(READ_BYTES));
    let mut chunk = vec![0; wanted];
    open.file.read_exact_at(&mut chunk, open.offset)?;
    let torn = || io::Error::new(io::ErrorKind::InvalidData, "a segment is torn");
    let mut at = 0;
    loop {
        match split_frame(&chunk[at..]) {
            Ok((_, payload, length)) => {
                let n = line_number(payload).ok_or_else(torn)?;
                if n >= *line {
                    out.extend_from_slice(&chunk[at..at + length]);
                    *line = n + 1;
                }
                at += length;
                open.offset += length as u64;
            }
            // At least one frame was read; the rest comes with the next read.
            Err(_) if at > 0 => return Ok(()),
            // The first frame is longer than the chunk.
            Err(needed) if needed as u64 <= left && needed > wanted => {
                wanted = needed.max(HEADER_BYTES);
                chunk.resize(wanted, 0);
                open.file.read_exact_at(&mut chunk, open.offset)?;
            }
            Err(_) => return Err(torn()),
        }
    }
}

fn segment_path(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:020}.seg"))
}

/// The segments of a dead holder, oldest first.
pub(super) fn segments_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "seg") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
