//! Deliveries: the outbox. Stored with the outcome, claimed once, never lost with a worker.

use std::collections::BTreeSet;
use std::sync::Arc;

use askd_core::delivery::{Delivery, DeliveryError, DeliveryInput, DeliveryState, FailReason, Redeliver};
use askd_core::{Cause, EventType, Question, RejectMode, Resolution, Settlement};
use askd_store::{Claim, ClaimedDelivery, Deliveries, Questions, Resolved, Store};

use super::props::*;
use super::stage::Stage;

/// Question `n` of `agent`, answered with `JWT`.
async fn answered(store: &impl Store, agent: &Agent, n: u128) -> Question {
    let asked = ask(store, agent.asks(n, plain())).await;
    settled(reply(store, &asked.id, &["JWT"]).await)
}

async fn step(
    store: &impl Store,
    question: &Question,
    input: DeliveryInput,
    millis: i64,
) -> Option<Question> {
    store.step(&question.id, input, at(millis)).await.unwrap()
}

fn failed(reason: FailReason, detail: Option<&str>, attempts: u32, millis: i64) -> Option<Delivery> {
    let error = Some(DeliveryError { reason, detail: detail.map(str::to_owned) });
    Some(Delivery { state: DeliveryState::Failed, attempts, error, at: at(millis) })
}

pub(crate) async fn an_answer_to_an_agent_is_queued_with_it<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = answered(&**store, &agent, 1).await;
    assert_eq!(question.delivery, Some(Delivery::queued(at(100))));
    assert_eq!(stored(&**store, &question.id).await, question);
    assert_eq!(reply(&**store, &question.id, &["JWT"]).await, Resolved::Same(question.clone()));

    let claimed = claim(&**store, &agent.source, 100).await;
    let wanted = ClaimedDelivery {
        id: claimed[0].id.clone(),
        source: agent.source.clone(),
        question: Question {
            delivery: Some(Delivery { attempts: 1, ..Delivery::queued(at(100)) }),
            ..question.clone()
        },
        native_id: "toolu_1".to_owned(),
        native: "{\"id\": 1,  \"spaces\":\t\"kept ü\"}".to_owned(),
        settlement: Settlement::Answered(answer(&["JWT"])),
    };
    assert_eq!(stored(&**store, &question.id).await, wanted.question);
    assert_eq!(claimed, [wanted]);
}

pub(crate) async fn a_program_reads_its_outcome_itself<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    ask(&**store, by_api(1, plain())).await;
    let question = settled(reply(&**store, &question_id(1), &["JWT"]).await);
    assert_eq!(question.delivery, None);
    assert_eq!(claim(&**store, &agent.source, 9999).await, []);
}

pub(crate) async fn a_rejection_is_delivered_too<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, plain())).await;
    settled(resolve(&**store, &asked.id, decline(Some("no"))).await);
    let claimed = claim(&**store, &agent.source, 100).await;
    let wanted = Settlement::Rejected { mode: RejectMode::Decline, reason: Some("no".to_owned()) };
    assert_eq!(claimed[0].settlement, wanted);
}

pub(crate) async fn a_cancelled_question_has_nothing_to_deliver<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    for (n, end) in (1..).zip([
        Resolution::Cancel(Cause::AgentWithdrew { detail: None }),
        Resolution::Cancel(Cause::TurnAborted { detail: None }),
        Resolution::Expire,
    ]) {
        let asked = ask(&**store, agent.asks(n, plain())).await;
        assert_eq!(settled(resolve(&**store, &asked.id, end).await).delivery, None);
    }
    assert_eq!(claim(&**store, &agent.source, 9999).await, []);
}

