//! The redo log: two files beside the database that have every change before SQLite writes its pages.
//!
//! In: the changes of a commit, as one record and with one fsync. Out: after a crash, the changes that the database has not. Records
//! are numbered, and the database knows the number of the newest whose changes it has (`folded_through`). While it is given the records
//! of one file, the next go to the other; if both have some, because it could not be given them, there is none until it has them all.
//! Once it has all of a file, they are overwritten, and the file is used from its beginning again.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{StoreError, StoreResult};

/// Each file is as long as this from the start: a write that makes no file longer is synced faster.
pub(super) const REDO_BYTES: usize = 1 << 20;

/// Number and length of a record, and the hash over both and the changes.
const HEAD: usize = 8 + 8 + 32;

pub(super) struct Redo {
    /// Where the next record goes.
    current: Part,
    /// None while the database is given its records.
    other: Option<Part>,
    /// The number of the newest record.
    newest: u64,
    /// The newest as it was written; kept for its room.
    record: Vec<u8>,
    /// How long the newest took to be written.
    last_took: Duration,
}

/// One file of the log.
pub(super) struct Part {
    file: File,
    /// Where its next record goes.
    end: u64,
    /// What was written since it was last overwritten.
    used: usize,
    /// At its end may be a record of which nobody was told that it is stored.
    has_ghost: bool,
}

impl Part {
    /// Opens or makes a file; gives what is in it, too.
    fn open(path: &Path) -> StoreResult<(Self, Vec<u8>)> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let mut found = Vec::with_capacity(REDO_BYTES);
        file.read_to_end(&mut found)?;
        if let Some(missing) = REDO_BYTES.checked_sub(found.len()) {
            // Where there is no room, it is only slower.
            drop(file.write_all_at(&vec![0; missing], found.len() as u64).and_then(|()| file.sync_all()));
        }
        // A file that was just made, now or by a hub that was killed then, is lost without its name.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        let used = found.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Ok((Self { file, end: 0, used, has_ghost: false }, found))
    }

    fn append(&mut self, record: &[u8]) -> std::io::Result<()> {
        let end = self.end + record.len() as u64;
        self.used = self.used.max(usize::try_from(end).unwrap_or(usize::MAX));
        let written = self.write(record);
        if written.is_err() {
            // Nobody will be told that it is stored, so it must not be found.
            self.has_ghost = self.write(&[0; HEAD]).is_err();
            return written;
        }
        (self.end, self.has_ghost) = (end, false);
        Ok(())
    }

    /// Makes bytes at its end durable.
    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all_at(bytes, self.end)?;
        self.file.sync_data()
    }

    /// The database has the changes of all its records: they are overwritten, because what is deleted there must not stay here.
    pub(super) fn restart(&mut self) -> StoreResult<()> {
        (self.end, self.has_ghost) = (0, false);
        self.file.write_all_at(&vec![0; self.used], 0)?;
        self.used = 0;
        Ok(())
    }
}

impl Redo {
    /// Opens or makes the log; gives the changes of all records after the number `folded_through`.
    pub(super) fn open(path: &Path, folded_through: u64) -> StoreResult<(Self, Vec<u8>)> {
        let other_path = path.with_extension("redo2");
        let (current, first) = Part::open(path)?;
        let (other, second) = Part::open(&other_path)?;
        let (mut newest, mut changes) = (folded_through, Vec::new());
        // Whichever of the two goes on where the database ends, the other one goes on after it.
        for file in [&first, &second, &first] {
            let mut left = &file[..];
            while let Some((record, after)) = next_record(left, newest + 1) {
                newest += 1;
                changes.extend(record);
                left = after;
            }
        }
        for (path, file) in [(path, &first), (&other_path, &second)] {
            if let Some(number) = number_of_first(file).filter(|number| *number > newest) {
                keep_aside(path, number, newest);
            }
        }
        let (record, last_took) = (Vec::new(), Duration::ZERO);
        Ok((Self { current, other: Some(other), newest, record, last_took }, changes))
    }

    /// The number that the database is to know once it has all changes. A ghost is behind it: it is not carried out, whatever becomes of
    /// its file.
    pub(super) fn through(&self) -> u64 {
        self.newest + u64::from(self.has_ghost())
    }

    /// The database knows this number: it is not given again.
    pub(super) fn folded(&mut self, through: u64) {
        self.newest = self.newest.max(through);
    }

    /// Whether a record that was refused may be found.
    pub(super) fn has_ghost(&self) -> bool {
        self.current.has_ghost
    }

    /// Whether another record like the newest has no room.
    pub(super) fn is_full(&self) -> bool {
        let end = usize::try_from(self.current.end).unwrap_or(usize::MAX);
        end > 0 && end.saturating_add(self.record.len()) > REDO_BYTES
    }

