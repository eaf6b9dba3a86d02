//! The same `Idempotency-Key` means the same request: it is done once, however often it is sent.

use serde_json::json;

use crate::common::Hub;

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