pub(crate) async fn each_delivery_is_claimed_once<S: Stage>() {
    const DELIVERIES: u128 = 40;
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    for n in 0..DELIVERIES {
        answered(&**store, &agent, n).await;
    }
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let (store, source) = (Arc::clone(store), agent.source.clone());
            tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let wanted = Claim { limit: 3, ..claim_of(&format!("hub-{worker}"), &[&source], 200) };
                    let claimed = store.claim(wanted).await.unwrap();
                    assert!(claimed.len() <= 3);
                    if claimed.is_empty() {
                        return taken;
                    }
                    taken.extend(claimed.into_iter().map(|delivery| delivery.question.id));
                }
            })
        })
        .collect();
    let mut taken = Vec::new();
    for worker in workers {
        taken.extend(worker.await.unwrap());
    }
    assert_eq!(taken.len() as u128, DELIVERIES);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), (0..DELIVERIES).map(question_id).collect());
}

pub(crate) async fn a_source_named_twice_is_claimed_once<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    answered(&**store, &agent, 1).await;
    let claimed = store.claim(claim_of("hub-1", &[&agent.source, &agent.source], 100)).await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!(delivery(&**store, &question_id(1)).await.attempts, 1);
}

pub(crate) async fn only_the_wanted_sources_are_claimed_oldest_first<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (first, second) = (agent(&**store, 1).await, agent(&**store, 2).await);
    answered(&**store, &first, 3).await;
    answered(&**store, &second, 2).await;
    answered(&**store, &first, 1).await;
    let ids = |claimed: Vec<ClaimedDelivery>| -> Vec<_> {
        claimed.into_iter().map(|delivery| delivery.question.id).collect()
    };
    assert_eq!(ids(store.claim(claim_of("hub-1", &[], 100)).await.unwrap()), []);
    let one = Claim { limit: 1, ..claim_of("hub-1", &[&first.source], 100) };
    assert_eq!(ids(store.claim(one).await.unwrap()), [question_id(3)]);
    assert_eq!(ids(claim(&**store, &first.source, 100).await), [question_id(1)]);
    assert_eq!(ids(claim(&**store, &second.source, 100).await), [question_id(2)]);
}

pub(crate) async fn an_outcome_can_be_claimed_as_it_is_stored<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, plain())).await;
    let holder = askd_store::ClaimHolder { owner: "hub-1".to_owned(), until: at(1100) };
    let resolve = askd_store::Resolve {
        claim: Some(holder),
        ..resolving(&asked.id, Resolution::Answer(answer(&["JWT"])))
    };
    let question = settled(store.resolve(resolve).await.unwrap());
    assert_eq!(question.delivery.as_ref().unwrap().attempts, 1);
    assert_eq!(claim(&**store, &agent.source, 9999).await, [], "it is taken");
    let delivery = store.delivery(&asked.id).await.unwrap().unwrap();
    assert_eq!(
        store.queued(&agent.source).await.unwrap(),
        std::slice::from_ref(&delivery),
        "a restarted hub finds it"
    );
    assert_eq!((delivery.question, delivery.settlement), (question, Settlement::Answered(answer(&["JWT"]))));
    let lost = store.lost_claims("hub-2", &[]).await.unwrap();
    assert_eq!(lost.iter().map(|delivery| &delivery.question.id).collect::<Vec<_>>(), [&asked.id]);
}

pub(crate) async fn claims_of_a_lost_worker_are_found<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    answered(&**store, &agent, 1).await;
    answered(&**store, &agent, 2).await;
    assert_eq!(store.lost_claims("hub-2", &[]).await.unwrap(), [], "nobody has claimed yet");
    let claimed = claim(&**store, &agent.source, 100).await;
    let held: Vec<_> = claimed.iter().map(|delivery| delivery.question.id.clone()).collect();
    assert_eq!(store.lost_claims("hub-1", &held).await.unwrap(), []);
    assert_eq!(store.lost_claims("hub-1", &held[..1]).await.unwrap(), claimed[1..]);
    assert_eq!(store.lost_claims("hub-1", &[]).await.unwrap(), claimed, "no task of its own holds them");
    assert_eq!(store.lost_claims("hub-2", &held).await.unwrap(), claimed, "another hub held them");
    assert_eq!(
        claim(&**store, &agent.source, 9999).await,
        [],
        "a lost claim is judged before it is repeated"
    );
    step(&**store, &claimed[0].question, DeliveryInput::Written, 200).await.unwrap();
    assert_eq!(store.lost_claims("hub-2", &[]).await.unwrap(), claimed[1..]);
}