    /// How long the newest record took to be written.
    pub(super) fn last_took(&self) -> Duration {
        self.last_took
    }

    /// Makes changes durable.
    pub(super) fn append(&mut self, changes: &[u8]) -> StoreResult<()> {
        let (number, began) = (self.newest + 1, Instant::now());
        self.record.clear();
        self.record.shrink_to(REDO_BYTES);
        self.record.extend(head(number, changes));
        self.record.extend(changes);
        self.current.append(&self.record)?;
        (self.newest, self.last_took) = (number, began.elapsed());
        Ok(())
    }

    /// Lets the next record go to the other file, and gives the one that has those until now; not if the other one has some, too, nor if a
    /// ghost in this one could be taken for the next record.
    pub(super) fn turn_over(&mut self) -> Option<Part> {
        let other = self.other.take_if(|other| other.end == 0 && !self.current.has_ghost)?;
        Some(std::mem::replace(&mut self.current, other))
    }

    /// Takes back what `turn_over` gave.
    pub(super) fn give_back(&mut self, part: Part) {
        self.other = Some(part);
    }

    /// What was overwritten is gone for good, whichever numbers are given from now on: the database may have been put back.
    pub(super) fn sync(&self) -> StoreResult<()> {
        for part in std::iter::once(&self.current).chain(&self.other) {
            part.file.sync_data()?;
        }
        Ok(())
    }

    /// The database has the changes of all records.
    pub(super) fn restart(&mut self) -> StoreResult<()> {
        // Both, whatever becomes of one of them: what is overwritten in vain is recognised by its numbers.
        let restarted = self.current.restart();
        restarted.and(self.other.as_mut().map_or(Ok(()), Part::restart))
    }
}

fn head(number: u64, changes: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&number.to_le_bytes());
    head[8..16].copy_from_slice(&(changes.len() as u64).to_le_bytes());
    let hash = blake3::Hasher::new().update(&head[..16]).update(changes).finalize();
    head[16..].copy_from_slice(hash.as_bytes());
    head
}

/// The number of the record at the beginning of a file, if it is whole.
fn number_of_first(file: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(file.get(..8)?.try_into().ok()?);
    next_record(file, number).map(|_| number)
}

/// A file that begins with a whole record that nothing leads to: it is of another store, or the disk has lost what stood between. It is not
/// carried out, but somebody may want to see it; a newer copy takes the place of an older one.
fn keep_aside(path: &Path, number: u64, newest: u64) {
    let mut kept = path.as_os_str().to_owned();
    kept.push("-lost");
    let failure = std::fs::copy(path, &kept).err();
    tracing::error!(
        ?kept,
        ?failure,
        number,
        newest,
        "records that do not follow what is stored are left out"
    );
}

