//! What managed agents say. Stored in batches with a numbering of its own for each transcript, trimmed by a stated retention.
//!
//! A transcript is called by the session that it was begun for. The sessions of one ACP server share one; then each entry says
//! which of them it is about. An entry that asks a question is kept while the question is open, and when the question ends, in
//! whatever way, the transcript tells it in the same transaction, by an entry of the voice [`RESOLVED`].

use async_trait::async_trait;
use tokio::sync::watch;

use askd_core::{QuestionId, SessionId, Timestamp};

use crate::StoreResult;

/// Bytes kept of one transcript: days of an agent's talk, or a flood. There may be a little more for a while.
pub const MAX_TRANSCRIPT_BYTES: u64 = 64 << 20;
/// Entries of one page.
pub const TRANSCRIPT_PAGE: usize = 256;
/// Bytes after which a page is full: what a reader that does not read costs the hub. A page of ordinary talk is smaller.
pub const TRANSCRIPT_PAGE_BYTES: usize = 256 << 10;
/// The voice of the end of a question; `raw` is `{"requestId","questionId","status","outcome"}`.
pub const RESOLVED: &str = "resolved";
/// The voice of the end of a turn; `raw` is what the agent said.
pub const TURN: &str = "turn";

/// One thing that was said, before it has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// The line of the agent that it came from, counted from 1: one that an earlier call stored is not stored again.
    pub line: Option<u64>,
    pub at: Timestamp,
    /// Who: `agent`, `thought`, `tool`, `user`, `question`, `turn`, `error` or `other`.
    pub voice: &'static str,
    /// What, for showing.
    pub text: Option<String>,
    /// What, byte for byte.
    pub raw: Option<String>,
    /// The session, where several share the transcript.
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

/// A question of the session that an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsksHere {
    /// The agent's own name of the question.
    pub native_id: String,
    /// The id of the request, as JSON, by which readers of the transcript know it.
    pub request: String,
}

/// A question that a transcript asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedIn {
    /// The entry that asks it.
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
    /// What was said between these two numbers, the second included, is not kept any more.
    Gap {
        after: u64,
        through: u64,
    },
    Entry(Entry),
}

impl TranscriptPage {
    /// Whether there may be more after it.
    fn is_full(&self) -> bool {
        let bytes: usize = self.entries.iter().map(Entry::bytes).sum();
        self.entries.len() >= TRANSCRIPT_PAGE || bytes >= TRANSCRIPT_PAGE_BYTES
    }

    /// The page for a reader that knows everything up to `cursor`, which then stands at the end of the page.
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
            // What is about other sessions need not be looked through again.
            *cursor = self.newest.max(*cursor);
        }
        pieces
    }
}

#[async_trait]
pub trait Transcripts: Send + Sync {
    /// The newest line that is stored; 0 if there is none.
    async fn last_line(&self, transcript: &SessionId) -> StoreResult<u64>;

    /// Stores what was said; lines that are stored already are left out. All that one line says comes in one call.
    async fn append(&self, transcript: &SessionId, entries: Vec<NewEntry>) -> StoreResult<()>;

    /// At most [`TRANSCRIPT_PAGE`] entries after `after`, in order, and none after [`TRANSCRIPT_PAGE_BYTES`]: all, or those about
    /// one session.
    async fn entries_after(
        &self,
        transcript: &SessionId,
        about: Option<&SessionId>,
        after: u64,
    ) -> StoreResult<TranscriptPage>;

    /// What ended the last turns, as the agent said it, the newest first, at most [`TRANSCRIPT_PAGE`].
    async fn turns_ended(&self, transcript: &SessionId) -> StoreResult<Vec<String>>;

    /// The questions that a transcript asks before the entry `before`, the newest first, at most [`TRANSCRIPT_PAGE`].
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
