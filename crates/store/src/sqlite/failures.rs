//! Log lines for a store that cannot write: the first failure of a kind, then one line a minute with a count.

use std::time::{Duration, Instant};

use rusqlite::ErrorCode;

use crate::{StoreError, StoreResult};

/// Between two lines about the same trouble: a hub on a full disk refuses thousands of changes in this time.
const SAY_AGAIN_AFTER: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Failures {
    commits: Refusals,
    jobs: Refusals,
}

#[derive(Default)]
struct Refusals {
    said: Option<Instant>,
    /// Since the last line.
    unsaid: u64,
}

impl Refusals {
    /// How many there were since the last line, this one included, if it is time for a line.
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.unsaid += 1;
        if self.said.is_some_and(|said| now.duration_since(said) < SAY_AGAIN_AFTER) {
            return None;
        }
        self.said = Some(now);
        Some(std::mem::take(&mut self.unsaid))
    }
}

impl Failures {
    /// One job failed and undid only itself.
    pub(super) fn note_job(&mut self, error: &StoreError) {
        if let Some(refused) = self.jobs.count(Instant::now()) {
            tracing::error!(%error, refused, "a change was refused and undone");
        }
    }

    pub(super) fn note_commit(&mut self, committed: &StoreResult<()>) {
        match committed {
            Ok(()) => {
                let Refusals { said, unsaid } = std::mem::take(&mut self.commits);
                if said.is_some() {
                    tracing::warn!(refused = unsaid, "the store can write again");
                }
            }
            Err(error) => {
                if let Some(refused) = self.commits.count(Instant::now()) {
                    tracing::error!(%error, refused, "the store cannot write");
                }
            }
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match &error {
            rusqlite::Error::SqliteFailure(code, _)
                if matches!(code.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) =>
            {
                Self::Corrupt(error.to_string())
            }
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Self::Corrupt(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fails_is_told_once_and_then_counted() {
        let (mut refusals, start) = (Refusals::default(), Instant::now());
        assert_eq!(refusals.count(start), Some(1));
        for _ in 0..1000 {
            assert_eq!(refusals.count(start + SAY_AGAIN_AFTER / 2), None);
        }
        assert_eq!(refusals.count(start + SAY_AGAIN_AFTER), Some(1001));
        assert_eq!(refusals.count(start + SAY_AGAIN_AFTER), None);
    }
}
