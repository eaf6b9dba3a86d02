//! Idempotency keys: a client that repeats a request gets the same answer, not a second effect.

use askd_core::Resolution;
use askd_store::{Asked, Idempotency, NewQuestion, Questions, Resolve, Resolved};

use super::props::*;
use super::stage::Stage;

fn key(token_number: u128, text: &str, request: u8) -> Option<Idempotency> {
    Some(Idempotency { token: token(token_number), key: text.to_owned(), digest: [request; 32] })
}

fn asking(n: u128, idempotency: Option<Idempotency>) -> NewQuestion {
    NewQuestion { idempotency, ..by_api(n, plain()) }
}

fn answering(n: u128, pick: &str, idempotency: Option<Idempotency>) -> Resolve {
    Resolve { idempotency, ..resolving(&question_id(n), Resolution::Answer(answer(&[pick]))) }
}

pub(crate) async fn asking_again_with_the_same_key_is_the_same_question<S: Stage>() {
    let mut stage = S::fresh().await;
    let first = ask(&**stage.store(), asking(1, key(1, "k", 1))).await;
    let again = stage.store().ask(asking(2, key(1, "k", 1))).await.unwrap();
    assert_eq!(again, Asked::Known(first.clone()));
    stage.reopen().await;
    let again = stage.store().ask(asking(3, key(1, "k", 1))).await.unwrap();
    assert_eq!(again, Asked::Known(first.clone()));
    assert_eq!(events(&**stage.store(), first.seq).await.len(), 0);
}

pub(crate) async fn answering_again_with_the_same_key_is_the_same_success<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    ask(&**store, asking(1, None)).await;
    let first = settled(store.resolve(answering(1, "JWT", key(2, "k", 1))).await.unwrap());
    let again = store.resolve(answering(1, "JWT", key(2, "k", 1))).await.unwrap();
    assert_eq!(again, Resolved::Same(first));
}

pub(crate) async fn a_key_means_one_request<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    ask(&**store, asking(1, key(1, "k", 1))).await;
    assert_eq!(store.ask(asking(2, key(1, "k", 2))).await.unwrap(), Asked::KeyReused);
    assert_eq!(store.question(&question_id(2)).await.unwrap(), None);
    let reused = store.resolve(answering(1, "JWT", key(1, "k", 2))).await.unwrap();
    assert_eq!(reused, Resolved::KeyReused);
    assert!(stored(&**store, &question_id(1)).await.is_open());
}

pub(crate) async fn a_key_belongs_to_its_token<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    ask(&**store, asking(1, key(1, "k", 1))).await;
    assert_eq!(ask(&**store, asking(2, key(2, "k", 2))).await.id, question_id(2));
    let answered = store.resolve(answering(1, "JWT", key(3, "k", 3))).await.unwrap();
    assert_eq!(settled(answered).id, question_id(1));
}

pub(crate) async fn a_key_of_another_question_is_not_a_success<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    ask(&**store, asking(1, None)).await;
    ask(&**store, asking(2, None)).await;
    settled(store.resolve(answering(1, "JWT", key(1, "k", 1))).await.unwrap());
    // The body is the same, the question is not: saying "same" would lose this answer.
    let other = store.resolve(answering(2, "JWT", key(1, "k", 1))).await.unwrap();
    assert_eq!(other, Resolved::KeyReused);
    assert!(stored(&**store, &question_id(2)).await.is_open());
}
