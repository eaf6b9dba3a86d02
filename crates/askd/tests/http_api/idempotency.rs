//! The same `Idempotency-Key` means the same request: it is done once, however often it is sent.

use reqwest::Method;
use serde_json::json;

use crate::common::{Answer, Hub};

#[tokio::test]
async fn asking_again_with_the_same_key_gives_the_same_question() {
    let hub = Hub::start().await;
    let body = json!({"questions": [{"question": "Which?"}]});
    let keyed = hub.asker.with_header("Idempotency-Key", "key-1");
    let first = keyed.post("/v1/questions", &body).await.ok(201);
    assert_eq!(keyed.post("/v1/questions", &body).await.ok(201), first);
    // The same meaning in other words is the same request.
    let other_words =
        json!({"questions": [{"question": "Which?", "multiple": false, "options": []}], "agent": "api"});
    assert_eq!(keyed.post("/v1/questions", &other_words).await.ok(201), first);

    let another = json!({"questions": [{"question": "Which other?"}]});
    keyed.post("/v1/questions", &another).await.problem(409, "idempotency_key_reused");
    let elsewhere = hub.owner.with_header("Idempotency-Key", "key-1");
    let theirs = elsewhere.post("/v1/questions", &another).await.ok(201);
    assert_ne!(theirs["id"], first["id"], "a key belongs to its token");
    let list = hub.owner.get("/v1/questions").await.ok(200);
    assert_eq!(list["questions"].as_array().unwrap().len(), 2);

    hub.owner.reply(first["id"].as_str().unwrap(), json!([["this"]])).await.ok(200);
    let again = keyed.post("/v1/questions?wait=30", &body).await.ok(201);
    assert_eq!(
        (&again["id"], &again["status"]),
        (&first["id"], &json!("answered")),
        "a retried wait gets the answer"
    );

    let hub = hub.restarted().await;
    let keyed = hub.asker.with_header("Idempotency-Key", "key-1");
    assert_eq!(
        keyed.post("/v1/questions", &body).await.ok(201)["id"],
        first["id"],
        "a key outlives a restart"
    );
}

#[tokio::test]
async fn one_key_sent_many_times_at_once_asks_once() {
    let hub = Hub::start().await;
    let keyed = hub.asker.with_header("Idempotency-Key", "burst");
    let asks: Vec<_> = (0..16)
        .map(|_| {
            let keyed = keyed.clone();
            tokio::spawn(async move { keyed.ask_text("Which?").await })
        })
        .collect();
    let mut ids = Vec::new();
    for ask in asks {
        ids.push(ask.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(hub.owner.get("/v1/questions").await.ok(200)["seq"], 1, "one event");
}

#[tokio::test]
async fn replying_again_with_the_same_key_is_the_same_success() {
    let hub = Hub::start().await;
    let (one, two) = (hub.asker.ask_text("One?").await, hub.asker.ask_text("Two?").await);
    let keyed = hub.owner.with_header("Idempotency-Key", "reply-1");
    let first = keyed.reply(&one, json!([["this"]])).await.ok(200);
    assert_eq!(keyed.reply(&one, json!([["this"]])).await.ok(200), first);
    keyed.reply(&one, json!([["that"]])).await.problem(409, "idempotency_key_reused");
    keyed.reply(&two, json!([["this"]])).await.problem(409, "idempotency_key_reused");
    let reject = format!("/v1/questions/{two}/reject");
    keyed.post(&reject, &json!({})).await.problem(409, "idempotency_key_reused");
    keyed
        .post("/v1/questions", &json!({"questions": [{"question": "x"}]}))
        .await
        .problem(409, "idempotency_key_reused");
    assert_eq!(hub.owner.question(&two).await["status"], "requested");
    // Another token's key of the same name is another key.
    let other = hub.owner.token_with(&["answer"]).await.with_header("Idempotency-Key", "reply-1");
    other.reply(&two, json!([["this"]])).await.ok(200);
}

#[tokio::test]
async fn two_keys_of_one_request_are_refused() {
    let hub = Hub::start().await;
    let before = hub.owner.everything().await;
    for second in ["key-1", "key-2"] {
        let request =
            hub.asker.with_header("Idempotency-Key", "key-1").request(Method::POST, "/v1/questions");
        let request = request.header("Idempotency-Key", second);
        let answer = Answer::of(request.json(&json!({"questions": [{"question": "Which?"}]}))).await;
        answer.names("Idempotency-Key", "duplicate");
    }
    assert_eq!(hub.owner.everything().await, before);
}

#[tokio::test]
async fn a_key_of_a_request_that_was_refused_is_free() {
    let hub = Hub::start().await;
    let keyed = hub.asker.with_header("Idempotency-Key", "again");
    keyed.post("/v1/questions", &json!({"questions": []})).await.problem(400, "invalid_request");
    let body = json!({"questions": [{"question": "Which?", "options": ["A", "B"], "custom": false}]});
    let asked = keyed.post("/v1/questions", &body).await.ok(201);
    let id = asked["id"].as_str().unwrap();
    let keyed = hub.owner.with_header("Idempotency-Key", "reply-again");
    keyed.reply(id, json!([["C"]])).await.problem(400, "invalid_request");
    assert_eq!(hub.owner.question(id).await["status"], "requested");
    let first = keyed.reply(id, json!([["A"]])).await.ok(200);
    // The same in another spelling is the same request.
    assert_eq!(keyed.reply(id, json!([{"picks": ["A"]}])).await.ok(200), first);
    keyed.reply(id, json!([["B"]])).await.problem(409, "idempotency_key_reused");

    let id = hub.asker.ask_text("Which?").await;
    let reject = format!("/v1/questions/{id}/reject");
    let keyed = hub.owner.with_header("Idempotency-Key", "reject-again");
    keyed.post(&reject, &json!({"mode": "interrupt"})).await.problem(400, "invalid_request");
    let first = keyed.post(&reject, &json!({})).await.ok(200);
    assert_eq!(keyed.post(&reject, &json!({"mode": "decline"})).await.ok(200), first);
    keyed.post(&reject, &json!({"reason": "no"})).await.problem(409, "idempotency_key_reused");
}

#[tokio::test]
async fn a_keyed_answer_that_came_too_late_is_told_who_won_each_time() {
    let hub = Hub::start().await;
    let id = hub.asker.ask_text("Which?").await;
    let won = hub.owner.reply(&id, json!([["this"]])).await.ok(200);
    let keyed = hub.owner.with_header("Idempotency-Key", "late");
    for _ in 0..2 {
        let lost = keyed.reply(&id, json!([["that"]])).await.problem(409, "already_settled");
        assert_eq!(lost["question"], won);
    }
    let hub = hub.restarted().await;
    let keyed = hub.owner.with_header("Idempotency-Key", "late");
    keyed.reply(&id, json!([["that"]])).await.problem(409, "already_settled");
}
