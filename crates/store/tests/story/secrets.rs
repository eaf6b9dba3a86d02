//! Secret answers: sealed where they are kept, absent from everything that is shown, forgotten once they have
//! arrived.

use askd_core::delivery::{DeliveryInput, DeliveryState, FailReason, Redeliver};
use askd_core::outcome::Outcome;
use askd_core::{Question, Resolution, Settlement, ShownAnswer};
use askd_store::{Deliveries, Questions, Resolved, Retention, SECRET_RETRY_MS, Store};

use super::props::*;
use super::stage::Stage;

const SECRET: &str = "correct-horse-battery-staple";
const OTHER: &str = "hunter2-hunter2-hunter2";

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Nothing that anybody can see, now or later, holds a secret.
async fn assert_unseen<S: Stage>(stage: &S) {
    let store = stage.store();
    for event in events(&**store, 0).await {
        assert!(!event.json.contains(SECRET) && !event.json.contains(OTHER), "{}", event.json);
    }
    let list = store.list(Default::default(), askd_store::Order::Asc, None, 100).await.unwrap();
    let shown = serde_json::to_string(&list.questions).unwrap();
    assert!(!shown.contains(SECRET) && !shown.contains(OTHER), "{shown}");
    let bytes = stage.bytes().await;
    assert!(contains(&bytes, "Which password?"), "the bytes are those of this store");
    assert!(!contains(&bytes, SECRET) && !contains(&bytes, OTHER), "a secret is in the files");
}

/// The answer as everybody sees it.
fn shown(question: &Question) -> Question {
    let items = &question.ask.questions;
    let visible = Outcome::answered(&answer(&["root", SECRET]), items, person(), at(100));
    assert_eq!(visible.answers, Some(vec![given("root").shown(None), ShownAnswer::default()]));
    Question { status: visible.status, outcome: Some(visible), ..question.clone() }
}

async fn agent_has(store: &impl Store, agent: &Agent, question: &Question) {
    assert_eq!(claim(store, &agent.source, 100).await.len(), 1);
    store.step(&question.id, DeliveryInput::Written, at(150)).await.unwrap().unwrap();
}

pub(crate) async fn a_secret_answer_is_nowhere_in_plain<S: Stage>() {
    let mut stage = S::fresh().await;
    let asked = ask(&**stage.store(), by_api(1, with_secret())).await;
    let question = settled(reply(&**stage.store(), &asked.id, &["root", SECRET]).await);
    assert_eq!(question, shown(&asked));
    assert_eq!(stored(&**stage.store(), &asked.id).await, question);
    assert_unseen(&stage).await;
    stage.reopen().await;
    assert_unseen(&stage).await;
}

pub(crate) async fn a_secret_answer_is_compared<S: Stage>() {
    let mut stage = S::fresh().await;
    let asked = ask(&**stage.store(), by_api(1, with_secret())).await;
    let first = settled(reply(&**stage.store(), &asked.id, &["root", SECRET]).await);
    stage.reopen().await;
    let store = stage.store();
    assert_eq!(reply(&**store, &asked.id, &["root", SECRET]).await, Resolved::Same(first.clone()));
    assert_eq!(reply(&**store, &asked.id, &["root", OTHER]).await, Resolved::Conflict(first));
    assert_unseen(&stage).await;
}

pub(crate) async fn a_secret_answer_is_revealed_to_its_asker_until_pruned<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let asked = ask(&**store, by_api(1, with_secret())).await;
    assert_eq!(store.reveal(&asked.id, at(50)).await.unwrap(), None, "nobody has answered");
    let first = settled(reply(&**store, &asked.id, &["root", SECRET]).await);
    let read_before = |millis| Retention { secrets_read_before: Some(at(millis)), ..Retention::default() };
    store.prune(read_before(9999)).await.unwrap();
    // As if none of them were secret.
    let whole = Outcome::answered(&answer(&["root", SECRET]), &[], person(), at(100));
    assert_eq!(store.reveal(&asked.id, at(200)).await.unwrap(), Some(whole.clone()));
    // Ten minutes, whenever the housekeeping comes.
    let last = 200 + SECRET_RETRY_MS;
    assert_eq!(store.reveal(&asked.id, at(last)).await.unwrap(), Some(whole.clone()));
    assert_eq!(store.reveal(&asked.id, at(last + 1)).await.unwrap(), first.outcome);
    store.prune(read_before(200)).await.unwrap();
    assert_eq!(store.reveal(&asked.id, at(300)).await.unwrap(), Some(whole), "read at 200, not before");
    store.prune(read_before(201)).await.unwrap();
    assert_eq!(store.reveal(&asked.id, at(400)).await.unwrap(), first.outcome);
    // It is gone, and still known to be the same.
    assert_eq!(reply(&**store, &asked.id, &["root", SECRET]).await, Resolved::Same(first));
}

