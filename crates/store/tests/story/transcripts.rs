//! Transcripts: what managed agents say, numbered per session, trimmed by a stated retention.

use askd_core::{Ask, Cause, SessionId};
use askd_store::{
    Asked, AsksHere, Chain, Entry, MAX_TRANSCRIPT_BYTES, NewEntry, Piece, Questions, RESOLVED, Sessions,
    TRANSCRIPT_PAGE, TRANSCRIPT_PAGE_BYTES, TranscriptPage, Transcripts,
};

use super::props::*;
use super::stage::Stage;

fn said(line: Option<u64>, text: &str) -> NewEntry {
    let raw = Some(format!("{{\"raw\": \"{text}\"}}"));
    NewEntry { line, text: Some(text.to_owned()), raw, ..NewEntry::new(at(5), "agent") }
}

fn kept(number: u64, text: &str) -> Entry {
    let NewEntry { at, voice, text, raw, .. } = said(None, text);
    Entry { number, at, voice: voice.to_owned(), text, raw }
}

pub(crate) async fn what_was_said_is_numbered_per_session<S: Stage>() {
    let mut stage = S::fresh().await;
    let (first, second) = (SessionId::from_bits(1), SessionId::from_bits(2));
    let silent = TranscriptPage { entries: vec![], trimmed_through: 0, newest: 0 };
    assert_eq!(stage.store().entries_after(&first, None, 0).await.unwrap(), silent);
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
    assert_eq!(store.entries_after(&first, None, 0).await.unwrap(), all);
    let rest = TranscriptPage { entries: vec![kept(3, "c")], ..all };
    assert_eq!(store.entries_after(&first, None, 2).await.unwrap(), rest);
    assert_eq!(store.entries_after(&second, None, 0).await.unwrap().entries, [kept(1, "x")]);

    let many = (0..TRANSCRIPT_PAGE + 10).map(|n| said(None, &n.to_string())).collect();
    store.append(&second, many).await.unwrap();
    let page = store.entries_after(&second, None, 1).await.unwrap();
    assert_eq!((page.entries.len(), page.newest), (TRANSCRIPT_PAGE, TRANSCRIPT_PAGE as u64 + 11));
    let last = page.entries.last().unwrap().number;
    assert_eq!(store.entries_after(&second, None, last).await.unwrap().entries.len(), 10);
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
    let page = stage.store().entries_after(&session, None, 0).await.unwrap();
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
    assert_eq!(store.entries_after(&session, None, KEPT - 1).await.unwrap().trimmed_through, 0);
    store.append(&session, vec![long; 3]).await.unwrap();
    let page = store.entries_after(&session, None, 0).await.unwrap();
    assert_eq!((page.trimmed_through, page.newest), (3, KEPT + 3));
    let rest = (4..=KEPT + 3).map(|number| (number, None));
    assert_eq!(read(&**store, &session).await, std::iter::once((0, Some(3))).chain(rest).collect::<Vec<_>>());
}

pub(crate) async fn a_page_of_long_words_is_short<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (session, other) = (SessionId::from_bits(1), SessionId::from_bits(2));
    let sized = |bytes: usize, about: &SessionId| NewEntry {
        raw: Some("x".repeat(bytes)),
        about: Some(about.clone()),
        ..NewEntry::new(at(5), "agent")
    };
    // Two fill a page, and one that is longer than a page stands alone.
    let half = sized(TRANSCRIPT_PAGE_BYTES / 2, &session);
    let words =
        vec![half.clone(), half.clone(), half.clone(), sized(3 * TRANSCRIPT_PAGE_BYTES, &other), half];
    store.append(&session, words).await.unwrap();
    for (about, pages) in
        [(None, vec![vec![1, 2], vec![3, 4], vec![5]]), (Some(&other), vec![vec![4], vec![]])]
    {
        let mut cursor = 0;
        for wanted in pages {
            let page = store.entries_after(&session, about, cursor).await.unwrap();
            assert_eq!(page.newest, 5);
            assert_eq!(page.entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), wanted);
            page.pieces(&mut cursor);
        }
        assert_eq!(cursor, 5, "all is read");
    }
    assert_eq!(read(&**store, &session).await, (1..=5).map(|number| (number, None)).collect::<Vec<_>>());
}

