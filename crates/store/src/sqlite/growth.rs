//! The transcripts with readers: a wake when one grew, and its newest entries in memory.
//!
//! In: durable entries, in commit order. Out: a wake for the readers of that transcript alone, and pages
//! without a disk access for readers that are up to date. Like the event log's, the tail is a cache of the
//! store, never a channel: a reader further back reads the store.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use askd_core::SessionId;

use crate::transcripts::{Entry, TRANSCRIPT_PAGE, TranscriptPage};

/// Bytes of entries in the tail of one transcript: some pages of talk, or one long line.
const TAIL_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Growth {
    watched: Mutex<HashMap<SessionId, Watched>>,
}

#[derive(Default)]
struct Watched {
    news: watch::Sender<()>,
    /// Without holes, oldest first.
    tail: VecDeque<Entry>,
    bytes: usize,
}

impl Watched {
    fn push(&mut self, entry: Entry) {
        if self.tail.back().is_some_and(|last| last.number + 1 != entry.number) {
            self.tail.clear();
            self.bytes = 0;
        }
        self.bytes += entry.bytes();
        self.tail.push_back(entry);
        while self.bytes > TAIL_BYTES
            && let Some(oldest) = self.tail.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
    }
}

impl Growth {
    fn watched(&self) -> MutexGuard<'_, HashMap<SessionId, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self, transcript: &SessionId) -> watch::Receiver<()> {
        let mut watched = self.watched();
        // Transcripts without readers make room here.
        watched.retain(|_, watched| !watched.news.is_closed());
        watched.entry(transcript.clone()).or_default().news.subscribe()
    }

    pub(super) fn is_watched(&self, transcript: &SessionId) -> bool {
        self.watched().contains_key(transcript)
    }

    pub(super) fn grew(&self, transcript: &SessionId, entries: Vec<Entry>) {
        let mut watched = self.watched();
        if let Some(watched) = watched.get_mut(transcript) {
            if entries.is_empty() {
                // These were stored while it had no reader: the tail has a gap at its end.
                watched.tail.clear();
                watched.bytes = 0;
            }
            entries.into_iter().for_each(|entry| watched.push(entry));
            watched.news.send_replace(());
        }
    }

    /// The page after `after`, if the tail reaches back that far.
    pub(super) fn page(&self, transcript: &SessionId, after: u64) -> Option<TranscriptPage> {
        let watched = self.watched();
        let tail = &watched.get(transcript)?.tail;
        let (first, newest) = (tail.front()?.number, tail.back()?.number);
        // Only the store knows entries beyond the newest of the tail.
        if after + 1 < first || after > newest {
            return None;
        }
        let skip = usize::try_from(after + 1 - first).ok()?;
        let entries = tail.iter().skip(skip).take(TRANSCRIPT_PAGE).cloned().collect();
        Some(TranscriptPage { entries, trimmed_through: 0, newest })
    }
}

#[cfg(test)]
mod tests {
    use askd_core::Timestamp;

    use super::*;

    fn entry(number: u64, bytes: usize) -> Entry {
        let (at, voice) = (Timestamp::from_millis(0), "agent".to_owned());
        Entry { number, at, voice, text: None, raw: Some("x".repeat(bytes)) }
    }

    fn numbers(growth: &Growth, transcript: &SessionId, after: u64) -> Option<Vec<u64>> {
        let page = growth.page(transcript, after)?;
        Some(page.entries.iter().map(|entry| entry.number).collect())
    }

    #[test]
    fn the_tail_answers_only_where_it_has_no_hole() {
        let (growth, transcript) = (Growth::default(), SessionId::from_bits(1));
        growth.grew(&transcript, vec![entry(1, 1)]);
        assert_eq!(numbers(&growth, &transcript, 0), None, "nobody watched");
        let _reader = growth.watch(&transcript);
        growth.grew(&transcript, vec![entry(3, 1), entry(4, 1)]);
        assert_eq!(numbers(&growth, &transcript, 1), None);
        assert_eq!(numbers(&growth, &transcript, 2), Some(vec![3, 4]));
        assert_eq!(numbers(&growth, &transcript, 4), Some(vec![]));
        assert_eq!(numbers(&growth, &transcript, 5), None);
        growth.grew(&transcript, vec![entry(7, 1)]);
        assert_eq!(numbers(&growth, &transcript, 2), None, "5 and 6 were missed");
        growth.grew(&transcript, vec![entry(8, TAIL_BYTES), entry(9, 1)]);
        assert_eq!(numbers(&growth, &transcript, 7), None, "too much for the tail");
        assert_eq!(numbers(&growth, &transcript, 8), Some(vec![9]));
    }
}
