//! The store as a whole: opened again, probed, closed.

use std::sync::Arc;

use askd_core::delivery::DeliveryInput;
use askd_store::{
    Asked, Deliveries, EventLog, Order, QuestionFilter, Questions, Sessions, StoreError, Tokens,
};

use super::props::*;
use super::stage::Stage;

pub(crate) async fn opening_again_keeps_everything<S: Stage>() {
    let mut stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    for n in 1..=4 {
        ask(&**store, agent.asks(n, with_secret())).await;
    }
    ask(&**store, by_api(5, plain())).await;
    for n in 2..=4 {
        reply(&**store, &question_id(n), &["root", "s3cret"]).await;
    }
    let claimed = claim(&**store, &agent.source, 100).await;
    store.step(&question_id(3), DeliveryInput::Written, at(150)).await.unwrap().unwrap();
    store.step(&question_id(4), DeliveryInput::Confirmed, at(150)).await.unwrap().unwrap();

    let list = store.list(QuestionFilter::default(), Order::Desc, None, 10).await.unwrap();
    let known = (store.identity().to_owned(), store.newest(), events(&**store, 0).await);
    let sessions = store.sessions(None, 10).await.unwrap();
    let sources = store.sources().await.unwrap();
    let waiting = store.awaiting_evidence(&agent.source).await.unwrap();
    assert!(!known.0.is_empty());
    for _ in 0..2 {
        stage.reopen().await;
        let store = stage.store();
        assert_eq!(store.list(QuestionFilter::default(), Order::Desc, None, 10).await.unwrap(), list);
        assert_eq!((store.identity().to_owned(), store.newest(), events(&**store, 0).await), known);
        assert_eq!(store.sessions(None, 10).await.unwrap(), sessions);
        assert_eq!(store.sources().await.unwrap(), sources);
        assert_eq!(store.awaiting_evidence(&agent.source).await.unwrap(), waiting);
        // What was claimed before is the restarted hub's to judge.
        assert_eq!(store.lost_claims("hub-2", &[]).await.unwrap(), claimed[..1]);
        assert_eq!(store.ask(agent.asks(1, plain())).await.unwrap(), Asked::Known(list.questions[4].clone()));
    }
    let other = S::fresh().await;
    assert_ne!(other.store().identity(), known.0, "a cursor of another store can be told");
    assert_eq!(ask(&**stage.store(), by_api(6, plain())).await.seq, known.1 + 1);
}

pub(crate) async fn a_closed_store_writes_nothing<S: Stage>() {
    let mut stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, plain())).await;
    store.close().await;
    store.close().await;
    for closed in [
        store.ask(by_api(2, plain())).await.err(),
        store.probe().await.err(),
        store.step(&asked.id, DeliveryInput::Confirmed, at(1)).await.err(),
        store.revoke_token(&token(1)).await.err(),
    ] {
        assert!(matches!(closed, Some(StoreError::Closed)), "{closed:?}");
    }
    stage.reopen().await;
    assert_eq!(stored(&**stage.store(), &asked.id).await, asked);
    assert_eq!(stage.store().newest(), asked.seq);
}

pub(crate) async fn closing_waits_for_what_is_under_way<S: Stage>() {
    let mut stage = S::fresh().await;
    let writers: Vec<_> = (0..64)
        .map(|n| {
            let store = Arc::clone(stage.store());
            tokio::spawn(async move {
                match store.ask(by_api(n, plain())).await {
                    Ok(Asked::New(question)) => Some(question),
                    Err(StoreError::Closed) => None,
                    other => panic!("{other:?}"),
                }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    stage.store().close().await;
    let newest = stage.store().newest();
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    stage.reopen().await;
    assert_eq!(stage.store().newest(), newest);
    assert_eq!(acknowledged.len() as u64, newest, "stored is acknowledged, and the other way round");
    for question in acknowledged {
        assert_eq!(stored(&**stage.store(), &question.id).await, question);
    }
}

pub(crate) async fn a_store_can_be_probed<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    for _ in 0..3 {
        store.probe().await.unwrap();
    }
    assert_eq!(store.newest(), 0);
}
