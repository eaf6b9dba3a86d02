//! Transcripts of managed agents, stored in batches, numbered for each transcript, and trimmed by a stated
//! retention.
//!
//! A transcript is named after its first session. The sessions of one ACP server share one; then each entry
//! names its session. The entry of a question is kept while the question is open, and the transaction of the
//! question's end, of any kind, appends an entry with the voice [`RESOLVED`].

use async_trait::async_trait;
use tokio::sync::watch;

use askd_core::{QuestionId, SessionId, Timestamp};

use crate::StoreResult;

/// Bytes kept of one transcript: days of an agent's talk, or a flood. There may be a little more for a while.
pub const MAX_TRANSCRIPT_BYTES: u64 = 64 << 20;
/// Entries of one page.
pub const TRANSCRIPT_PAGE: usize = 256;
/// Bytes of a full page: the cost of a reader that does not read. A page of ordinary talk is smaller.
pub const TRANSCRIPT_PAGE_BYTES: usize = 256 << 10;
/// The voice of the end of a question; `raw` is `{"requestId","questionId","status","outcome"}`.
pub const RESOLVED: &str = "resolved";
/// The voice of a turn's end; `raw` has the agent's line.
pub const TURN: &str = "turn";

/// One entry without a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// The agent's line of this entry, counted from 1; a stored line is not stored again.
    pub line: Option<u64>,
    pub at: Timestamp,
    /// The speaker: `agent`, `thought`, `tool`, `user`, `question`, `turn`, `error` or `other`.
    pub voice: &'static str,
    /// The text for people.
    pub text: Option<String>,
    /// The original bytes.
    pub raw: Option<String>,
    /// The session, if several share the transcript.
    pub about: Option<SessionId>,
    pub asks: Option<AsksHere>,
}

impl NewEntry {
    pub fn new(at: Timestamp, voice: &'static str) -> Self {
        Self { line: None, at, voice, text: None, raw: None, about: None, asks: None }
    }

    /// As it is read.
    pub(crate) fn numbered(self, number: u64) -> Entry {
        Entry { number, at: self.at, voice: self.voice.to_owned(), text: self.text, raw: self.raw }
    }
}

/// A question of the session in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsksHere {
    /// The agent's own name of the question.
    pub native_id: String,
    /// The id of the request, as JSON, by which the transcript's readers know it.
    pub request: String,
}

/// A question in a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedIn {
    /// The entry with the question.
    pub number: u64,
    /// The id of the request, as JSON.
    pub request: String,
    pub question: QuestionId,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub number: u64,
    pub at: Timestamp,
    pub voice: String,
    pub text: Option<String>,
    pub raw: Option<String>,
}

impl Entry {
    /// How much of a page it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, String::len) + self.raw.as_ref().map_or(0, String::len)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptPage {
    pub entries: Vec<Entry>,
    /// Entries up to this number were deleted by the retention, all but those of open questions.
    pub trimmed_through: u64,
    /// The newest number.
    pub newest: u64,
}

/// A part of a transcript as a reader meets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The entries between these two numbers, the second included, are deleted.
    Gap {
        after: u64,
        through: u64,
    },
    Entry(Entry),
}

impl TranscriptPage {
    /// True if more may follow.
    fn is_full(&self) -> bool {
        let bytes: usize = self.entries.iter().map(Entry::bytes).sum();
        self.entries.len() >= TRANSCRIPT_PAGE || bytes >= TRANSCRIPT_PAGE_BYTES
    }

    /// The page for a reader that knows everything up to `cursor`; moves `cursor` to the end of the page.
    pub fn pieces(self, cursor: &mut u64) -> Vec<Piece> {
        let trimmed = self.trimmed_through;
        let mut pieces = Vec::with_capacity(self.entries.len());
        let gap = |pieces: &mut Vec<Piece>, after: u64, through: u64| {
            if after < through {
                pieces.push(Piece::Gap { after, through });
            }
        };
        let whole = !self.is_full();
        for entry in self.entries {
            gap(&mut pieces, *cursor, trimmed.min(entry.number - 1));
            *cursor = entry.number;
            pieces.push(Piece::Entry(entry));
        }
        if whole {
            gap(&mut pieces, *cursor, trimmed);
            // Entries of other sessions need no second look.
            *cursor = self.newest.max(*cursor);
        }
        pieces
    }
}

