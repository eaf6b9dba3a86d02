//! The lines that the hub has not acknowledged, on disk.
//!
//! In: lines, and acknowledgements. Out: frames ready for the socket, from any line that is still here. A segment is
//! a file that is a run of `Line` and `Oversized` frames, named by its first line; it goes when all of it is
//! acknowledged. It lives as long as the holder and is not forced to disk: it has to outlive the hub, and without the
//! machine there is no agent either. It may go beyond its limit by one line, and by one pipe at the agent's end.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::protocol::{HEADER_BYTES, encode_line, encode_oversized, line_number, split_frame};
use crate::transport::lines::Framed;

/// A segment is this part of the whole, so that acknowledgements free space in steps.
const SEGMENTS_PER_BUFFER: u64 = 8;
/// A segment is at most this long: finding a line in it is a scan.
const MAX_SEGMENT_BYTES: u64 = 4 * 1024 * 1024;
/// What is read from a segment at once.
const READ_BYTES: usize = 64 * 1024;

#[derive(Debug)]
struct Segment {
    first: u64,
    /// The line after its last one.
    end: u64,
    bytes: u64,
}

#[derive(Debug)]
pub(super) struct DiskBuffer {
    folder: PathBuf,
    limit: u64,
    segment_bytes: u64,
    segments: VecDeque<Segment>,
    /// The last segment, open for appending.
    writer: Option<File>,
    bytes: u64,
    staged: Vec<u8>,
    next: u64,
    /// The first line that is not on disk yet.
    staged_from: u64,
    acked: u64,
}

/// Where a reader is.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The next line to give.
    pub(super) line: u64,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    segment: u64,
    file: File,
    offset: u64,
}

impl Cursor {
    pub(super) fn at(line: u64) -> Self {
        Self { line, open: None }
    }
}

impl DiskBuffer {
    pub(super) fn new(folder: PathBuf, limit: u64) -> Self {
        Self {
            folder,
            limit,
            segment_bytes: (limit / SEGMENTS_PER_BUFFER).min(MAX_SEGMENT_BYTES),
            segments: VecDeque::new(),
            writer: None,
            bytes: 0,
            staged: Vec::new(),
            next: 1,
            staged_from: 1,
            acked: 0,
        }
    }

    /// Whether another line may come; if not, the agent has to wait.
    pub(super) fn has_room(&self) -> bool {
        self.bytes + (self.staged.len() as u64) < self.limit
    }

    /// Takes a line. It has its number from here on, and is to be seen after the next `flush`.
    pub(super) fn stage(&mut self, line: Framed<'_>) {
        match line {
            Framed::Line(bytes) => encode_line(&mut self.staged, self.next, bytes),
            Framed::Oversized { prefix, total_bytes } => {
                encode_oversized(&mut self.staged, self.next, total_bytes, prefix);
            }
        }
        self.next += 1;
    }

    /// Writes what was staged. After an error it stays staged, and nothing of it is half there.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.staged.is_empty() {
            return Ok(());
        }
        if self.segments.back().is_none_or(|segment| segment.bytes >= self.segment_bytes) {
            self.writer = None;
        }
        if self.writer.is_none() {
            let path = segment_path(&self.folder, self.staged_from);
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
            file.set_len(0)?;
            self.writer = Some(file);
            self.segments.push_back(Segment { first: self.staged_from, end: self.staged_from, bytes: 0 });
        }
        let (Some(writer), Some(segment)) = (&mut self.writer, self.segments.back_mut()) else {
            return Ok(());
        };
        if let Err(error) = writer.write_all(&self.staged) {
            writer.set_len(segment.bytes)?;
            return Err(error);
        }
        segment.bytes += self.staged.len() as u64;
        segment.end = self.next;
        self.bytes += self.staged.len() as u64;
        self.staged_from = self.next;
        self.staged.clear();
        self.staged.shrink_to(2 * READ_BYTES);
        Ok(())
    }

    /// The hub keeps all lines up to this one.
    pub(super) fn ack(&mut self, through: u64) -> io::Result<()> {
        self.acked = self.acked.max(through.min(self.staged_from - 1));
        while let Some(segment) = self.segments.front() {
            // The last segment goes too when it is worth a new file, or when there would be no progress without.
            let last = self.segments.len() == 1;
            let in_use = last && segment.bytes < self.segment_bytes / 4 && self.has_room();
            if segment.end > self.acked + 1 || in_use {
                break;
            }
            if last {
                self.writer = None;
            }
            let path = segment_path(&self.folder, segment.first);
            self.bytes -= segment.bytes;
            self.segments.pop_front();
            fs::remove_file(path)?;
        }
        Ok(())
    }

    /// Appends whole frames from the cursor on to `out`, about `budget` bytes of them. `false`: nothing new is there.
    pub(super) fn read(&self, cursor: &mut Cursor, budget: usize, out: &mut Vec<u8>) -> io::Result<bool> {
        let before = out.len();
        while out.len() - before < budget {
            let Some(segment) = self.segment_of(cursor.line) else { break };
            let open = match &mut cursor.open {
                Some(open) if open.segment == segment.first => open,
                _ => {
                    let file = File::open(segment_path(&self.folder, segment.first))?;
                    cursor.open.insert(Open { segment: segment.first, file, offset: 0 })
                }
            };
            read_frames(open, segment.bytes, &mut cursor.line, out)?;
        }
        Ok(out.len() > before)
    }

    fn segment_of(&self, line: u64) -> Option<&Segment> {
        let index = self.segments.partition_point(|segment| segment.end <= line);
        self.segments.get(index).filter(|segment| segment.first <= line)
    }

    /// The oldest line that is still here, or the next one.
    pub(super) fn first(&self) -> u64 {
        self.segments.front().map_or(self.staged_from, |segment| segment.first).max(self.acked + 1)
    }

    /// The number that the next line will get.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    pub(super) fn all_acked(&self) -> bool {
        self.acked + 1 == self.next
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes + self.staged.len() as u64
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
}

