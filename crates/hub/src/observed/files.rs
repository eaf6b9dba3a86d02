//! The transcripts of a config folder, read as they grow. In: paths that may have changed. Out: the meaning
//! of their new lines.
//!
//! An old file is read from its end, unless its session lives; a new one from its beginning. Quiet files are
//! closed, and only their position is kept.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use askd_agents::claude_hook::{Entry, TranscriptReader};
use askd_agents::tail::{Looked, Tail, TailEvent, TailPosition};

/// Bytes of one line: a tool may print much, and a plan is far below.
const MAX_LINE: usize = 16 << 20;
/// How long a quiet file stays open.
const QUIET: Duration = Duration::from_secs(120);
/// Bytes of one file in one look, so that other files have their turn.
const ONE_LOOK: u64 = 16 << 20;
/// The newest bytes that are read of a file that grew further. Transcripts of long sessions have some tens of
/// MB; a sparse file can claim any length.
const MOST_BEHIND: u64 = 256 << 20;

#[derive(Default)]
pub(super) struct Files {
    open: HashMap<PathBuf, Watched>,
    /// The positions of files that are not open.
    left: HashMap<PathBuf, TailPosition>,
    /// True once the log has reported a line over the limit: one report is enough.
    told_oversized: bool,
}

struct Watched {
    tail: Tail,
    reader: TranscriptReader,
    used: Instant,
}

/// The result of one look.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub entries: Vec<Entry>,
    /// There is more to read: look again when the others have had their turn.
    pub more: bool,
}

/// The metadata of this path, if it is a regular file. Links are not followed.
fn regular(path: &Path) -> Option<Metadata> {
    std::fs::symlink_metadata(path).ok().filter(Metadata::is_file)
}

impl Files {
    /// Skips the present content of an old file: it is not news.
    pub(super) fn skip(&mut self, path: &Path) {
        if let Some(meta) = regular(path)
            && !self.open.contains_key(path)
        {
            let position = TailPosition { device: meta.dev(), inode: meta.ino(), offset: meta.len() };
            self.left.entry(path.to_owned()).or_insert(position);
        }
    }

    /// The next look at this file begins at its beginning.
    pub(super) fn read_whole(&mut self, path: &Path) {
        self.left.remove(path);
    }

    /// True if the file has unread bytes.
    pub(super) fn has_grown(&self, path: &Path) -> bool {
        let Some(meta) = regular(path) else { return false };
        let position = self.open.get(path).and_then(|watched| watched.tail.position());
        let position = position.or_else(|| self.left.get(path).copied());
        position.is_none_or(|position| position.inode != meta.ino() || position.offset != meta.len())
    }

    /// Reads the new bytes of one file, from its beginning if it is unknown; at most `ONE_LOOK` bytes, and at
    /// most the newest `MOST_BEHIND`.
    pub(super) fn look(&mut self, path: &Path) -> Look {
        let Some(meta) = regular(path) else {
            self.open.remove(path);
            return Look::default();
        };
        let read = self.open.get(path).and_then(|watched| watched.tail.position());
        let read = read.or_else(|| self.left.get(path).copied()).filter(|read| read.inode == meta.ino());
        if meta.len().saturating_sub(read.map_or(0, |read| read.offset)) > MOST_BEHIND {
            self.open.remove(path);
            let offset = meta.len() - MOST_BEHIND;
            self.left.insert(path.to_owned(), TailPosition { device: meta.dev(), inode: meta.ino(), offset });
        }
        let resume = self.left.remove(path);
        let watched = self.open.entry(path.to_owned()).or_insert_with(|| Watched {
            tail: Tail::new(path, resume, MAX_LINE),
            reader: TranscriptReader::default(),
            used: Instant::now(),
        });
        watched.used = Instant::now();
        let (mut entries, reader, told_oversized) =
            (Vec::new(), &mut watched.reader, &mut self.told_oversized);
        let looked = watched.tail.look_at_most(ONE_LOOK, |event| match event {
            TailEvent::Lines { bytes, .. } => entries.extend(reader.lines(bytes)),
            TailEvent::Truncated | TailEvent::Replaced => reader.reset(),
            TailEvent::Oversized { total_bytes, .. } => {
                if !std::mem::replace(told_oversized, true) {
                    tracing::warn!(
                        path = %path.display(),
                        total_bytes,
                        limit = MAX_LINE,
                        "a line of a transcript was too long to be heard; a question in such a line is missed, and further ones are not told"
                    );
                }
            }
        });
        if matches!(looked, Ok(Looked::Missing) | Err(_)) {
            self.open.remove(path);
        }
        Look { entries, more: matches!(looked, Ok(Looked::More)) }
    }