/// The changes of the record at the beginning of `bytes`, and what is after it, if it is whole and has this number.
fn next_record(bytes: &[u8], number: u64) -> Option<(&[u8], &[u8])> {
    let (found, after) = bytes.split_at_checked(HEAD)?;
    let length = u64::from_le_bytes(found.get(8..16)?.try_into().ok()?);
    let (changes, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    (found == head(number, changes)).then_some((changes, after))
}

#[cfg(test)]
impl Redo {
    /// The disk fails after it has a record, and does not take it back.
    pub(super) fn append_in_vain(&mut self, changes: &[u8]) {
        let deaf = File::open("/dev/null").unwrap();
        let disk = std::mem::replace(&mut self.current.file, deaf);
        let record = [&head(self.newest + 1, changes)[..], changes].concat();
        disk.write_all_at(&record, self.current.end).unwrap();
        assert!(self.append(changes).is_err());
        self.current.file = disk;
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    struct Log {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    impl Log {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { path: folder.path().join("store.redo"), _folder: folder }
        }

        fn open(&self, folded_through: u64) -> (Redo, Vec<u8>) {
            Redo::open(&self.path, folded_through).unwrap()
        }

        fn damage(&self, place: usize) {
            let mut bytes = std::fs::read(&self.path).unwrap();
            bytes[place] ^= 1;
            std::fs::write(&self.path, bytes).unwrap();
        }
    }

    #[test]
    fn what_the_database_has_not_is_found() {
        let log = Log::new();
        let (mut redo, found) = log.open(0);
        assert!(found.is_empty());
        for changes in ["one", "two", "three"] {
            redo.append(changes.as_bytes()).unwrap();
        }
        for (folded_through, left) in [(0, "onetwothree"), (3, ""), (9, "")] {
            assert_eq!(log.open(folded_through).1, left.as_bytes(), "{folded_through}");
        }
        assert_eq!(log.open(0).0.through(), 3);
    }

    #[test]
    fn old_records_behind_new_ones_are_not_found() {
        let log = Log::new();
        let (mut redo, _) = log.open(0);
        for changes in ["one", "two", "three"] {
            redo.append(changes.as_bytes()).unwrap();
        }
        let old = std::fs::read(&log.path).unwrap();
        redo.restart().unwrap();
        assert!(log.open(0).1.is_empty(), "what is folded is overwritten");
        redo.append(b"for").unwrap();
        // As if the machine had died before the old ones were overwritten on the disk.
        let mut file = std::fs::read(&log.path).unwrap();
        let record = HEAD + 3;
        file[record..old.len()].copy_from_slice(&old[record..]);
        std::fs::write(&log.path, file).unwrap();
        assert_eq!(log.open(3).1, b"for");
    }

    #[test]
    fn the_files_take_turns() {
        let log = Log::new();
        let (mut redo, _) = log.open(0);
        redo.append(b"one").unwrap();
        let mut first = redo.turn_over().unwrap();
        redo.append(b"two").unwrap();
        assert!(redo.turn_over().is_none(), "the other one is away");
        for (folded_through, left) in [(0, "onetwo"), (1, "two"), (2, "")] {
            assert_eq!(log.open(folded_through).1, left.as_bytes(), "{folded_through}");
        }
        first.restart().unwrap();
        redo.give_back(first);
        let second = redo.turn_over().unwrap();
        redo.append(b"three").unwrap();
        assert_eq!(log.open(1).1, b"twothree", "the second file has the older one");
        redo.give_back(second);
        assert!(redo.turn_over().is_none(), "both have some");
        redo.restart().unwrap();
        assert!(log.open(1).1.is_empty() && redo.turn_over().is_some());
    }

    #[test]
    fn a_record_that_is_not_whole_ends_the_log() {
        for place in [0, 8, 16, HEAD, HEAD + 2] {
            let log = Log::new();
            let (mut redo, _) = log.open(0);
            redo.append(b"one").unwrap();
            redo.append(b"two").unwrap();
            let second = HEAD + 3;
            log.damage(second + place);
            assert_eq!(log.open(0).1, b"one", "{place}");
            log.damage(place);
            assert!(log.open(0).1.is_empty(), "{place}");
        }
    }

    #[test]
    fn a_record_may_be_longer_than_the_file() {
        let log = Log::new();
        let (mut redo, _) = log.open(0);
        let long = vec![7; REDO_BYTES + 1];
        redo.append(&long).unwrap();
        assert_eq!(log.open(0).1, long);
    }

    #[test]
    fn what_could_not_be_written_is_not_found() {
        let log = Log::new();
        let (mut redo, _) = log.open(0);
        redo.append(b"one").unwrap();
        redo.current.file = File::open("/dev/null").unwrap();
        assert!(matches!(redo.append(b"two"), Err(StoreError::Unavailable(_))));
        assert_eq!(
            (redo.through(), log.open(0).1),
            (2, b"one".to_vec()),
            "its number is not to be carried out"
        );
    }

    #[test]
    fn a_record_that_failed_and_is_found_does_not_take_the_place_of_the_next() {
        let log = Log::new();
        let (mut redo, _) = log.open(0);
        redo.append(b"one").unwrap();
        redo.append_in_vain(b"ghost");
        assert!(redo.turn_over().is_none(), "the other file's record would have the ghost's number");
        assert_eq!(
            log.open(redo.through()).1,
            b"",
            "nor is the ghost carried out by a hub that finds everything folded"
        );
        redo.append(b"two").unwrap();
        assert_eq!((log.open(0).1, redo.through()), (b"onetwo".to_vec(), 2));
        assert!(redo.turn_over().is_some());
    }

    #[test]
    fn records_that_do_not_follow_are_kept_aside() {
        let log = Log::new();
        let (mut redo, _) = log.open(7);
        redo.append(b"eight").unwrap();
        let kept = log.path.with_extension("redo-lost");
        assert_eq!(log.open(7).1, b"eight");
        assert!(!kept.exists());
        assert_eq!(log.open(3).1, b"", "a database that was put back");
        assert!(std::fs::read(kept).unwrap().windows(5).any(|bytes| bytes == b"eight"));
    }

    #[test]
    fn a_log_is_full_when_the_newest_would_not_fit_again() {
        let log = Log::new();
        let (mut redo, _) = log.open(0);
        redo.append(&vec![1; REDO_BYTES / 2 - HEAD]).unwrap();
        assert!(!redo.is_full());
        redo.append(&[1; 1]).unwrap();
        assert!(!redo.is_full());
        redo.append(&vec![1; REDO_BYTES / 2 - 2 * HEAD]).unwrap();
        assert!(redo.is_full());
    }
}
