//! The log: a cursor over what is stored; nothing is lost and nothing repeats.

use std::sync::Arc;

use askd_core::delivery::DeliveryInput;
use askd_core::{Cause, Seq};
use askd_store::{Deliveries, EventLog, LOG_PAGE, LOG_PAGE_BYTES, LoggedEvent, Sessions};

use super::props::*;
use super::stage::Stage;

pub(crate) async fn events_read_the_same_from_memory_and_from_the_store<S: Stage>() {
    let mut stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    // Numbers, escapes and every optional part: what was written must be what is read.
    let form = ask_of(
        r#"{"kind":"form","questions":[
            {"question":"How much? \"é\u0000\u2028\n\\","input":"number","bounds":{"minimum":-1.7976931348623157e308,"maximum":1.2159970956985807e201}},
            {"question":"?","input":"number","bounds":{"minimum":-5.513821205002998e-278,"maximum":9007199254740993}},
            {"question":"Token?","secret":true,"required":true}],
            "context":{"cwd":"/w","title":"t","excerpt":"e","host":"h"},"tool":{"callId":"c","messageId":"m"},
            "deadline":"2027-01-15T09:00:00.001Z"}"#,
    );
    for n in 1..=3 {
        ask(&**store, agent.asks(n, form.clone())).await;
    }
    resolve(&**store, &question_id(1), decline(Some("no"))).await;
    reply(&**store, &question_id(2), &["1", "2", "s3cret"]).await;
    claim(&**store, &agent.source, 100).await;
    store.step(&question_id(1), DeliveryInput::Written, at(150)).await.unwrap();
    resolve(&**store, &question_id(1), elsewhere(&["1", "2", "3"])).await;
    store.step(&question_id(2), DeliveryInput::Confirmed, at(160)).await.unwrap();
    let cause =
        Cause::AgentExited { code: None, signal: Some(9), stderr: vec!["a\"b".to_owned()], resume: None };
    store.end_session(&agent.session, cause, at(300)).await.unwrap();
    let from_memory = events(&**store, 0).await;
    assert_eq!(from_memory.len(), 1 + 3 + 2 + 1 + 2 + 2);
    stage.reopen().await;
    assert_eq!(events(&**stage.store(), 0).await, from_memory);
    // From the middle too.
    assert_eq!(events(&**stage.store(), from_memory[4].seq).await, from_memory[5..]);
    assert!(stage.store().events_after(from_memory[10].seq).await.unwrap().is_empty());
}

/// Follows the log from `cursor` until it has seen `last`, as a stream does.
async fn follow(store: &impl EventLog, mut cursor: Seq, last: Seq) -> Vec<Arc<LoggedEvent>> {
    let mut news = store.watch();
    let mut seen = Vec::new();
    while cursor < last {
        let page = store.events_after(cursor).await.unwrap();
        let before_the_last: usize = page.iter().rev().skip(1).map(|event| event.json.len()).sum();
        assert!(page.len() <= LOG_PAGE && before_the_last < LOG_PAGE_BYTES);
        match page.last() {
            Some(event) => cursor = event.seq,
            None => drop(news.wait_for(|newest| *newest > cursor).await.unwrap()),
        }
        seen.extend(page);
    }
    seen
}

pub(crate) async fn no_event_is_lost_or_repeated_while_writers_run<S: Stage>() {
    const WRITERS: u128 = 48;
    const QUESTIONS: u128 = 110;
    let mut stage = S::fresh().await;
    let store = stage.store();
    let last = (WRITERS * QUESTIONS) as Seq;
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let store = Arc::clone(store);
            tokio::spawn(async move { follow(&*store, 0, last).await })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for n in 0..QUESTIONS {
                    ask(&*store, by_api(writer * QUESTIONS + n, plain())).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    // This one starts at the beginning, long gone from memory, and ends in it.
    let late = follow(&**store, 0, last).await;
    let numbers: Vec<Seq> = late.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
    let mut questions: Vec<_> = late.iter().map(|event| event.question.clone().unwrap()).collect();
    questions.sort();
    assert_eq!(questions, (0..WRITERS * QUESTIONS).map(question_id).collect::<Vec<_>>());
    for reader in readers {
        assert!(reader.await.unwrap() == late, "a reader saw another log");
    }
    stage.reopen().await;
    assert!(events(&**stage.store(), 0).await == late, "the log changed by opening it again");
}

pub(crate) async fn whoever_is_told_can_read_it<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let tasks: Vec<_> = (0..32)
        .map(|n| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let asked = ask(&*store, by_api(n, plain())).await;
                assert!(store.newest() >= asked.seq);
                let page = store.events_after(asked.seq - 1).await.unwrap();
                assert_eq!(page[0].question.as_ref(), Some(&asked.id));
                assert_eq!(stored(&*store, &asked.id).await, asked);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

pub(crate) async fn the_watch_wakes_at_every_commit<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let mut news = store.watch();
    assert_eq!(*news.borrow_and_update(), store.newest());
    for n in 1..=3 {
        let asked = ask(&**store, by_api(n, plain())).await;
        assert!(news.has_changed().unwrap());
        assert_eq!(*news.borrow_and_update(), asked.seq);
        // What changes nothing wakes nobody.
        assert_eq!(store.step(&asked.id, DeliveryInput::Confirmed, at(1)).await.unwrap(), None);
        assert!(!news.has_changed().unwrap());
    }
}