pub(crate) async fn a_full_transcript_is_not_trimmed_for_every_word<S: Stage>() {
    const WORD: u64 = 2 << 20;
    let stage = S::fresh().await;
    let store = stage.store();
    let session = SessionId::from_bits(1);
    let sized = |bytes: u64| NewEntry { text: Some("x".repeat(bytes as usize)), raw: None, ..said(None, "") };
    let full = (MAX_TRANSCRIPT_BYTES / WORD) as usize;
    store.append(&session, vec![sized(WORD); full]).await.unwrap();
    for _ in 0..10 {
        store.append(&session, vec![sized(1000)]).await.unwrap();
    }
    let trimmed_through =
        async || store.entries_after(&session, None, u64::MAX).await.unwrap().trimmed_through;
    assert_eq!(trimmed_through().await, 0);
    store.append(&session, vec![sized(WORD)]).await.unwrap();
    assert_eq!(trimmed_through().await, 2, "one for the long word, one for the ten short ones");
}

pub(crate) async fn readers_hear_of_words_whose_writer_has_gone_away<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let session = SessionId::from_bits(1);
    let mut news = store.watch_transcript(&session);
    let other = store.watch_transcript(&SessionId::from_bits(2));
    news.mark_unchanged();
    tokio::select! {
        biased;
        _ = store.append(&session, vec![said(None, "a")]) => {}
        () = std::future::ready(()) => {}
    }
    store.probe().await.unwrap();
    let stored = store.entries_after(&session, None, 0).await.unwrap().newest > 0;
    assert_eq!(news.has_changed().unwrap(), stored);
    assert!(!other.has_changed().unwrap(), "woken for another transcript");
}

/// The id by which readers know question `n`: more than a number of 64 bits can say.
fn request(n: u128) -> String {
    format!("1844674407370955161600{n}")
}

/// The line of `agent`'s question `n`.
fn asks(agent: &Agent, n: u128) -> NewEntry {
    let asks = AsksHere { native_id: format!("toolu_{n}"), request: request(n) };
    let about = Some(agent.session.clone());
    NewEntry { raw: Some(format!("ask {n}")), about, asks: Some(asks), ..NewEntry::new(at(5), "question") }
}

/// The numbers of the entries that are kept, and the gaps around them.
async fn read(store: &impl Transcripts, transcript: &SessionId) -> Vec<(u64, Option<u64>)> {
    let (mut cursor, mut told) = (0, Vec::new());
    loop {
        let pieces = store.entries_after(transcript, None, cursor).await.unwrap().pieces(&mut cursor);
        if pieces.is_empty() {
            return told;
        }
        told.extend(pieces.into_iter().map(|piece| match piece {
            Piece::Entry(entry) => (entry.number, None),
            Piece::Gap { after, through } => (after, Some(through)),
        }));
    }
}

pub(crate) async fn what_asks_an_open_question_outlives_the_retention<S: Stage>() {
    const WORD: u64 = 2 << 20;
    const KEPT: usize = (MAX_TRANSCRIPT_BYTES / WORD) as usize;
    let mut stage = S::fresh().await;
    let agent = agent(&**stage.store(), 1).await;
    let long = NewEntry { text: Some("x".repeat(WORD as usize)), ..NewEntry::new(at(5), "agent") };
    let store = stage.store();
    store.append(&agent.session, vec![long.clone(), asks(&agent, 1), long.clone()]).await.unwrap();
    ask(&**store, agent.asks(1, plain())).await;
    store.append(&agent.session, vec![long.clone(); KEPT]).await.unwrap();
    stage.reopen().await;
    let store = stage.store();
    // 1 and 3 went, and one more for the bytes of the question.
    let newest = KEPT as u64 + 3;
    let rest = (5..=newest).map(|number| (number, None));
    let wanted: Vec<_> = [(0, Some(1)), (2, None), (2, Some(4))].into_iter().chain(rest).collect();
    assert_eq!(read(&**store, &agent.session).await, wanted);
    // Once it is answered it is like everything else.
    reply(&**store, &question_id(1), &["JWT"]).await;
    store.append(&agent.session, vec![long; 2]).await.unwrap();
    let told = read(&**store, &agent.session).await;
    assert_eq!((told[0], told[1]), ((0, Some(6)), (7, None)));
}

/// The last entry of a transcript.
async fn last(store: &impl Transcripts, transcript: &SessionId) -> Entry {
    let newest = store.entries_after(transcript, None, 0).await.unwrap().newest;
    store.entries_after(transcript, None, newest - 1).await.unwrap().entries.remove(0)
}