#[async_trait]
pub trait Transcripts: Send + Sync {
    /// The newest stored line; 0 if there is none.
    async fn last_line(&self, transcript: &SessionId) -> StoreResult<u64>;

    /// Appends entries; stored lines are skipped. All entries of one line come in one call.
    async fn append(&self, transcript: &SessionId, entries: Vec<NewEntry>) -> StoreResult<()>;

    /// At most [`TRANSCRIPT_PAGE`] entries after `after`, in order, and none after [`TRANSCRIPT_PAGE_BYTES`]:
    /// all, or those about one session.
    async fn entries_after(
        &self,
        transcript: &SessionId,
        about: Option<&SessionId>,
        after: u64,
    ) -> StoreResult<TranscriptPage>;

    /// The agent's lines that ended its last turns, newest first, at most [`TRANSCRIPT_PAGE`].
    async fn turns_ended(&self, transcript: &SessionId) -> StoreResult<Vec<String>>;

    /// The questions in a transcript before the entry `before`, newest first, at most [`TRANSCRIPT_PAGE`].
    async fn asked_in(&self, transcript: &SessionId, before: u64) -> StoreResult<Vec<AskedIn>>;

    /// Changes whenever this transcript grew.
    fn watch_transcript(&self, transcript: &SessionId) -> watch::Receiver<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(numbers: &[u64], trimmed_through: u64, newest: u64) -> TranscriptPage {
        let entry = |number: &u64| Entry {
            number: *number,
            at: Timestamp::from_millis(0),
            voice: "agent".to_owned(),
            text: None,
            raw: None,
        };
        TranscriptPage { entries: numbers.iter().map(entry).collect(), trimmed_through, newest }
    }

    /// Pieces in short: an entry's number, or the two ends of a gap.
    fn told(page: TranscriptPage, mut cursor: u64) -> (Vec<(u64, Option<u64>)>, u64) {
        let pieces = page.pieces(&mut cursor).into_iter().map(|piece| match piece {
            Piece::Entry(entry) => (entry.number, None),
            Piece::Gap { after, through } => (after, Some(through)),
        });
        (pieces.collect(), cursor)
    }

    #[test]
    fn a_reader_is_told_of_every_gap_and_of_nothing_else() {
        assert_eq!(told(page(&[1, 2], 0, 2), 0), (vec![(1, None), (2, None)], 2));
        // The entry of an open question stands alone in what was trimmed.
        let around = vec![(0, Some(3)), (4, None), (4, Some(9)), (10, None)];
        assert_eq!(told(page(&[4, 10], 9, 10), 0), (around, 10));
        assert_eq!(told(page(&[10], 9, 10), 9), (vec![(10, None)], 10));
        assert_eq!(told(page(&[], 9, 9), 4), (vec![(4, Some(9))], 9));
        // Numbers that other sessions have are no gap.
        assert_eq!(told(page(&[12, 15], 9, 20), 10), (vec![(12, None), (15, None)], 20));
        let full: Vec<u64> = (1..=TRANSCRIPT_PAGE as u64).collect();
        assert_eq!(
            told(page(&full, 0, 9999), 0).1,
            TRANSCRIPT_PAGE as u64,
            "the next page goes on from here"
        );
        let mut long = page(&[2], 9, 20);
        long.entries[0].raw = Some("x".repeat(TRANSCRIPT_PAGE_BYTES));
        assert_eq!(told(long, 0), (vec![(0, Some(1)), (2, None)], 2), "what comes after it is not known yet");
    }
}
