//! Answers: the first one wins, the same one again is the same success, another one is told which won.

use std::sync::Arc;

use askd_core::outcome::Outcome;
use askd_core::{Answer, Cause, EventType, ItemAnswer, Question, RejectMode, Resolution, Status};
use askd_store::{Questions, Resolved};

use super::props::*;
use super::stage::Stage;

pub(crate) async fn answer_given_twice_keeps_the_first<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, plain())).await;
    let first = settled(reply(&**store, &asked.id, &["JWT"]).await);
    let wanted = Question {
        status: Status::Answered,
        outcome: Some(Outcome::answered(&answer(&["JWT"]), &asked.ask.questions, person(), at(100))),
        ..asked.clone()
    };
    assert_eq!(first, wanted);
    let again = askd_store::Resolve {
        at: at(900),
        by: askd_core::By { actor: Some("phone".to_owned()), ..person() },
        ..resolving(&asked.id, Resolution::Answer(answer(&["JWT"])))
    };
    assert_eq!(store.resolve(again).await.unwrap(), Resolved::Same(first.clone()));
    assert_eq!(stored(&**store, &asked.id).await, first);
    let told = [(EventType::QuestionResolved, Some(asked.id.clone()))];
    assert_eq!(happened(&**store, asked.seq).await, told);
}

pub(crate) async fn a_different_answer_conflicts_and_shows_the_winner<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, plain())).await;
    let first = settled(reply(&**store, &asked.id, &["JWT"]).await);
    let mut others = vec![
        Resolution::Answer(answer(&["Session"])),
        Resolution::Answer(answer(&[])),
        decline(None),
        Resolution::Cancel(Cause::AskerWithdrew { reason: None }),
    ];
    let joined = Answer { answers: vec![ItemAnswer::words(["J", "WT"])], ..answer(&["JWT"]) };
    others.push(Resolution::Answer(joined));
    for other in others {
        assert_eq!(resolve(&**store, &asked.id, other).await, Resolved::Conflict(first.clone()));
    }
    assert_eq!(stored(&**store, &asked.id).await, first);
    assert_eq!(happened(&**store, asked.seq).await.len(), 1);
}

pub(crate) async fn a_note_makes_it_another_answer<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, plain())).await;
    let noted = Answer { notes: vec![Some("for now".to_owned())], ..answer(&["JWT"]) };
    let first = settled(resolve(&**store, &asked.id, Resolution::Answer(noted.clone())).await);
    assert_eq!(reply(&**store, &asked.id, &["JWT"]).await, Resolved::Conflict(first.clone()));
    let again = resolve(&**store, &asked.id, Resolution::Answer(noted)).await;
    assert_eq!(again, Resolved::Same(first));
}

pub(crate) async fn reject_given_twice_is_the_same_success<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, plain())).await;
    let first = settled(resolve(&**store, &asked.id, decline(Some("not now"))).await);
    let outcome = Outcome::rejected(RejectMode::Decline, Some("not now".to_owned()), person(), at(100));
    assert_eq!(first, Question { status: Status::Rejected, outcome: Some(outcome), ..asked.clone() });
    let again = resolve(&**store, &asked.id, decline(Some("not now"))).await;
    assert_eq!(again, Resolved::Same(first.clone()));
    let interrupt = Resolution::Reject { mode: RejectMode::Interrupt, reason: None };
    for other in [decline(None), interrupt, Resolution::Answer(answer(&["JWT"]))] {
        assert_eq!(resolve(&**store, &asked.id, other).await, Resolved::Conflict(first.clone()));
    }
}

pub(crate) async fn the_asker_may_withdraw<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, plain())).await;
    let withdraw =
        |reason: Option<&str>| Resolution::Cancel(Cause::AskerWithdrew { reason: reason.map(str::to_owned) });
    let first = settled(resolve(&**store, &asked.id, withdraw(Some("found it"))).await);
    let cause = Cause::AskerWithdrew { reason: Some("found it".to_owned()) };
    let outcome = Some(Outcome::cancelled(cause, person(), at(100)));
    assert_eq!(first, Question { status: Status::Cancelled, outcome, ..asked.clone() });
    assert_eq!(resolve(&**store, &asked.id, withdraw(None)).await, Resolved::Same(first.clone()));
    assert_eq!(reply(&**store, &asked.id, &["JWT"]).await, Resolved::Conflict(first));
}

pub(crate) async fn a_late_cancel_changes_nothing<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, plain())).await;
    let first = settled(reply(&**store, &asked.id, &["JWT"]).await);
    let newest = events(&**store, 0).await.len();
    for late in [Resolution::Cancel(Cause::TurnAborted { detail: None }), Resolution::Expire] {
        assert_eq!(resolve(&**store, &asked.id, late).await, Resolved::Noted(first.clone()));
    }
    assert_eq!(events(&**store, 0).await.len(), newest);
}

pub(crate) async fn of_64_different_answers_at_once_exactly_one_wins<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, plain())).await;
    let people: Vec<_> = (0..64)
        .map(|n| {
            let (store, id) = (Arc::clone(store), asked.id.clone());
            tokio::spawn(async move { reply(&*store, &id, &[&format!("answer {n}")]).await })
        })
        .collect();
    let (mut winners, mut losers) = (Vec::new(), Vec::new());
    for person in people {
        match person.await.unwrap() {
            Resolved::Settled(question, _) => winners.push(question),
            Resolved::Conflict(question) => losers.push(question),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((winners.len(), losers.len()), (1, 63));
    assert!(losers.iter().all(|told| *told == winners[0]));
    assert_eq!(stored(&**store, &asked.id).await, winners[0]);
    assert_eq!(happened(&**store, asked.seq).await, [(EventType::QuestionResolved, Some(asked.id))]);
    assert_eq!(claim(&**store, &agent.source, 200).await.len(), 1);
}

pub(crate) async fn the_answer_of_an_edited_plan_is_kept_whole<S: Stage>() {
    let mut stage = S::fresh().await;
    let plan = ask_of(
        r##"{"kind":"plan","questions":[{"question":"Right?"}],"nextModes":["auto"],"body":{"format":"markdown","text":"# Plan"}}"##,
    );
    let asked = ask(&**stage.store(), by_api(1, plan)).await;
    let edited = Answer {
        edited_plan: Some("# Better\n".to_owned()),
        next_mode: Some("auto".to_owned()),
        ..answer(&["approve"])
    };
    let first = settled(resolve(&**stage.store(), &asked.id, Resolution::Answer(edited.clone())).await);
    stage.reopen().await;
    assert_eq!(stored(&**stage.store(), &asked.id).await, first);
    let again = resolve(&**stage.store(), &asked.id, Resolution::Answer(edited)).await;
    assert_eq!(again, Resolved::Same(first.clone()));
    assert_eq!(reply(&**stage.store(), &asked.id, &["approve"]).await, Resolved::Conflict(first));
}
