//! Sightings: every name by which a session knows a question leads to one question.

use std::collections::BTreeSet;
use std::sync::Arc;

use askd_store::{Asked, NewQuestion, Questions};

use super::props::*;
use super::stage::Stage;

pub(crate) async fn a_second_sighting_is_the_same_question<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (first, second) = (agent(&**store, 1).await, agent(&**store, 2).await);
    let question = ask(&**store, first.asks(1, plain())).await;
    let newest = events(&**store, 0).await.len();
    let again = NewQuestion { id: question_id(99), at: at(50), ..first.asks(1, plain()) };
    assert_eq!(store.ask(again.clone()).await.unwrap(), Asked::Known(question.clone()));
    let answered = settled(reply(&**store, &question.id, &["JWT"]).await);
    assert_eq!(store.ask(again).await.unwrap(), Asked::Known(answered));
    assert_eq!(events(&**store, 0).await.len(), newest + 1);
    // The same name in another session is another question.
    let other = NewQuestion { id: question_id(2), ..second.asks(1, plain()) };
    assert_eq!(ask(&**store, other).await.id, question_id(2));
}

pub(crate) async fn another_road_joins_its_name_to_the_question<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = ask(&**store, agent.asks(1, plain())).await;
    assert!(!store.is_sighted(&question.id, "hook").await.unwrap());
    store.sight(&agent.session, "hook-7", "hook", &question.id).await.unwrap();
    assert!(store.is_sighted(&question.id, "hook").await.unwrap());
    let (unseen, seen) = (question_id(99), question.id.clone());
    let sighted = store.sighted(&[unseen, seen.clone()], "hook").await.unwrap();
    assert_eq!(sighted, [seen].into());
    store.sight(&agent.session, "hook-7", "hook", &question.id).await.unwrap();
    let kept = record(&**store, &question.id).await;
    for name in ["toolu_1", "hook-7"] {
        assert_eq!(store.question_by_native(&agent.session, name).await.unwrap(), Some(kept.clone()));
    }
    let seen_by_hook = NewQuestion { id: question_id(7), ..agent.asks(7, plain()) };
    store.sight(&agent.session, "toolu_7", "transcript", &question.id).await.unwrap();
    assert_eq!(store.ask(seen_by_hook).await.unwrap(), Asked::Known(question));
}

pub(crate) async fn a_name_that_is_known_stays_where_it_is<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let first = ask(&**store, agent.asks(1, plain())).await;
    let second = ask(&**store, agent.asks(2, plain())).await;
    store.sight(&agent.session, "toolu_1", "transcript", &second.id).await.unwrap();
    let found = store.question_by_native(&agent.session, "toolu_1").await.unwrap().unwrap();
    assert_eq!(found.question, first);
}

pub(crate) async fn a_question_seen_on_two_roads_at_once_is_stored_once<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let roads: Vec<_> = (1..=16)
        .map(|n| {
            let (store, new) = (Arc::clone(store), agent.asks(1, plain()));
            tokio::spawn(async move { store.ask(NewQuestion { id: question_id(n), ..new }).await.unwrap() })
        })
        .collect();
    let (mut new, mut ids) = (0, BTreeSet::new());
    for road in roads {
        match road.await.unwrap() {
            Asked::New(question) => {
                new += 1;
                ids.insert(question.id);
            }
            Asked::Known(question) => {
                ids.insert(question.id);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((new, ids.len()), (1, 1));
}
