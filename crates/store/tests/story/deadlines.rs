//! Deadlines: set by the asker alone; only what is due expires.

use askd_core::outcome::Outcome;
use askd_core::{Ask, EventType, Question, Status};
use askd_store::{Expired, Questions, Resolved};

use super::props::*;
use super::stage::Stage;

fn until(deadline: i64) -> Ask {
    Ask { deadline: Some(at(deadline)), ..plain() }
}

pub(crate) async fn only_what_is_due_expires<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    assert_eq!(store.next_deadline().await.unwrap(), None);
    let late = ask(&**store, by_api(1, until(3000))).await;
    let second = ask(&**store, by_api(2, until(2000))).await;
    let first = ask(&**store, by_api(3, until(1000))).await;
    let undated = ask(&**store, by_api(4, plain())).await;
    assert_eq!(store.next_deadline().await.unwrap(), Some(at(1000)));
    assert_eq!(store.expire_due(at(999)).await.unwrap(), []);

    let end = |question: &Question| Question {
        status: Status::Expired,
        outcome: Some(Outcome::expired(at(2000))),
        ..question.clone()
    };
    // The earliest deadline first.
    let expired = |question: &Question| Expired { question: end(question), source: None };
    assert_eq!(store.expire_due(at(2000)).await.unwrap(), [expired(&first), expired(&second)]);
    assert_eq!(store.expire_due(at(2000)).await.unwrap(), []);
    assert_eq!(store.next_deadline().await.unwrap(), Some(at(3000)));
    assert_eq!(stored(&**store, &late.id).await, late);
    let told = [&first, &second].map(|question| (EventType::QuestionResolved, Some(question.id.clone())));
    assert_eq!(happened(&**store, undated.seq).await, told);
    assert_eq!(reply(&**store, &first.id, &["JWT"]).await, Resolved::Conflict(end(&first)));
}

pub(crate) async fn an_answer_past_the_deadline_finds_it_expired<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asker = agent(&**store, 1).await;
    // The clock of the deadlines has not come to it; people answer at 100.
    let asked = ask(&**store, asker.asks(1, until(100))).await;
    let late = reply(&**store, &asked.id, &["JWT"]).await;
    let question =
        Question { status: Status::Expired, outcome: Some(Outcome::expired(at(100))), ..asked.clone() };
    assert_eq!(late, Resolved::Expired(Expired { question: question.clone(), source: Some(asker.source) }));
    assert_eq!(store.expire_due(at(9999)).await.unwrap(), []);
    assert_eq!(reply(&**store, &asked.id, &["JWT"]).await, Resolved::Conflict(question));
    let in_time = ask(&**store, by_api(2, until(101))).await;
    settled(reply(&**store, &in_time.id, &["JWT"]).await);
}

pub(crate) async fn an_answer_before_the_deadline_stays<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, until(1000))).await;
    let answered = settled(reply(&**store, &asked.id, &["JWT"]).await);
    assert_eq!(store.next_deadline().await.unwrap(), None);
    assert_eq!(store.expire_due(at(9999)).await.unwrap(), []);
    assert_eq!(stored(&**store, &asked.id).await, answered);
}