pub(crate) async fn however_a_question_ends_it_is_told_where_it_was_asked<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let stream = SessionId::from_bits(77);
    let mut news = store.watch_transcript(&stream);
    let mut expecting = Vec::new();
    for (n, status) in [(1, "answered"), (2, "rejected"), (3, "expired"), (4, "cancelled"), (5, "answered")] {
        let asked = if n == 3 { Ask { deadline: Some(at(50)), ..plain() } } else { plain() };
        ask(&**store, agent.asks(n, asked)).await;
        if n == 5 {
            // Answered before its line was stored.
            reply(&**store, &question_id(5), &["JWT"]).await;
        }
        store.append(&stream, vec![asks(&agent, n)]).await.unwrap();
        news.mark_unchanged();
        match n {
            1 => drop(reply(&**store, &question_id(1), &["JWT"]).await),
            2 => drop(resolve(&**store, &question_id(2), decline(None)).await),
            3 => drop(store.expire_due(at(60)).await.unwrap()),
            4 => drop(store.end_session(&agent.session, Cause::DeadlinePassed, at(70)).await.unwrap()),
            _ => {}
        }
        assert!(n == 5 || news.has_changed().unwrap(), "readers hear of the end of {n}");
        let Entry { number, voice, raw, .. } = last(&**store, &stream).await;
        let raw = raw.unwrap();
        let question = stored(&**store, &question_id(n)).await;
        assert!(raw.starts_with(&format!(r#"{{"requestId":{},"questionId":"#, request(n))), "{raw}");
        let mut told: serde_json::Value = serde_json::from_str(&raw).unwrap();
        told.as_object_mut().unwrap().shift_remove("requestId");
        let wanted =
            serde_json::json!({ "questionId": question.id, "status": status, "outcome": question.outcome });
        assert_eq!((number, voice.as_str(), told), (2 * n as u64, RESOLVED, wanted));
        expecting.extend([(number - 1, None), (number, None)]);
    }
    // A second answer ends nothing.
    reply(&**store, &question_id(1), &["JWT"]).await;
    assert_eq!(read(&**store, &stream).await, expecting);
}

pub(crate) async fn a_question_and_its_line_are_stored_together_and_once<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let stream = SessionId::from_bits(77);
    let line = |line| vec![NewEntry { line: Some(line), ..asks(&agent, 1) }];
    let first = store.ask_in(agent.asks(1, plain()), &stream, line(1)).await.unwrap();
    assert!(matches!(first, Asked::New(_)), "{first:?}");
    reply(&**store, &question_id(1), &["JWT"]).await;
    // Heard again after a crash: nothing is asked or told twice.
    let again = store.ask_in(agent.asks(1, plain()), &stream, line(1)).await.unwrap();
    let Asked::Known(known) = again else { panic!("{again:?}") };
    assert_eq!(known, stored(&**store, &question_id(1)).await);
    assert_eq!(read(&**store, &stream).await, [(1, None), (2, None)]);
    assert_eq!(last(&**store, &stream).await.voice, RESOLVED);
}

/// Both are given at once, so that they share a commit.
pub(crate) async fn the_end_is_told_where_a_question_was_asked_at_the_last_moment<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let (stream, other) = (SessionId::from_bits(77), SessionId::from_bits(78));
    for n in 1..=20 {
        store.ask_in(agent.asks(n, plain()), &stream, vec![asks(&agent, n)]).await.unwrap();
        let (chain, id) = (Chain::default(), question_id(n));
        let again = chain.with(store.append(&other, vec![asks(&agent, n)]));
        let (again, _) = tokio::join!(again, chain.with(reply(&**store, &id, &["JWT"])));
        again.unwrap();
        for transcript in [&stream, &other] {
            assert_eq!(last(&**store, transcript).await.voice, RESOLVED, "{n}");
        }
    }
}

pub(crate) async fn sessions_that_share_a_transcript_are_read_apart<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (stream, other) = (SessionId::from_bits(1), SessionId::from_bits(2));
    let about = |session: &SessionId, text| NewEntry { about: Some(session.clone()), ..said(None, text) };
    let words = vec![about(&stream, "a"), about(&other, "b"), about(&stream, "c"), about(&other, "d")];
    store.append(&stream, words).await.unwrap();
    let page = store.entries_after(&stream, Some(&other), 0).await.unwrap();
    assert_eq!(
        page,
        TranscriptPage { entries: vec![kept(2, "b"), kept(4, "d")], trimmed_through: 0, newest: 4 }
    );
    let page = store.entries_after(&stream, Some(&stream), 1).await.unwrap();
    assert_eq!(page.entries, [kept(3, "c")]);
}
