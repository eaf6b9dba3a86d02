//! Asking and answering: full fidelity, one outcome, and who gave it from where.

use serde_json::json;

use crate::common::Hub;

#[tokio::test]
async fn a_question_comes_back_as_it_was_asked() {
    let hub = Hub::start().await;
    let asked = hub
        .asker
        .ask(&json!({
            "agent": "claude", "kind": "choice",
            "questions": [
                {"question": "Which \u{1f600} auth?\n\tSecond line", "header": "Auth", "multiple": true, "required": true,
                 "options": [{"label": "JWT", "value": "jwt", "description": "Stateless", "preview": "```\ncode\n```"}, "Sessions"]},
                {"question": "Anything else?"}],
            "context": {"cwd": "/srv/x", "title": "T", "excerpt": "said before"},
            "tool": {"messageId": "msg_1", "callId": "toolu_1"},
            "rejectModes": ["decline", "interrupt"]
        }))
        .await;
    let (id, at) = (asked["id"].clone(), asked["createdAt"].clone());
    let expected = json!({
        "id": id, "sessionId": null, "agent": "claude", "kind": "choice",
        "questions": [
            {"question": "Which \u{1f600} auth?\n\tSecond line", "header": "Auth",
             "options": [
                {"label": "JWT", "value": "jwt", "description": "Stateless", "preview": "```\ncode\n```"},
                {"label": "Sessions", "value": "Sessions", "description": null, "preview": null}],
             "multiple": true, "custom": true, "secret": false, "required": true},
            {"question": "Anything else?", "header": null, "options": [], "multiple": false, "custom": true,
             "secret": false, "required": false}],
        "context": {"cwd": "/srv/x", "title": "T", "excerpt": "said before"},
        "tool": {"messageId": "msg_1", "callId": "toolu_1"}, "rejectModes": ["decline", "interrupt"],
        "status": "requested", "outcome": null, "delivery": null, "createdAt": at, "seq": 1
    });
    assert_eq!(asked, expected);
    assert_eq!(hub.owner.question(id.as_str().unwrap()).await, expected);
    assert_eq!(hub.owner.get("/v1/questions").await.ok(200)["questions"], json!([expected]));
    let (_, event) = hub.events("?after=0").await.next().await;
    assert_eq!(event, json!({"seq": 1, "type": "question.requested", "at": at, "question": expected}));
}

#[tokio::test]
async fn answer_given_twice_keeps_the_first() {
    let hub = Hub::start().await;
    let id = hub.asker.ask_text("Which?").await;
    let answerer = hub.owner.token_with(&["answer"]).await.with_header("Askd-Surface", "web");
    let first = answerer.reply(&id, json!([["this"]])).await.ok(200);
    let outcome = json!({"status": "answered", "answers": [{"picks": [], "labels": [], "words": ["this"]}], "notes": null,
        "by": {"surface": "web", "actor": "answer"}, "cause": null, "at": first["outcome"]["at"], "agentReceived": null});
    assert_eq!(first["outcome"], outcome);
    let settled = hub.owner.everything().await;

    assert_eq!(
        answerer.reply(&id, json!([["this"]])).await.ok(200),
        first,
        "the same answer gets the same success"
    );
    assert_eq!(hub.owner.reply(&id, json!([["this"]])).await.ok(200), first, "whoever gives it");
    let conflict = hub.owner.reply(&id, json!([["that"]])).await.problem(409, "already_settled");
    assert_eq!(conflict["question"], first, "the loser is told the outcome that won");
    let conflict = hub.owner.post(&format!("/v1/questions/{id}/reject"), &json!({})).await;
    assert_eq!(conflict.problem(409, "already_settled")["question"], first);
    let conflict = hub.asker.post(&format!("/v1/questions/{id}/withdraw"), &json!({})).await;
    assert_eq!(conflict.problem(409, "already_settled")["question"], first);
    assert_eq!(hub.owner.everything().await, settled, "no second event, no change");
}

