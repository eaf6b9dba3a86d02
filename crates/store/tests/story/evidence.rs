//! Evidence: what the agent's own screen did, before, with or instead of ours.

use askd_core::delivery::{DeliveryInput, DeliveryState, FailReason, Redeliver};
use askd_core::lifecycle::Elsewhere;
use askd_core::outcome::{AgentReceived, Outcome};
use askd_core::{By, EventType, Question, RejectMode, Resolution, Status, Surface};
use askd_store::{Deliveries, EventLog, Resolve, Resolved, Store};

use super::props::*;
use super::stage::Stage;

fn at_the_agent() -> By {
    By { surface: Surface::Agent, actor: Some("terminal".to_owned()) }
}

async fn witnessed(store: &impl Store, question: &Question, resolution: Resolution, millis: i64) -> Resolved {
    let by = By { surface: Surface::Agent, actor: None };
    let seen = Resolve { by, at: at(millis), ..resolving(&question.id, resolution) };
    store.resolve(seen).await.unwrap()
}

/// An agent's question answered with `JWT`, whose delivery was written.
async fn sent(store: &impl Store, agent: &Agent) -> Question {
    let asked = ask(store, agent.asks(1, plain())).await;
    reply(store, &asked.id, &["JWT"]).await;
    claim(store, &agent.source, 100).await;
    store.step(&asked.id, DeliveryInput::Written, at(150)).await.unwrap().unwrap()
}

pub(crate) async fn answered_elsewhere_needs_no_delivery<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, plain())).await;
    // No validation: these words were never an option, and the agent has them already.
    let ended = settled(witnessed(&**store, &asked, elsewhere(&["own words"]), 200).await);
    let outcome = Some(Outcome::answered(&answer(&["own words"]), &[], at_the_agent(), at(200)));
    assert_eq!(ended, Question { status: Status::Answered, outcome, ..asked.clone() });
    assert_eq!(stored(&**store, &asked.id).await, ended);
    assert_eq!(claim(&**store, &agent.source, 999).await, []);
    assert_eq!(reply(&**store, &asked.id, &["JWT"]).await, Resolved::Conflict(ended));
    assert_eq!(happened(&**store, asked.seq).await, [(EventType::QuestionResolved, Some(asked.id))]);
}

pub(crate) async fn rejected_elsewhere_needs_no_delivery<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, plain())).await;
    let rejected = Resolution::Elsewhere(Elsewhere::Rejected {
        reason: Some("esc".to_owned()),
        via: "terminal".to_owned(),
    });
    let ended = settled(witnessed(&**store, &asked, rejected, 200).await);
    let outcome =
        Some(Outcome::rejected(RejectMode::Decline, Some("esc".to_owned()), at_the_agent(), at(200)));
    assert_eq!(ended, Question { status: Status::Rejected, outcome, ..asked });
}

pub(crate) async fn the_same_answer_after_the_agents_own_is_the_same_success<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let asked = ask(&**store, agent.asks(1, plain())).await;
    let ended = settled(witnessed(&**store, &asked, elsewhere(&["JWT"]), 200).await);
    assert_eq!(reply(&**store, &asked.id, &["JWT"]).await, Resolved::Same(ended.clone()));
    assert_eq!(reply(&**store, &asked.id, &["Session"]).await, Resolved::Conflict(ended));
}

pub(crate) async fn the_same_answer_elsewhere_confirms<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = sent(&**store, &agent).await;
    let before = store.newest();
    let confirmed = noted(witnessed(&**store, &question, elsewhere(&["JWT"]), 300).await);
    assert_eq!(confirmed.delivery.as_ref().unwrap().state, DeliveryState::Confirmed);
    assert_eq!(confirmed.outcome, question.outcome);
    assert_eq!(stored(&**store, &question.id).await, confirmed);
    assert_eq!(happened(&**store, before).await, [(EventType::QuestionDelivered, Some(question.id))]);
}

pub(crate) async fn another_answer_elsewhere_overtakes<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = sent(&**store, &agent).await;
    let before = store.newest();
    let overtaken = noted(witnessed(&**store, &question, elsewhere(&["Session"]), 300).await);
    let received = AgentReceived { answers: vec![given("Session").shown(None)], via: "terminal".to_owned() };
    let outcome = Outcome { agent_received: Some(received), ..question.outcome.clone().unwrap() };
    assert_eq!(overtaken.outcome, Some(outcome));
    let end = overtaken.delivery.clone().unwrap();
    assert_eq!((end.state, end.error.unwrap().reason), (DeliveryState::Failed, FailReason::Overtaken));
    assert_eq!(stored(&**store, &question.id).await, overtaken);
    let told = events(&**store, before).await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, EventType::QuestionDelivered);
    assert!(told[0].json.contains(r#""agentReceived":{"answers":[{"picks":["Session"],"labels":["Session"],"words":[]}],"via":"terminal"}"#));
    // The human's answer stays the outcome.
    assert_eq!(reply(&**store, &question.id, &["JWT"]).await, Resolved::Same(overtaken));
}

/// The hub stopped while it wrote, and nobody can tell whether the agent has it.
async fn doubtful(store: &impl Store, agent: &Agent) -> Question {
    let asked = ask(store, agent.asks(1, plain())).await;
    reply(store, &asked.id, &["JWT"]).await;
    claim(store, &agent.source, 100).await;
    let lost = DeliveryInput::ClaimLost { redeliver: Redeliver::Never, written: None };
    store.step(&asked.id, lost, at(200)).await.unwrap().unwrap()
}

pub(crate) async fn another_answer_after_a_doubtful_end_is_told<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = doubtful(&**store, &agent).await;
    let before = store.newest();
    let overtaken = noted(witnessed(&**store, &question, elsewhere(&["Session"]), 300).await);
    assert_eq!(overtaken.delivery.clone().unwrap().error.unwrap().reason, FailReason::Overtaken);
    assert_eq!(stored(&**store, &question.id).await, overtaken);
    // Who reads the stream knows as much as who reads the question.
    let told = events(&**store, before).await;
    assert_eq!(told.len(), 1);
    assert!(told[0].json.contains("agentReceived\":{"), "{}", told[0].json);
}

pub(crate) async fn evidence_after_a_doubtful_end_confirms<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = doubtful(&**store, &agent).await;
    let confirmed = noted(witnessed(&**store, &question, elsewhere(&["JWT"]), 300).await);
    assert_eq!(confirmed.delivery.unwrap().state, DeliveryState::Confirmed);
}

pub(crate) async fn evidence_after_an_end_changes_nothing<S: Stage>() {
    let stage = S::fresh().await;
    let store = stage.store();
    let agent = agent(&**store, 1).await;
    let question = sent(&**store, &agent).await;
    let confirmed = store.step(&question.id, DeliveryInput::Confirmed, at(200)).await.unwrap().unwrap();
    let before = store.newest();
    for late in [elsewhere(&["Session"]), elsewhere(&["JWT"])] {
        assert_eq!(witnessed(&**store, &question, late, 300).await, Resolved::Noted(confirmed.clone()));
    }
    assert_eq!(store.newest(), before);
    assert_eq!(stored(&**store, &question.id).await, confirmed);
}