pub(crate) async fn a_secret_answer_reaches_the_agent_and_is_then_forgotten<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, with_secret())).await;
    reply(&**store, &asked.id, &["root", SECRET]).await;
    let wanted = Settlement::Answered(answer(&["root", SECRET]));
    assert_eq!(claim(&**store, &agent.source, 100).await[0].settlement, wanted);
    assert_eq!(store.lost_claims("hub-2", &[]).await.unwrap()[0].settlement, wanted);
    store.step(&asked.id, DeliveryInput::Written, at(150)).await.unwrap().unwrap();
    assert_eq!(store.awaiting_evidence(&agent.source).await.unwrap()[0].settlement, wanted);
    let whole = store.reveal(&asked.id, at(160)).await.unwrap().unwrap();
    assert_eq!(whole.answers, Some(vec![given("root").shown(None), given(SECRET).shown(None)]));
    let confirmed = store.step(&asked.id, DeliveryInput::Confirmed, at(200)).await.unwrap().unwrap();
    assert_eq!(store.reveal(&asked.id, at(300)).await.unwrap(), shown(&asked).outcome);
    assert_eq!(reply(&**store, &asked.id, &["root", SECRET]).await, Resolved::Same(confirmed));
    assert_unseen(&stage).await;
}

pub(crate) async fn a_secret_answer_elsewhere_is_compared_and_never_shown<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, with_secret())).await;
    let ended = settled(resolve(&**store, &asked.id, elsewhere(&["root", SECRET])).await);
    assert_eq!(ended.outcome.as_ref().unwrap().withheld, [1]);
    assert_eq!(reply(&**store, &asked.id, &["root", SECRET]).await, Resolved::Same(ended.clone()));
    assert_eq!(reply(&**store, &asked.id, &["root", OTHER]).await, Resolved::Conflict(ended));

    let asked = ask(&**store, agent.asks(2, with_secret())).await;
    reply(&**store, &asked.id, &["root", SECRET]).await;
    agent_has(&**store, &agent, &asked).await;
    let confirmed = noted(resolve(&**store, &asked.id, elsewhere(&["root", SECRET])).await);
    assert_eq!(confirmed.delivery.unwrap().state, DeliveryState::Confirmed);
    assert_unseen(&stage).await;
}

pub(crate) async fn a_secret_answer_overtaken_is_never_shown<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    for (n, ours) in (1..).zip([Resolution::Answer(answer(&["root", SECRET])), decline(None)]) {
        let asked = ask(&**store, agent.asks(n, with_secret())).await;
        resolve(&**store, &asked.id, ours).await;
        agent_has(&**store, &agent, &asked).await;
        let overtaken = noted(resolve(&**store, &asked.id, elsewhere(&["root", OTHER])).await);
        assert_eq!(overtaken.delivery.unwrap().error.unwrap().reason, FailReason::Overtaken);
        let received = overtaken.outcome.unwrap().agent_received.unwrap();
        assert_eq!(received.answers, [given("root").shown(None), ShownAnswer::default()]);
    }
    assert_unseen(&stage).await;
}

pub(crate) async fn a_secret_answer_is_compared_after_a_doubtful_end<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    for (n, (seen, state)) in (1..).zip([(SECRET, DeliveryState::Confirmed), (OTHER, DeliveryState::Failed)])
    {
        let asked = ask(&**store, agent.asks(n, with_secret())).await;
        reply(&**store, &asked.id, &["root", SECRET]).await;
        claim(&**store, &agent.source, 100).await;
        let lost = DeliveryInput::ClaimLost { redeliver: Redeliver::Never, written: None };
        store.step(&asked.id, lost, at(200)).await.unwrap().unwrap();
        let end = noted(resolve(&**store, &asked.id, elsewhere(&["root", seen])).await);
        assert_eq!(end.delivery.unwrap().state, state);
        assert_eq!(end.outcome.unwrap().agent_received.is_some(), state == DeliveryState::Failed);
    }
    assert_unseen(&stage).await;
}