pub(crate) async fn the_next_delivery_is_known<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let (agent, other) = (agent(&**store, 1).await, agent(&**store, 2).await);
    let sources = [agent.source.clone(), other.source.clone()];
    assert_eq!(store.next_delivery(&sources).await.unwrap(), None);
    answered(&**store, &agent, 1).await;
    assert_eq!(store.next_delivery(&sources).await.unwrap(), Some(at(100)), "at once");
    assert_eq!(store.next_delivery(&sources[1..]).await.unwrap(), None, "of another source");
    let claimed = claim(&**store, &agent.source, 100).await.remove(0).question;
    assert_eq!(store.next_delivery(&sources).await.unwrap(), Some(at(1100)), "when the claim is over");
    let not_written = DeliveryInput::NotWritten { detail: "busy".to_owned() };
    let waiting = step(&**store, &claimed, not_written, 200).await.unwrap().delivery.unwrap();
    assert_eq!(store.next_delivery(&sources).await.unwrap(), Some(at(200 + waiting.retry_pause())));
    claim(&**store, &agent.source, 9999).await;
    step(&**store, &claimed, DeliveryInput::Written, 9999).await.unwrap();
    assert_eq!(store.next_delivery(&sources).await.unwrap(), None, "it is written");
}

pub(crate) async fn a_lost_claim_goes_back_to_the_queue_where_that_is_safe<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let lost = |redeliver, written| DeliveryInput::ClaimLost { redeliver, written };
    for n in 1..=3 {
        answered(&**store, &agent, n).await;
    }
    let claimed = claim(&**store, &agent.source, 100).await;
    let queued = step(&**store, &claimed[0].question, lost(Redeliver::Safe, None), 300).await.unwrap();
    assert_eq!(queued.delivery, Some(Delivery { attempts: 1, ..Delivery::queued(at(300)) }));
    let sent = step(&**store, &claimed[1].question, lost(Redeliver::Probe, Some(true)), 300).await.unwrap();
    assert_eq!(sent.delivery.unwrap().state, DeliveryState::Sent);
    let unknown = step(&**store, &claimed[2].question, lost(Redeliver::Never, None), 300).await.unwrap();
    assert_eq!(unknown.delivery.unwrap().error.unwrap().reason, FailReason::Unknown);
    assert_eq!(store.lost_claims("hub-2", &[]).await.unwrap(), []);
    let again = claim(&**store, &agent.source, 300).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].question.id, question_id(1));
    assert_eq!(again[0].question.delivery.as_ref().unwrap().attempts, 2);
}

pub(crate) async fn what_was_not_written_comes_back_after_a_pause<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = answered(&**store, &agent, 1).await;
    let mut now = 1000;
    let mut pauses = Vec::new();
    for _ in 0..10 {
        assert_eq!(claim(&**store, &agent.source, now).await.len(), 1);
        let not_written = DeliveryInput::NotWritten { detail: "busy".to_owned() };
        let waiting = step(&**store, &question, not_written, now).await.unwrap().delivery.unwrap();
        assert_eq!(waiting.state, DeliveryState::Queued);
        assert_eq!(waiting.error.unwrap().detail.as_deref(), Some("busy"));
        assert_eq!(store.lost_claims("hub-2", &[]).await.unwrap(), []);
        // Exactly when it comes back, to the millisecond.
        let pause = [250, 500, 1000, 2000, 4000, 8000, 16000, 30000]
            .into_iter()
            .find(|pause| *pause > pauses.last().copied().unwrap_or(0))
            .unwrap_or(30000);
        assert_eq!(claim(&**store, &agent.source, now + pause - 1).await, []);
        pauses.push(pause);
        now += pause;
    }
    assert_eq!(claim(&**store, &agent.source, now).await.len(), 1);
    assert_eq!(delivery(&**store, &question.id).await.attempts, 11);
    let sent = step(&**store, &question, DeliveryInput::Written, now).await.unwrap().delivery.unwrap();
    assert_eq!((sent.state, sent.error), (DeliveryState::Sent, None));
}

