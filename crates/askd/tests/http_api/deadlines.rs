//! The asker's own deadline is the only clock that ends a question, and it ends it as `expired`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::common::{Hub, Starting, until};

fn in_millis(millis: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let at = i64::try_from(now.as_millis()).unwrap() + millis;
    askd_core::Timestamp::from_millis(at).to_string()
}

fn ask_until(deadline: &str) -> Value {
    json!({"questions": [{"question": "Which?"}], "deadline": deadline})
}

#[tokio::test]
async fn a_deadline_that_passes_ends_the_question_and_tells_the_asker() {
    let hub = Hub::start().await;
    let later = hub.asker.ask(&ask_until(&in_millis(3_600_000))).await;
    let expired = hub.asker.post("/v1/questions?wait=60", &ask_until(&in_millis(700))).await.ok(201);
    assert_eq!(expired["status"], "expired");
    assert_eq!(askd_testkit::given(&expired["outcome"]["answers"]), json!(null), "no answer is invented");
    assert_eq!(expired["outcome"]["cause"], json!({"type": "deadlinePassed"}));
    assert_eq!(expired["outcome"]["by"], json!({"surface": "hub", "actor": null}));
    let id = expired["id"].as_str().unwrap();
    hub.owner.reply(id, json!([["late"]])).await.problem(409, "already_settled");
    let events = hub.events("?after=0").await.take(3).await;
    let kinds: Vec<_> = events.iter().map(|(_, event)| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["question.requested", "question.requested", "question.resolved"]);
    assert_eq!(hub.owner.question(later["id"].as_str().unwrap()).await["status"], "requested");
}

#[tokio::test]
async fn a_deadline_in_the_past_expires_at_once() {
    let hub = Hub::start().await;
    for deadline in [in_millis(-1000), "0001-01-01T00:00:00Z".to_owned()] {
        let expired = hub.asker.post("/v1/questions?wait=60", &ask_until(&deadline)).await.ok(201);
        assert_eq!(expired["status"], "expired");
    }
    let far = hub.asker.ask(&ask_until("9999-12-30T00:00:00Z")).await;
    assert_eq!(far["status"], "requested");
}

/// The clock of the deadlines never comes in time here: the answer does, at the same moment.
#[tokio::test]
async fn an_answer_that_comes_past_the_deadline_is_refused() {
    let hub = Hub::start().await;
    for what in ["reply", "reject", "withdraw"] {
        for _ in 0..10 {
            let asked = hub.asker.ask(&ask_until(&in_millis(0))).await;
            let id = asked["id"].as_str().unwrap();
            let (client, body) = match what {
                "reply" => (&hub.owner, json!({"answers": [["late"]]})),
                "reject" => (&hub.owner, json!({"mode": "decline"})),
                _ => (&hub.asker, json!({"reason": "late"})),
            };
            let refused = client.post(&format!("/v1/questions/{id}/{what}"), &body).await;
            let problem = refused.problem(409, "already_settled");
            assert_eq!(problem["question"]["status"], "expired");
        }
    }
}

#[tokio::test]
async fn a_deadline_passes_while_no_hub_runs() {
    let mut hub = Hub::start().await;
    let deadline = in_millis(1500);
    let asked = hub.asker.ask(&ask_until(&deadline)).await;
    let id = asked["id"].as_str().unwrap();
    hub.kill().await;
    while in_millis(0) < deadline {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let next = Starting::on(&hub.data).start().await;
    let client = next.owner.clone();
    let settled = until("the question to expire", || async {
        let question = client.question(id).await;
        (question["status"] != "requested").then_some(question)
    })
    .await;
    assert_eq!(settled["status"], "expired");
    assert_eq!(settled["deadline"], deadline);
}

#[tokio::test]
async fn a_question_without_a_deadline_stays_open() {
    let hub = Hub::start().await;
    let id = hub.asker.ask_text("Which?").await;
    hub.asker.post("/v1/questions?wait=60", &ask_until(&in_millis(300))).await.ok(201);
    let hub = hub.restarted().await;
    assert_eq!(hub.owner.question(&id).await["status"], "requested");
}