#[tokio::test]
async fn of_many_answers_at_once_one_wins() {
    let hub = Hub::start().await;
    for _ in 0..5 {
        let id = hub.asker.ask_text("Which?").await;
        let answers = (0..16).map(|i| {
            let (client, id) = (hub.owner.clone(), id.clone());
            tokio::spawn(async move { client.reply(&id, json!([[format!("answer {i}")]])).await })
        });
        let mut winners = Vec::new();
        let mut told = Vec::new();
        for answer in answers.collect::<Vec<_>>() {
            let answer = answer.await.unwrap();
            match answer.status {
                200 => winners.push(answer.json["outcome"].clone()),
                _ => told.push(answer.problem(409, "already_settled")["question"]["outcome"].clone()),
            }
        }
        assert_eq!((winners.len(), told.len()), (1, 15));
        assert!(told.iter().all(|outcome| *outcome == winners[0]), "every loser is told the same winner");
        assert_eq!(hub.owner.question(&id).await["outcome"], winners[0]);
    }
}

#[tokio::test]
async fn rejecting_tells_the_mode_and_the_reason() {
    let hub = Hub::start().await;
    let ask = json!({"questions": [{"question": "Plan?"}], "rejectModes": ["decline", "interrupt"]});
    let id = hub.asker.ask(&ask).await["id"].as_str().unwrap().to_owned();
    let reject = format!("/v1/questions/{id}/reject");
    let cli = hub.owner.with_header("Askd-Surface", "cli");
    let rejected = cli.post(&reject, &json!({"mode": "interrupt", "reason": "not now"})).await.ok(200);
    assert_eq!(rejected["status"], "rejected");
    let outcome = &rejected["outcome"];
    assert_eq!((outcome["mode"].as_str(), outcome["reason"].as_str()), (Some("interrupt"), Some("not now")));
    assert_eq!(outcome["by"], json!({"surface": "cli", "actor": "owner"}));
    cli.post(&reject, &json!({"mode": "interrupt", "reason": "not now"})).await.ok(200);
    cli.post(&reject, &json!({"mode": "decline"})).await.problem(409, "already_settled");

    let id = hub.asker.ask_text("Another?").await;
    let rejected = hub.owner.post_empty(&format!("/v1/questions/{id}/reject")).await.ok(200);
    assert_eq!(rejected["outcome"]["mode"], "decline", "no body is a plain decline");
}

#[tokio::test]
async fn the_asker_can_take_its_question_back() {
    let hub = Hub::start().await;
    let id = hub.asker.ask_text("Which?").await;
    let path = format!("/v1/questions/{id}/withdraw");
    let withdrawn = hub.asker.post(&path, &json!({"reason": "found out"})).await.ok(200);
    assert_eq!(withdrawn["status"], "cancelled");
    assert_eq!(withdrawn["outcome"]["cause"], json!({"type": "askerWithdrew", "reason": "found out"}));
    hub.asker.post_empty(&path).await.ok(200);
    hub.owner.reply(&id, json!([["late"]])).await.problem(409, "already_settled");
    assert_eq!(hub.owner.get(&format!("/v1/questions/{id}/native")).await.ok(200), json!(null));
}

#[tokio::test]
async fn a_plan_can_be_approved_with_edits() {
    let hub = Hub::start().await;
    let ask = json!({"kind": "plan", "questions": [{"question": "Is this right?"}],
        "body": {"format": "markdown", "text": "# Plan\n1. do"}, "nextModes": ["acceptEdits", "default"]});
    let asked = hub.asker.ask(&ask).await;
    assert_eq!(asked["body"], json!({"format": "markdown", "text": "# Plan\n1. do"}));
    let path = format!("/v1/questions/{}/reply", asked["id"].as_str().unwrap());
    let reply = json!({"answers": [["approve"]], "editedPlan": "# Plan\n1. do less", "nextMode": "default", "notes": ["good"]});
    let answered = hub.owner.post(&path, &reply).await.ok(200);
    for (field, value) in [
        ("answers", json!([{"picks": ["approve"], "labels": ["Approve"], "words": []}])),
        ("editedPlan", json!("# Plan\n1. do less")),
        ("nextMode", json!("default")),
        ("notes", json!(["good"])),
    ] {
        assert_eq!(answered["outcome"][field], value);
    }
}