pub(crate) async fn written_and_confirmed_are_two_facts<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = answered(&**store, &agent, 1).await;
    let before = events(&**store, 0).await.last().unwrap().seq;
    let claimed = claim(&**store, &agent.source, 100).await;
    assert_eq!(store.awaiting_evidence(&agent.source).await.unwrap(), []);

    let sent = step(&**store, &question, DeliveryInput::Written, 200).await.unwrap();
    let state = |state, millis| Some(Delivery { state, attempts: 1, error: None, at: at(millis) });
    assert_eq!(sent, Question { delivery: state(DeliveryState::Sent, 200), ..question.clone() });
    let waiting = ClaimedDelivery { question: sent.clone(), ..claimed[0].clone() };
    assert_eq!(store.awaiting_evidence(&agent.source).await.unwrap(), [waiting]);
    assert_eq!(step(&**store, &question, DeliveryInput::Written, 201).await, None);

    let confirmed = step(&**store, &question, DeliveryInput::Confirmed, 300).await.unwrap();
    assert_eq!(confirmed, Question { delivery: state(DeliveryState::Confirmed, 300), ..question.clone() });
    assert_eq!(stored(&**store, &question.id).await, confirmed);
    assert_eq!(step(&**store, &question, DeliveryInput::Confirmed, 301).await, None);
    assert_eq!(store.awaiting_evidence(&agent.source).await.unwrap(), []);

    let told = [EventType::QuestionUpdated, EventType::QuestionDelivered];
    assert_eq!(happened(&**store, before).await, told.map(|kind| (kind, Some(question.id.clone()))));
}

pub(crate) async fn a_refused_delivery_fails_with_its_reason<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = answered(&**store, &agent, 1).await;
    claim(&**store, &agent.source, 100).await;
    let refused =
        DeliveryInput::Failed { reason: FailReason::Refused, detail: Some("400 no such call".to_owned()) };
    let wanted = Question {
        delivery: failed(FailReason::Refused, Some("400 no such call"), 1, 200),
        ..question.clone()
    };
    let before = events(&**store, 0).await.last().unwrap().seq;
    assert_eq!(step(&**store, &question, refused, 200).await, Some(wanted.clone()));
    assert_eq!(stored(&**store, &question.id).await, wanted);
    assert_eq!(happened(&**store, before).await, [(EventType::QuestionDelivered, Some(question.id))]);
    assert_eq!(claim(&**store, &agent.source, 99_999).await, []);
}

pub(crate) async fn what_was_decided_by_nobody_is_opened_again<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = answered(&**store, &agent, 1).await;
    let first = claim(&**store, &agent.source, 100).await.remove(0);
    let undecided = || DeliveryInput::Undecided { detail: "no dialog".to_owned() };
    let before = events(&**store, 0).await.last().unwrap().seq;
    let open = store.step_claimed(&first, undecided(), at(200)).await.unwrap().unwrap();
    assert_eq!(happened(&**store, before).await, [(EventType::QuestionUpdated, Some(question.id.clone()))]);
    assert!(open.is_open() && open.outcome.is_none() && open.delivery.is_none(), "{open:?}");
    assert_eq!(open.failed_tries.len(), 1);
    assert_eq!(open.failed_tries[0].outcome, question.outcome.clone().unwrap());
    assert_eq!(
        Some(open.failed_tries[0].delivery.clone()),
        failed(FailReason::Refused, Some("no dialog"), 1, 200)
    );
    assert_eq!(stored(&**store, &question.id).await, open);
    assert_eq!(store.open_of_source(&agent.source).await.unwrap().len(), 1);
    // The worker of the first try changes nothing any more.
    for late in [DeliveryInput::Written, DeliveryInput::Confirmed, undecided()] {
        assert_eq!(store.step_claimed(&first, late, at(250)).await.unwrap(), None);
    }
    // The second answer has a delivery of its own, and the receipts of the first one are not its.
    let second = settled(reply(&**store, &question.id, &["Session"]).await);
    assert_eq!(second.failed_tries, open.failed_tries);
    let claimed = claim(&**store, &agent.source, 300).await.remove(0);
    assert_ne!(claimed.id, first.id);
    assert_eq!(claimed.settlement, Settlement::Answered(answer(&["Session"])));
    for late in [DeliveryInput::Written, DeliveryInput::Confirmed, undecided()] {
        assert_eq!(store.step_claimed(&first, late, at(350)).await.unwrap(), None);
    }
    let sent = store.step_claimed(&claimed, DeliveryInput::Written, at(400)).await.unwrap().unwrap();
    assert_eq!(sent.delivery.unwrap().state, DeliveryState::Sent);
    assert_eq!(
        reply(&**store, &question.id, &["JWT"]).await,
        Resolved::Conflict(stored(&**store, &question.id).await)
    );
}

