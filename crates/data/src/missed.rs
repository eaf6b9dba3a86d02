//! Questions that a hook could not bring to the hub: they were left to their terminal, and `askd doctor`
//! tells of them.
//!
//! In: one line for each, appended by hook processes. Out: the newest of them. The file is for its owner only
//! and stays small.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use askd_core::Timestamp;
use serde::{Deserialize, Serialize};

/// Past this the older half of the file is forgotten.
const MAX_BYTES: usize = 64 << 10;
/// Characters of a question that are kept: enough to recognise it.
const MAX_TEXT_CHARS: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Missed {
    pub at: Timestamp,
    pub agent: String,
    pub cwd: Option<String>,
    pub question: Option<String>,
}

pub fn note_missed(path: &Path, missed: &Missed) -> io::Result<()> {
    let mut missed = missed.clone();
    missed.question = missed.question.map(|text| text.chars().take(MAX_TEXT_CHARS).collect());
    let line = serde_json::to_string(&missed)? + "\n";
    if let Ok(text) = std::fs::read_to_string(path)
        && text.len() + line.len() > MAX_BYTES
    {
        let lines: Vec<&str> = text.lines().collect();
        let newer = lines[lines.len() / 2..].join("\n") + "\n";
        super::write_secret(path, newer.as_bytes())?;
    }
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    // One write, so that two hooks at once do not mix their lines.
    file.write_all(line.as_bytes())
}

/// Oldest first; invalid lines are skipped.
pub fn read_missed(path: &Path) -> Vec<Missed> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_the_file_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missed.jsonl");
        assert_eq!(read_missed(&path), []);
        for n in 0..1000 {
            let question = Some(format!("{n} {}", "é".repeat(MAX_TEXT_CHARS)));
            let missed =
                Missed { at: Timestamp::from_millis(n), agent: "claude".to_owned(), cwd: None, question };
            note_missed(&path, &missed).unwrap();
        }
        let read = read_missed(&path);
        assert!(read.len() > 10 && read.len() < 1000, "{}", read.len());
        assert_eq!(read.last().unwrap().at.millis(), 999);
        assert_eq!(read[0].question.as_deref().unwrap().chars().count(), MAX_TEXT_CHARS);
        assert!(read.windows(2).all(|two| two[0].at.millis() + 1 == two[1].at.millis()));
        assert!(std::fs::metadata(&path).unwrap().len() <= MAX_BYTES as u64);
    }
}
