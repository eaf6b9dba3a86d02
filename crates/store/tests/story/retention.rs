//! Retention: everything is kept unless told otherwise, and what is under way is never touched.

use askd_core::delivery::DeliveryInput;
use askd_core::{Ask, Cause, EventType, Resolution};
use askd_store::{
    Asked, Deliveries, EventLog, Idempotency, NewEntry, NewQuestion, Order, QuestionFilter, Questions,
    Resolve, Resolved, Retention, Sessions, Transcripts,
};

use super::props::*;
use super::stage::Stage;

fn settled_before(millis: i64) -> Retention {
    Retention { settled_before: Some(at(millis)), ..Retention::default() }
}

pub(crate) async fn everything_is_kept_unless_told_otherwise<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, with_secret())).await;
    let question = settled(reply(&**store, &asked.id, &["a", "b"]).await);
    let whole = store.reveal(&asked.id, at(150)).await.unwrap();
    let log = events(&**store, 0).await;
    assert_eq!(store.prune(Retention::default()).await.unwrap(), 0);
    assert_eq!(stored(&**store, &asked.id).await, question);
    assert_eq!(store.reveal(&asked.id, at(160)).await.unwrap(), whole);
    assert_eq!(events(&**store, 0).await, log);
    assert_eq!(store.trimmed_through().await.unwrap(), 0);
}

pub(crate) async fn only_what_is_settled_and_finished_is_removed<S: Stage>() {
    let mut stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    // 1 is open, 2 queued, 3 sent, 4 confirmed, 5 of a program, 6 of a program but settled later.
    for n in 1..=4 {
        ask(&**store, agent.asks(n, plain())).await;
    }
    for n in [3, 4, 2] {
        reply(&**store, &question_id(n), &["JWT"]).await;
        if n != 2 {
            claim(&**store, &agent.source, 100).await;
            store.step(&question_id(n), DeliveryInput::Written, at(150)).await.unwrap().unwrap();
        }
    }
    store.step(&question_id(4), DeliveryInput::Confirmed, at(160)).await.unwrap().unwrap();
    for n in [5, 6] {
        ask(&**store, by_api(n, plain())).await;
    }
    reply(&**store, &question_id(5), &["JWT"]).await;
    let gone_through = store.newest();
    let late = Resolve { at: at(200), ..resolving(&question_id(6), Resolution::Answer(answer(&["JWT"]))) };
    store.resolve(late).await.unwrap();

    assert_eq!(store.prune(settled_before(100)).await.unwrap(), 0, "settled at 100, not before");
    assert_eq!(store.prune(settled_before(101)).await.unwrap(), 2);
    assert_eq!(store.trimmed_through().await.unwrap(), gone_through);
    for n in [4, 5] {
        assert_eq!(store.question(&question_id(n)).await.unwrap(), None);
        assert_eq!(reply(&**store, &question_id(n), &["JWT"]).await, Resolved::NotFound);
    }
    assert_eq!(store.question_by_native(&agent.session, "toolu_4").await.unwrap(), None);

    let newest = store.newest();
    stage.reopen().await;
    let store = stage.store();
    assert_eq!((store.newest(), store.trimmed_through().await.unwrap()), (newest, gone_through));
    let list = store.list(QuestionFilter::default(), Order::Asc, None, 10).await.unwrap();
    let kept: Vec<_> = list.questions.iter().map(|question| question.id.clone()).collect();
    assert_eq!(kept, [1, 2, 3, 6].map(question_id));
    let told: Vec<_> = happened(&**store, 0).await;
    assert_eq!(told[0].0, EventType::SessionStarted);
    assert!(told[1..].iter().all(|(_, question)| question.as_ref().is_some_and(|id| kept.contains(id))));
    assert_eq!(told.len(), 1 + 1 + 2 + 3 + 2);
    // A number is never given twice, whatever was deleted.
    assert_eq!(ask(&**store, by_api(7, plain())).await.seq, newest + 1);
    assert_eq!(store.prune(settled_before(9999)).await.unwrap(), 1);
}