pub(crate) async fn what_was_written_or_is_over_is_not_opened_again<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let undecided = || DeliveryInput::Undecided { detail: "no dialog".to_owned() };
    let question = answered(&**store, &agent, 1).await;
    claim(&**store, &agent.source, 100).await;
    step(&**store, &question, DeliveryInput::Written, 150).await.unwrap();
    assert_eq!(step(&**store, &question, undecided(), 200).await, None);
    step(&**store, &question, DeliveryInput::Confirmed, 250).await.unwrap();
    assert_eq!(step(&**store, &question, undecided(), 300).await, None);
    let open = ask(&**store, agent.asks(2, plain())).await;
    assert_eq!(step(&**store, &open, undecided(), 300).await, None);
}

pub(crate) async fn a_gone_agent_leaves_the_truth_about_its_answer<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let gone = || DeliveryInput::AgentGone { detail: Some("exit 1".to_owned()) };
    let unwritten = answered(&**store, &agent, 1).await;
    let end = step(&**store, &unwritten, gone(), 200).await.unwrap();
    assert_eq!(end.delivery, failed(FailReason::AgentGone, Some("exit 1"), 0, 200));
    let written = answered(&**store, &agent, 2).await;
    claim(&**store, &agent.source, 100).await;
    step(&**store, &written, DeliveryInput::Written, 150).await.unwrap();
    let end = step(&**store, &written, gone(), 200).await.unwrap();
    assert_eq!(end.delivery, failed(FailReason::Unconfirmed, Some("exit 1"), 1, 200));
    assert_eq!(step(&**store, &written, gone(), 300).await, None);
    // The worker may have written it before the end, and the agent's last words may still show it.
    let claimed = answered(&**store, &agent, 3).await;
    let worker = claim(&**store, &agent.source, 400).await.remove(0);
    let end = step(&**store, &claimed, gone(), 450).await.unwrap();
    assert_eq!(end.delivery, failed(FailReason::Unconfirmed, Some("exit 1"), 1, 450));
    assert_eq!(store.step_claimed(&worker, DeliveryInput::Written, at(451)).await.unwrap(), None);
    let seen = step(&**store, &claimed, DeliveryInput::Confirmed, 460).await.unwrap();
    assert_eq!(seen.delivery.unwrap().state, DeliveryState::Confirmed);
}

pub(crate) async fn steps_of_what_is_not_there_change_nothing<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let open = ask(&**store, by_api(1, plain())).await;
    let newest = events(&**store, 0).await.len();
    for id in [open.id, question_id(404)] {
        assert_eq!(store.step(&id, DeliveryInput::Confirmed, at(1)).await.unwrap(), None);
    }
    assert_eq!(events(&**store, 0).await.len(), newest);
    assert_eq!(store.question(&question_id(404)).await.unwrap(), None);
}