    /// Closes files that have been quiet for long and have no open call.
    pub(super) fn rest(&mut self) {
        let left = &mut self.left;
        self.open.retain(|path, watched| {
            let keep = watched.used.elapsed() < QUIET || watched.reader.open().next().is_some();
            if let (false, Some(position)) = (keep, watched.tail.position()) {
                left.insert(path.clone(), position);
            }
            keep
        });
    }
}

/// The transcripts in a folder of projects: `PROJECT/SESSION.jsonl`. Those of subagents cannot ask and are
/// not looked at.
pub(super) fn transcripts(projects: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(projects).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.map(|file| file.path()).filter(|path| is_transcript(projects, path)).collect()
}

/// Named by a session's UUID, two levels below the folder of projects.
pub(super) fn is_transcript(projects: &Path, path: &Path) -> bool {
    let session =
        path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
    let is_uuid = |name: &str| name.len() == 36 && name.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    session.is_some_and(is_uuid) && path.parent().and_then(Path::parent) == Some(projects)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    const NAME: &str = "3337aed3-e7c1-49cf-a370-4ff895702544.jsonl";

    fn asks(id: &str) -> String {
        format!(
            r#"{{"type":"assistant","sessionId":"s","message":{{"id":"m","content":[{{"type":"tool_use","id":"{id}","name":"AskUserQuestion","input":{{}}}}]}}}}"#
        )
    }

    #[test]
    fn old_bytes_are_no_news_and_half_lines_wait() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("-w");
        std::fs::create_dir(&project).unwrap();
        let path = project.join(NAME);
        std::fs::write(&path, format!("{}\n", asks("toolu_1"))).unwrap();
        std::fs::write(project.join("agent-1.jsonl"), "").unwrap();
        assert_eq!(transcripts(root.path()), std::slice::from_ref(&path));
        let mut files = Files::default();
        files.skip(&path);
        assert!(!files.has_grown(&path));
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        let line = asks("toolu_2");
        file.write_all(&line.as_bytes()[..20]).unwrap();
        assert!(files.has_grown(&path));
        assert!(files.look(&path).entries.is_empty());
        file.write_all(&line.as_bytes()[20..]).unwrap();
        file.write_all(b"\n").unwrap();
        let found = files.look(&path).entries;
        assert!(matches!(&found[..], [Entry::Asked { call_id, .. }] if call_id == "toolu_2"), "{found:?}");
        assert!(files.look(&path).entries.is_empty());
        assert_eq!(Files::default().look(&path).entries.len(), 2, "a file that is not known is read whole");
    }

    #[test]
    fn one_look_is_bounded_and_a_file_that_claims_to_be_huge_is_read_at_its_end_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut file = std::fs::File::create(&path).unwrap();
        file.set_len(200 << 30).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(format!("\n{}\n", asks("toolu_1")).as_bytes()).unwrap();
        let mut files = Files::default();
        let (mut looks, mut found) = (0, Vec::new());
        loop {
            let look = files.look(&path);
            looks += 1;
            found.extend(look.entries);
            if !look.more {
                break;
            }
        }
        assert_eq!((looks, found.len()), (MOST_BEHIND / ONE_LOOK + 1, 1));
        assert!(!files.has_grown(&path));
    }
}
