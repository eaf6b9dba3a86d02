//! Transcripts: what managed agents say, numbered per session, trimmed by a stated retention.

use askd_core::SessionId;
use askd_store::{
    Entry, MAX_TRANSCRIPT_BYTES, NewEntry, Questions, TRANSCRIPT_PAGE, TranscriptPage, Transcripts,
};

use super::props::*;
use super::stage::Stage;

fn said(line: Option<u64>, text: &str) -> NewEntry {
    let raw = Some(format!("{{\"raw\": \"{text}\"}}"));
    NewEntry { line, at: at(5), voice: "agent", text: Some(text.to_owned()), raw }
}

fn kept(number: u64, text: &str) -> Entry {
    let NewEntry { at, voice, text, raw, .. } = said(None, text);
    Entry { number, at, voice: voice.to_owned(), text, raw }
}

pub(crate) async fn what_was_said_is_numbered_per_session<S: Stage>() {
    let mut stage = S::fresh().await;
    let (first, second) = (SessionId::from_bits(1), SessionId::from_bits(2));
    let silent = TranscriptPage { entries: vec![], trimmed_through: 0, newest: 0 };
    assert_eq!(stage.store().entries_after(&first, 0).await.unwrap(), silent);
    stage.store().append(&first, vec![said(None, "a"), said(None, "b")]).await.unwrap();
    stage.store().append(&second, vec![said(None, "x")]).await.unwrap();
    stage.store().append(&first, vec![said(None, "c")]).await.unwrap();
    stage.reopen().await;
    let store = stage.store();
    let all = TranscriptPage {
        entries: vec![kept(1, "a"), kept(2, "b"), kept(3, "c")],
        trimmed_through: 0,
        newest: 3,
    };
    assert_eq!(store.entries_after(&first, 0).await.unwrap(), all);
    let rest = TranscriptPage { entries: vec![kept(3, "c")], ..all };
    assert_eq!(store.entries_after(&first, 2).await.unwrap(), rest);
    assert_eq!(store.entries_after(&second, 0).await.unwrap().entries, [kept(1, "x")]);

    let many = (0..TRANSCRIPT_PAGE + 10).map(|n| said(None, &n.to_string())).collect();
    store.append(&second, many).await.unwrap();
    let page = store.entries_after(&second, 1).await.unwrap();
    assert_eq!((page.entries.len(), page.newest), (TRANSCRIPT_PAGE, TRANSCRIPT_PAGE as u64 + 11));
    let last = page.entries.last().unwrap().number;
    assert_eq!(store.entries_after(&second, last).await.unwrap().entries.len(), 10);
}

pub(crate) async fn a_line_that_is_stored_is_not_stored_again<S: Stage>() {
    let mut stage = S::fresh().await;
    let session = SessionId::from_bits(1);
    // One line may say two things.
    let first = vec![said(Some(1), "a"), said(Some(1), "b"), said(None, "hub"), said(Some(2), "c")];
    stage.store().append(&session, first.clone()).await.unwrap();
    stage.reopen().await;
    // The holder tells the restarted hub again what it cannot know to be stored.
    let again = [first, vec![said(Some(3), "d")]].concat();
    let again = again.into_iter().filter(|entry| entry.line.is_some()).collect();
    stage.store().append(&session, again).await.unwrap();
    let page = stage.store().entries_after(&session, 0).await.unwrap();
    assert_eq!(page.entries, [kept(1, "a"), kept(2, "b"), kept(3, "hub"), kept(4, "c"), kept(5, "d")]);
}

pub(crate) async fn the_oldest_words_go_first<S: Stage>() {
    const WORD: u64 = 2 << 20;
    const KEPT: u64 = MAX_TRANSCRIPT_BYTES / WORD;
    let stage = S::fresh().await;
    let store = stage.store();
    let session = SessionId::from_bits(1);
    let long = NewEntry { text: Some("ü".repeat(1 << 20)), raw: None, ..said(None, "") };
    store.append(&session, vec![long.clone(); KEPT as usize]).await.unwrap();
    assert_eq!(store.entries_after(&session, KEPT - 1).await.unwrap().trimmed_through, 0);
    store.append(&session, vec![long; 3]).await.unwrap();
    let page = store.entries_after(&session, 0).await.unwrap();
    assert_eq!((page.trimmed_through, page.newest), (3, KEPT + 3));
    let numbers: Vec<u64> = page.entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, (4..=KEPT + 3).collect::<Vec<_>>());
}

pub(crate) async fn readers_hear_of_words_whose_writer_has_gone_away<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let session = SessionId::from_bits(1);
    let mut news = store.watch_transcripts();
    news.mark_unchanged();
    tokio::select! {
        biased;
        _ = store.append(&session, vec![said(None, "a")]) => {}
        () = std::future::ready(()) => {}
    }
    store.probe().await.unwrap();
    let stored = store.entries_after(&session, 0).await.unwrap().newest > 0;
    assert_eq!(news.has_changed().unwrap(), stored);
}