/// One read of a segment; lines before the wanted one are passed over.
fn read_frames(open: &mut Open, end: u64, line: &mut u64, out: &mut Vec<u8>) -> io::Result<()> {
    let left = end.saturating_sub(open.offset);
    let mut wanted = READ_BYTES.min(usize::try_from(left).unwrap_or(READ_BYTES));
    let mut chunk = vec![0; wanted];
    open.file.read_exact_at(&mut chunk, open.offset)?;
    let torn = || io::Error::new(io::ErrorKind::InvalidData, "a segment of the buffer is torn");
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

/// The segments that a dead holder has left, oldest first.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The lines in a run of frames.
    fn parse(mut run: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut lines = Vec::new();
        while !run.is_empty() {
            let (_, payload, length) = split_frame(run).unwrap();
            lines.push((line_number(payload).unwrap(), payload[8..].to_vec()));
            run = &run[length..];
        }
        lines
    }

    fn on_disk(folder: &Path) -> u64 {
        segments_in(folder).unwrap().iter().map(|path| fs::metadata(path).unwrap().len()).sum()
    }

    #[derive(Debug, Clone)]
    enum Step {
        Say(Vec<usize>),
        Read(usize),
        Ack(u64),
        /// Another hub, which has so many lines less than the one before.
        Attach(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            proptest::collection::vec(prop_oneof![0usize..50, Just(70_000usize)], 0..6).prop_map(Step::Say),
            (1usize..5000).prop_map(Step::Read),
            (0u64..20).prop_map(Step::Ack),
            (0u64..20).prop_map(Step::Attach),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn every_reader_gets_every_line_that_is_not_acknowledged(steps in proptest::collection::vec(step(), 0..60)) {
            let folder = tempfile::tempdir().unwrap();
            let limit = 4096;
            let mut buffer = DiskBuffer::new(folder.path().to_owned(), limit);
            let mut said: Vec<Vec<u8>> = Vec::new();
            let mut cursor = Cursor::at(1);
            let mut acked = 0;
            for step in steps {
                match step {
                    Step::Say(lengths) => {
                        for length in lengths {
                            if buffer.has_room() {
                                let line = vec![u8::try_from(said.len() % 251).unwrap(); length];
                                buffer.stage(Framed::Line(&line));
                                said.push(line);
                            }
                        }
                        buffer.flush().unwrap();
                    }
                    Step::Read(budget) => {
                        let from = cursor.line;
                        let mut out = Vec::new();
                        let some = buffer.read(&mut cursor, budget, &mut out).unwrap();
                        let lines = parse(&out);
                        prop_assert_eq!(some, from < buffer.next());
                        prop_assert_eq!(some, !lines.is_empty());
                        for (index, (n, bytes)) in lines.into_iter().enumerate() {
                            prop_assert_eq!(n, from + index as u64);
                            prop_assert_eq!(&bytes, &said[usize::try_from(n).unwrap() - 1]);
                        }
                    }
                    Step::Ack(behind) => {
                        acked = acked.max((cursor.line - 1).saturating_sub(behind));
                        buffer.ack(acked).unwrap();
                    }
                    Step::Attach(missing) => {
                        cursor = Cursor::at(cursor.line.saturating_sub(missing).max(buffer.first()));
                    }
                }
                prop_assert_eq!(buffer.first(), acked + 1);
                prop_assert_eq!(buffer.bytes(), on_disk(folder.path()));
                prop_assert!(buffer.bytes() < limit + 70_000 + 64);
            }
            buffer.ack(u64::MAX).unwrap();
            prop_assert!(buffer.all_acked() && buffer.has_room());
        }
    }

    #[test]
    fn what_the_disk_does_not_take_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("not there yet");
        let mut buffer = DiskBuffer::new(missing.clone(), 4096);
        buffer.stage(Framed::Line(b"one"));
        assert!(buffer.flush().is_err());
        buffer.stage(Framed::Line(b"two"));
        assert!(buffer.flush().is_err());
        fs::create_dir(&missing).unwrap();
        buffer.flush().unwrap();
        let mut out = Vec::new();
        assert!(buffer.read(&mut Cursor::at(1), 1, &mut out).unwrap());
        assert_eq!(parse(&out), [(1, b"one".to_vec()), (2, b"two".to_vec())]);
    }
}
