//! The lines that the hub has not acknowledged: in memory while a hub reads them, on disk when none does.
//!
//! In: lines, and acknowledgements. Out: frames ready for the socket, from any line that is still here. New
//! lines come into memory. [`Backlog::spill`] moves all of memory to the disk; `state` calls it when no hub
//! is connected, when [`Backlog::must_spill`] says that memory holds too much or for too long, and at an
//! orderly exit. So a `SIGKILL` of the holder can lose only lines that no hub had acknowledged. The lines on
//! disk are always older than those in memory.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::protocol::{encode_line, encode_oversized};
use super::spill::{OpenSegment, Spill};
use askd_wire::lines::Framed;

/// A hub acknowledges within milliseconds. Past this it is slow, and the holder stays a small process.
const MAX_MEMORY_BYTES: usize = 1024 * 1024;
/// A line that waited this long in memory goes to the disk: a `SIGKILL` of the holder loses the lines of one
/// second at most.
const MAX_MEMORY_AGE: Duration = Duration::from_secs(1);
/// An empty memory keeps this much of its space: one pipe of the agent, and the frames around its lines.
const KEPT_SPACE_BYTES: usize = 128 * 1024;

#[derive(Debug)]
pub(super) struct Backlog {
    spill: Spill,
    memory: Memory,
    /// Bytes in memory and on disk; past it the agent has to wait. One line may go beyond it.
    limit: u64,
    acked: u64,
}

/// The position of a reader.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The next line to give.
    pub(super) line: u64,
    open: Option<OpenSegment>,
}

impl Cursor {
    pub(super) fn at(line: u64) -> Self {
        Self { line, open: None }
    }
}

impl Backlog {
    pub(super) fn new(folder: PathBuf, limit: u64) -> Self {
        Self { spill: Spill::new(folder, limit), memory: Memory::default(), limit, acked: 0 }
    }

    /// True if another line may come; otherwise the agent has to wait.
    pub(super) fn has_room(&self) -> bool {
        self.bytes() < self.limit
    }

    /// Takes a line and gives it its number.
    pub(super) fn push(&mut self, line: Framed<'_>, now: Instant) {
        let next = self.next();
        match line {
            Framed::Line(bytes) => encode_line(&mut self.memory.frames, next, bytes),
            Framed::Oversized { prefix, total_bytes } => {
                encode_oversized(&mut self.memory.frames, next, total_bytes, prefix);
            }
        }
        self.memory.lines.push_back(Place { end: self.memory.frames.len(), since: now });
    }

    /// True if memory holds too much, or a line for too long.
    pub(super) fn must_spill(&self, now: Instant) -> bool {
        self.memory.bytes() > MAX_MEMORY_BYTES || self.spill_at().is_some_and(|at| now >= at)
    }

    /// When the oldest line in memory has to go to the disk.
    pub(super) fn spill_at(&self) -> Option<Instant> {
        self.memory.lines.front().map(|place| place.since + MAX_MEMORY_AGE)
    }

    /// Moves the lines in memory to the disk. After an error they stay in memory.
    pub(super) fn spill(&mut self) -> io::Result<()> {
        if self.memory.is_empty() {
            return Ok(());
        }
        self.spill.append(self.memory.first(), self.next(), &self.memory.frames[self.memory.start..])?;
        self.memory.drop_first(self.memory.lines.len());
        Ok(())
    }

    /// The hub keeps all lines up to this one.
    pub(super) fn ack(&mut self, through: u64) -> io::Result<()> {
        self.acked = self.acked.max(through.min(self.next() - 1));
        let in_memory = (self.acked + 1).saturating_sub(self.memory.first());
        self.memory.drop_first(usize::try_from(in_memory).unwrap_or(usize::MAX));
        self.spill.remove_through(self.acked)
    }

