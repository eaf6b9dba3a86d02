//! The journal of deliveries: what was ever given to the agent, so that no answer is given twice.
//!
//! In: a delivery is begun, is done, has failed. Out: what is known about it. On disk one line each:
//! `begun ID`, `done ID`, `failed ID REASON`; `begun` is there (and forced to disk, if wished) before the
//! first byte of the delivery goes to the agent.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use serde::{Deserialize, Serialize};

/// Deliveries in the life of one agent, and what ended questions instead. Past it writes are refused, because
/// a forgotten one could be given twice. At about 100 bytes each this is 25 MB in the worst case.
pub(super) const MAX_DELIVERIES: usize = 262_144;

/// The record of a delivery that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Journaled {
    /// Begun, and neither done nor failed yet.
    Begun,
    Done,
    Failed(String),
}

/// Whether the agent received all bytes of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Completed {
    Yes,
    No,
    /// It is under way, or the holder died over it.
    Unknown,
}

impl Completed {
    /// From the journal's record, or its absence.
    pub fn of(journaled: Option<&Journaled>) -> Self {
        match journaled {
            Some(Journaled::Done) => Self::Yes,
            Some(Journaled::Begun) => Self::Unknown,
            Some(Journaled::Failed(_)) | None => Self::No,
        }
    }
}

#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    bytes: u64,
    sync: bool,
    known: HashMap<Box<str>, Journaled>,
}

impl Journal {
    pub(super) fn create(path: &Path, sync: bool) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes, sync, known: HashMap::new() })
    }

    pub(super) fn get(&self, delivery: &str) -> Option<&Journaled> {
        self.known.get(delivery)
    }

    pub(super) fn is_full(&self) -> bool {
        self.known.len() >= MAX_DELIVERIES
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Notes that the delivery is about to be given. After an error it is not noted and must not be given.
    pub(super) fn begin(&mut self, delivery: &str) -> io::Result<()> {
        self.append(&format!("begun {delivery}\n"))?;
        if self.sync {
            self.file.sync_data()?;
        }
        self.known.insert(delivery.into(), Journaled::Begun);
        Ok(())
    }

    /// Notes the ends of deliveries, with the reasons of those that failed. An error is survivable: a reader
    /// of the file then finds `begun` only.
    pub(super) fn end<'a>(
        &mut self,
        ended: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> io::Result<()> {
        let mut lines = String::new();
        for (delivery, failure) in ended {
            let journaled = match failure {
                None => {
                    lines += &format!("done {delivery}\n");
                    Journaled::Done
                }
                Some(reason) => {
                    let reason = reason.replace(['\n', '\r'], " ");
                    lines += &format!("failed {delivery} {reason}\n");
                    Journaled::Failed(reason)
                }
            };
            self.known.insert(delivery.into(), journaled);
        }
        self.append(&lines)
    }

    /// Lines are there whole or not at all.
    fn append(&mut self, lines: &str) -> io::Result<()> {
        if let Err(error) = self.file.write_all(lines.as_bytes()) {
            self.file.set_len(self.bytes)?;
            return Err(error);
        }
        self.bytes += lines.len() as u64;
        Ok(())
    }
}

/// Reads a dead holder's record of one delivery.
pub(super) fn look_up(path: &Path, delivery: &str) -> io::Result<Option<Journaled>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut found = None;
    for line in String::from_utf8_lossy(&text).lines() {
        let mut words = line.splitn(3, ' ');
        let (verb, id) = (words.next(), words.next());
        if id != Some(delivery) {
            continue;
        }
        match verb {
            Some("begun") => found = Some(Journaled::Begun),
            Some("done") => found = Some(Journaled::Done),
            Some("failed") => found = Some(Journaled::Failed(words.next().unwrap_or_default().to_owned())),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_found_by_the_living_and_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::create(&path, true).unwrap();
        for id in ["a", "b", "c"] {
            journal.begin(id).unwrap();
        }
        journal.end([("a", None), ("b", Some("broken\npipe"))]).unwrap();
        let expected = [
            ("a", Some(Journaled::Done), Completed::Yes),
            ("b", Some(Journaled::Failed("broken pipe".into())), Completed::No),
            ("c", Some(Journaled::Begun), Completed::Unknown),
            ("d", None, Completed::No),
        ];
        for (id, journaled, completed) in expected {
            assert_eq!(journal.get(id), journaled.as_ref());
            assert_eq!(look_up(&path, id).unwrap(), journaled);
            assert_eq!(Completed::of(journaled.as_ref()), completed);
        }
    }
}