pub(crate) async fn forgotten_keys_can_be_used_again<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let with_key = |n, request| {
        let idempotency = Some(Idempotency { token: token(1), key: "k".to_owned(), digest: [request; 32] });
        NewQuestion { idempotency, ..by_api(n, plain()) }
    };
    ask(&**store, with_key(1, 1)).await;
    let keys_before = |millis| Retention { keys_before: Some(at(millis)), ..Retention::default() };
    store.prune(keys_before(0)).await.unwrap();
    assert_eq!(store.ask(with_key(2, 2)).await.unwrap(), Asked::KeyReused);
    store.prune(keys_before(1)).await.unwrap();
    assert_eq!(store.ask(with_key(2, 2)).await.unwrap(), Asked::KeyReused, "its question is open");
    // Answered at 100: the asker may not know it yet.
    settled(reply(&**store, &question_id(1), &["JWT"]).await);
    store.prune(keys_before(100)).await.unwrap();
    assert_eq!(store.ask(with_key(2, 2)).await.unwrap(), Asked::KeyReused, "its question has just ended");
    store.prune(keys_before(101)).await.unwrap();
    assert_eq!(ask(&**store, with_key(3, 2)).await.id, question_id(3));
}

pub(crate) async fn sources_that_came_and_went_are_forgotten<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    // One that lives, one with a session, one that came and went.
    for n in 1..=3 {
        store.add_source(source_record(n)).await.unwrap();
    }
    let ids: Vec<_> = (1..=3).map(|n| source_record(n).source.id).collect();
    store.see_session(session_seen(2, &ids[1])).await.unwrap();
    for id in &ids[1..] {
        let cause = Cause::SourceLost { detail: None };
        store.end_source(id, cause, at(10), None).await.unwrap();
    }
    let known = async || {
        let sources = store.sources().await.unwrap();
        let mut ids: Vec<_> = sources.into_iter().map(|record| record.source.id).collect();
        ids.sort_unstable();
        ids
    };
    let ended_before = |millis| Retention { sources_ended_before: Some(at(millis)), ..Retention::default() };
    store.prune(ended_before(10)).await.unwrap();
    assert_eq!(known().await, ids);
    store.prune(ended_before(11)).await.unwrap();
    assert_eq!(known().await, ids[..2]);
}

pub(crate) async fn sessions_that_ended_long_ago_go_with_their_words<S: Stage>() {
    let mut stage = S::fresh().await;
    let store = stage.store();
    // 1 lives, 2 ended with an open question's answer still kept, 3 ended and is old, 4 ended later.
    for n in 1..=4 {
        store.add_source(source_record(n)).await.unwrap();
    }
    let sources: Vec<_> = (1..=4).map(|n| source_record(n).source.id).collect();
    let mut sessions = Vec::new();
    for (n, source) in (1..).zip(&sources) {
        let session = store.see_session(session_seen(n, source)).await.unwrap().id;
        store.append(&session, vec![NewEntry::new(at(5), "agent")]).await.unwrap();
        sessions.push(session);
    }
    let of_session =
        NewQuestion { ask: Ask { session_id: Some(sessions[1].clone()), ..plain() }, ..by_api(1, plain()) };
    ask(&**store, of_session).await;
    for (session, ended) in [(1, 10), (2, 10), (3, 20)] {
        let cause = Cause::SourceLost { detail: None };
        store.end_source(&sources[session], cause, at(ended), None).await.unwrap();
    }
    // Its question was settled at 10 with the session.
    let through = store.newest();
    store.prune(settled_before(10)).await.unwrap();
    assert_eq!(store.sessions(None, 9).await.unwrap().len(), 4, "ended at 10, not before");
    let retention = Retention { sources_ended_before: Some(at(11)), ..settled_before(11) };
    store.prune(retention).await.unwrap();
    store.prune(retention).await.unwrap();
    let kept: Vec<_> = store.sessions(None, 9).await.unwrap().into_iter().map(|session| session.id).collect();
    assert_eq!(kept, [sessions[3].clone(), sessions[0].clone()]);
    for (n, session) in sessions.iter().enumerate() {
        let page = store.entries_after(session, None, 0).await.unwrap();
        assert_eq!(page.entries.len(), usize::from(n == 0 || n == 3), "{n}");
    }
    let left: Vec<_> = store.sources().await.unwrap().into_iter().map(|record| record.source.id).collect();
    assert_eq!(left, [sources[3].clone(), sources[0].clone()]);
    stage.reopen().await;
    let store = stage.store();
    let told = store.events_after(0).await.unwrap();
    assert_eq!(told.len(), 3, "two began, one ended");
    assert!(told.iter().all(|event| event.session.as_ref().is_some_and(|session| kept.contains(session))));
    assert!(store.trimmed_through().await.unwrap() <= through);
    assert_eq!(store.newest(), through);
}
