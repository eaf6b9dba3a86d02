//! Answers that do not fit their question are refused with the item, and the question stays open.

use serde_json::{Value, json};

use crate::common::Hub;

#[tokio::test]
async fn an_answer_that_does_not_fit_names_the_item_and_changes_nothing() {
    let hub = Hub::start().await;
    let asked = hub
        .owner
        .ask(&json!({"questions": [
            {"question": "Which?", "custom": false, "options": [
                {"label": "A", "value": "a"}, {"label": "B", "value": "b"}, {"label": "Same", "value": "s1"}, {"label": "Same", "value": "s2"}]},
            {"question": "Which of them?", "options": ["X", "Y"], "multiple": true, "required": true},
            {"question": "How many?", "input": "integer", "bounds": {"minimum": 1, "maximum": 10}},
        ]}))
        .await;
    let id = asked["id"].as_str().unwrap();
    let before = hub.owner.everything().await;
    let long = "x".repeat((1 << 20) + 1);
    for (answers, field, code) in [
        (json!([]), "answers", "too_few"),
        (json!([["a"], ["X"]]), "answers", "too_few"),
        (json!([["a"], ["X"], ["1"], []]), "answers", "too_many"),
        (json!([["C"], ["X"], []]), "answers[0][0]", "unknown_option"),
        (json!([["a "], ["X"], []]), "answers[0][0]", "unknown_option"),
        (json!([["a", "b"], ["X"], []]), "answers[0]", "single_choice"),
        (json!([["Same"], ["X"], []]), "answers[0][0]", "ambiguous"),
        (json!([["a"], [], []]), "answers[1]", "required"),
        (json!([["a"], ["X", "X"], []]), "answers[1][1]", "duplicate"),
        (json!([["a"], ["X", " "], []]), "answers[1][1]", "empty"),
        (json!([["a"], [long], []]), "answers[1][0]", "too_long"),
        (json!([["a"], ["X"], ["1", "2"]]), "answers[2]", "single_choice"),
        (json!([["a"], ["X"], ["eleven"]]), "answers[2][0]", "wrong_type"),
        (json!([["a"], ["X"], ["11"]]), "answers[2][0]", "out_of_range"),
    ] {
        hub.owner.reply(id, answers).await.names(field, code);
    }
    let reply = |extra: Value| {
        let mut body = json!({"answers": [["a"], ["X"], ["1"]]});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    let path = format!("/v1/questions/{id}/reply");
    for (extra, field, code) in [
        (json!({"notes": ["1", "2", "3", "4"]}), "notes", "too_many"),
        (json!({"notes": ["x".repeat((64 << 10) + 1)]}), "notes[0]", "too_long"),
        (json!({"editedPlan": "x"}), "editedPlan", "not_a_plan"),
        (json!({"nextMode": "x"}), "nextMode", "unknown_mode"),
    ] {
        hub.owner.post(&path, &reply(extra)).await.names(field, code);
    }
    let reject = format!("/v1/questions/{id}/reject");
    hub.owner.post(&reject, &json!({"mode": "interrupt"})).await.names("mode", "unsupported_mode");
    hub.owner.post(&reject, &json!({"reason": "x".repeat((64 << 10) + 1)})).await.names("reason", "too_long");
    let withdraw = format!("/v1/questions/{id}/withdraw");
    hub.owner
        .post(&withdraw, &json!({"reason": "x".repeat((64 << 10) + 1)}))
        .await
        .names("reason", "too_long");
    assert_eq!(hub.owner.everything().await, before);

    // Every misfit is told at once.
    let problem =
        hub.owner.reply(id, json!([["C"], [], ["11"]])).await.names("answers[0][0]", "unknown_option");
    assert_eq!(problem["errors"].as_array().unwrap().len(), 3, "{problem}");
    let items: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|error| error["item"].as_u64()).collect();
    assert_eq!(items, [Some(0), Some(1), Some(2)]);
    hub.owner.post(&path, &reply(json!({"notes": [null, "because"]}))).await.ok(200);
}
