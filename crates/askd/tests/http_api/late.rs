//! An answer that did not reach its agent is said in its own conversation or nowhere.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::common::{Hub, until};

async fn start_mock(hub: &Hub, prompt: &str) -> String {
    let session = json!({"agent": "mock", "cwd": "/tmp", "prompt": prompt});
    hub.owner.post("/v1/sessions", &session).await.ok(201)["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_late_answer_is_not_said_in_a_conversation_that_only_has_the_same_name() {
    let hub = Hub::start().await;
    let session = start_mock(&hub, "question").await;
    let of_session = format!("/v1/questions?session={session}&status=requested");
    let id = until("the question", || async {
        let list = hub.owner.get(&of_session).await.ok(200);
        list["questions"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    let first = hub.owner.get(&format!("/v1/sessions/{session}")).await.ok(200);
    let agent = Pid::from_raw(i32::try_from(first["pid"].as_i64().unwrap()).unwrap()).unwrap();
    // It does not read any more, and then it dies.
    kill_process(agent, Signal::STOP).unwrap();
    hub.owner.post(&format!("/v1/questions/{id}/reply"), &json!({"answers": [["option-a"]]})).await.ok(200);
    kill_process(agent, Signal::KILL).unwrap();
    let late = until("the failed delivery", || async {
        let question = hub.owner.question(&id).await;
        (question["delivery"]["state"] == "failed").then_some(question)
    })
    .await;
    let stranger = start_mock(&hub, "hello").await;
    until("a conversation with the same name", || async {
        let other = hub.owner.get(&format!("/v1/sessions/{stranger}")).await.ok(200);
        (other["nativeId"] == first["nativeId"]).then_some(())
    })
    .await;
    let refused = hub.owner.post_empty(&format!("/v1/questions/{id}/send-as-message")).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(hub.owner.question(&id).await["delivery"], late["delivery"], "it can still be said");
    hub.owner.delete(&format!("/v1/sessions/{stranger}")).await.ok(204);
}