    /// Appends whole frames from the cursor on to `out`, about `budget` bytes of them. `false`: nothing new
    /// is there.
    pub(super) fn read(&self, cursor: &mut Cursor, budget: usize, out: &mut Vec<u8>) -> io::Result<bool> {
        let (before, enough) = (out.len(), out.len() + budget);
        while out.len() < enough && self.spill.read(&mut cursor.line, &mut cursor.open, out)? {}
        if out.len() < enough && cursor.line >= self.memory.first() {
            cursor.line = self.memory.read(cursor.line, enough - out.len(), out);
        }
        Ok(out.len() > before)
    }

    /// The oldest kept line, or the next one.
    pub(super) fn first(&self) -> u64 {
        self.spill.first().unwrap_or(self.memory.first()).max(self.acked + 1)
    }

    /// The number of the next line.
    pub(super) fn next(&self) -> u64 {
        self.memory.first() + self.memory.lines.len() as u64
    }

    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    pub(super) fn all_acked(&self) -> bool {
        self.acked + 1 == self.next()
    }

    pub(super) fn memory_is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.spill.bytes() + self.memory.bytes() as u64
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
}

/// A run of frames, and the end of each line in it.
#[derive(Debug, Default)]
struct Memory {
    frames: Vec<u8>,
    lines: VecDeque<Place>,
    /// The beginning of the first line in `frames`; the bytes before it belong to dropped lines.
    start: usize,
    /// How many lines have gone.
    gone: u64,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// The end of the line's frame in `frames`.
    end: usize,
    since: Instant,
}