#[tokio::test]
async fn a_body_that_may_be_left_out_may_be_null() {
    let hub = Hub::start().await;
    for way in ["reject", "withdraw"] {
        for claims_json in [true, false] {
            let path = format!("/v1/questions/{}/{way}", hub.owner.ask_text("Which?").await);
            let ended = if claims_json {
                hub.owner.post_bytes(&path, "null").await
            } else {
                let request = hub.owner.request(reqwest::Method::POST, &path).body("null");
                crate::common::Answer::of(request).await
            };
            assert_ne!(ended.ok(200)["status"], "requested", "{way}");
        }
    }
}

#[tokio::test]
async fn the_same_answer_in_another_spelling_is_the_same_success() {
    let hub = Hub::start().await;
    let ask = json!({"questions": [
        {"question": "Which?", "multiple": true, "options": [{"label": "Apples", "value": "a"}, {"label": "Pears", "value": "p"}, "Figs"]},
        {"question": "Why?"}]});
    let id = hub.asker.ask(&ask).await["id"].as_str().unwrap().to_owned();
    let reply = format!("/v1/questions/{id}/reply");
    let first = r#"{"answers": [{"picks": ["a", "p"], "words": ["caf\u00e9"]}, {"words": ["because"]}]}"#;
    let first = hub.owner.post_bytes(&reply, first).await.ok(200);
    let settled = hub.owner.everything().await;
    for same in [
        r#"{"answers": [{"picks": ["p", "a"], "words": ["café"]}, {"words": ["because"]}]}"#,
        r#"{"answers": [{"words": ["café"], "picks": ["p", "a"]}, {"picks": [], "words": ["because"]}]}"#,
        r#"{"answers": [{"picks": ["a"], "words": ["Pears", "café"]}, {"words": ["because"]}]}"#,
        r#"{"answers": [["a", "p", "café"], ["because"]]}"#,
        r#"{"answers": [["café", "Pears", "Apples"], ["because"]]}"#,
        r#"{"answers":[["\u0061","\u0070","caf\u00e9"],["\u0062ecause"]]}"#,
        r#"{"notes": null, "answers": [["a", "p", "café"], ["because"]]}"#,
        r#"{"notes": [], "answers": [["a", "p", "café"], ["because"]]}"#,
        r#"{"notes": [null, ""], "answers": [["a", "p", "café"], ["because"]], "editedPlan": null, "nextMode": null}"#,
        "\n {\t\"answers\" : [ [\"a\", \"p\", \"café\"], [\"because\"] ] }\r\n",
    ] {
        assert_eq!(hub.owner.post_bytes(&reply, same).await.ok(200), first, "{same}");
    }
    for other in [
        r#"{"answers": [["a", "café"], ["because"]]}"#,
        r#"{"answers": [["a", "p", "Figs", "café"], ["because"]]}"#,
        r#"{"answers": [["a", "p", "Café"], ["because"]]}"#,
        r#"{"answers": [["a", "p", "cafe\u0301"], ["because"]]}"#,
        r#"{"answers": [["a", "p", "café"], ["because "]]}"#,
        r#"{"answers": [["a", "p", "café"], []]}"#,
        r#"{"answers": [["a", "p", "café"], ["because"]], "notes": ["so"]}"#,
    ] {
        let conflict = hub.owner.post_bytes(&reply, other).await.problem(409, "already_settled");
        assert_eq!(conflict["question"], first, "{other}");
    }
    assert_eq!(hub.owner.everything().await, settled, "no second event, no change");
}