impl Memory {
    /// The oldest line here, or the next one.
    fn first(&self) -> u64 {
        self.gone + 1
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn bytes(&self) -> usize {
        self.frames.len() - self.start
    }

    /// Appends whole frames from `line` on, until there are `enough` bytes or no more lines. Returns the line
    /// behind them.
    fn read(&self, line: u64, enough: usize, out: &mut Vec<u8>) -> u64 {
        let from = usize::try_from(line - self.first()).unwrap_or(usize::MAX);
        if from >= self.lines.len() {
            return line;
        }
        let start = from.checked_sub(1).map_or(self.start, |before| self.lines[before].end);
        let last = self.lines.partition_point(|place| place.end < start + enough).min(self.lines.len() - 1);
        out.extend_from_slice(&self.frames[start..self.lines[last].end]);
        self.first() + last as u64 + 1
    }

    /// Forgets the oldest `count` lines, or all if there are fewer.
    fn drop_first(&mut self, count: usize) {
        let Some(last) = count.min(self.lines.len()).checked_sub(1) else { return };
        self.start = self.lines[last].end;
        self.lines.drain(..=last);
        self.gone += last as u64 + 1;
        if self.lines.is_empty() {
            self.frames.clear();
            self.frames.shrink_to(KEPT_SPACE_BYTES);
            self.start = 0;
        } else if self.start > self.frames.len() / 2 {
            // Each byte is moved at most once for each dropped byte.
            self.frames.drain(..self.start);
            for place in &mut self.lines {
                place.end -= self.start;
            }
            self.start = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::protocol::{line_number, split_frame};
    use super::super::spill::segments_in;
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
        Spill,
        Read(usize),
        Ack(u64),
        /// Another hub, which has so many lines less than the one before.
        Attach(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            proptest::collection::vec(prop_oneof![0usize..50, Just(70_000usize)], 0..6).prop_map(Step::Say),
            Just(Step::Spill),
            (1usize..5000).prop_map(Step::Read),
            (0u64..20).prop_map(Step::Ack),
            (0u64..20).prop_map(Step::Attach),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
        #[test]
        fn every_reader_gets_every_line_that_is_not_acknowledged(steps in proptest::collection::vec(step(), 0..60)) {
            let folder = tempfile::tempdir().unwrap();
            let (limit, now) = (4096, Instant::now());
            let mut backlog = Backlog::new(folder.path().to_owned(), limit);
            let mut said: Vec<Vec<u8>> = Vec::new();
            let mut cursor = Cursor::at(1);
            let mut acked = 0;
            for step in steps {
                match step {
                    Step::Say(lengths) => {
                        for length in lengths {
                            if backlog.has_room() {
                                let line = vec![u8::try_from(said.len() % 251).unwrap(); length];
                                backlog.push(Framed::Line(&line), now);
                                said.push(line);
                            }
                        }
                    }
                    Step::Spill => {
                        backlog.spill().unwrap();
                        prop_assert_eq!(backlog.bytes(), on_disk(folder.path()));
                    }
                    Step::Read(budget) => {
                        let from = cursor.line;
                        let mut out = Vec::new();
                        let some = backlog.read(&mut cursor, budget, &mut out).unwrap();
                        let lines = parse(&out);
                        prop_assert_eq!(some, from < backlog.next());
                        prop_assert_eq!(some, !lines.is_empty());
                        for (index, (n, bytes)) in lines.into_iter().enumerate() {
                            prop_assert_eq!(n, from + index as u64);
                            prop_assert_eq!(&bytes, &said[usize::try_from(n).unwrap() - 1]);
                        }
                    }
                    Step::Ack(behind) => {
                        acked = acked.max((cursor.line - 1).saturating_sub(behind));
                        backlog.ack(acked).unwrap();
                    }
                    Step::Attach(missing) => {
                        cursor = Cursor::at(cursor.line.saturating_sub(missing).max(backlog.first()));
                    }
                }
                prop_assert_eq!(backlog.next(), said.len() as u64 + 1);
                prop_assert_eq!(backlog.first(), acked + 1);
                prop_assert!(backlog.bytes() < limit + 70_000 + 64);
            }
            backlog.ack(u64::MAX).unwrap();
            prop_assert!(backlog.all_acked() && backlog.has_room());
            prop_assert_eq!((backlog.bytes(), on_disk(folder.path())), (0, 0));
        }
    }

    #[test]
    fn what_the_disk_does_not_take_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let (missing, now) = (folder.path().join("not there yet"), Instant::now());
        let mut backlog = Backlog::new(missing.clone(), 4096);
        backlog.push(Framed::Line(b"one"), now);
        assert!(backlog.spill().is_err());
        backlog.push(Framed::Line(b"two"), now);
        assert!(backlog.spill().is_err());
        fs::create_dir(&missing).unwrap();
        backlog.spill().unwrap();
        let mut out = Vec::new();
        assert!(backlog.read(&mut Cursor::at(1), 1, &mut out).unwrap());
        assert_eq!(parse(&out), [(1, b"one".to_vec()), (2, b"two".to_vec())]);
    }

    #[test]
    fn lines_that_a_hub_acknowledges_in_time_never_touch_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut backlog = Backlog::new(folder.path().to_owned(), 64 * 1024);
        let begun = Instant::now();
        for n in 1..=1000u64 {
            let now = begun + Duration::from_millis(10 * n);
            backlog.push(Framed::Line(b"a line"), now);
            assert!(!backlog.must_spill(now), "line {n}");
            // The hub is ten lines behind all the time.
            backlog.ack(n.saturating_sub(10)).unwrap();
        }
        assert_eq!(on_disk(folder.path()), 0);
    }

    #[test]
    fn memory_holds_neither_too_much_nor_for_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let mut backlog = Backlog::new(folder.path().to_owned(), 64 * 1024 * 1024);
        let now = Instant::now();
        backlog.push(Framed::Line(b"old"), now);
        assert_eq!(backlog.spill_at(), Some(now + MAX_MEMORY_AGE));
        assert!(!backlog.must_spill(now) && backlog.must_spill(now + MAX_MEMORY_AGE));
        backlog.spill().unwrap();
        assert_eq!(backlog.spill_at(), None);
        backlog.push(Framed::Line(&vec![b'x'; MAX_MEMORY_BYTES]), now);
        assert!(backlog.must_spill(now));
    }
}
