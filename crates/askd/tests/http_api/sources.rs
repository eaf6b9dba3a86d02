//! Sources and sessions: what the API shows of them, and what happens to their questions when they end.

use serde_json::json;

use askd_core::{AskInput, Session, SessionId, Source};
use askd_hub::{AgentQuestion, NewSource};
use askd_store::SessionSeen;

use crate::common::{Hub, holders, until};
use crate::in_process::InProcess;

async fn source(hub: &InProcess) -> Source {
    let new = NewSource {
        kind: "managed".to_owned(),
        agent: "claude".to_owned(),
        label: "claude".to_owned(),
        settings: "{}".to_owned(),
    };
    hub.hub.sources.add(new).await.unwrap()
}

async fn session(hub: &InProcess, source: &Source, native_id: &str) -> Session {
    let seen = SessionSeen {
        id: SessionId::from_bits(askd_hub::new_bits()),
        source: source.id.clone(),
        agent: source.agent.clone(),
        native_id: native_id.to_owned(),
        cwd: Some("/srv".to_owned()),
        title: Some("Title".to_owned()),
        parent: None,
        pid: Some(7),
        managed: true,
        at: askd_hub::now(),
    };
    hub.hub.sessions.see(seen).await.unwrap()
}

async fn hear(hub: &InProcess, source: &Source, session: &Session, native_id: &str) -> String {
    let ask: AskInput =
        serde_json::from_value(json!({"questions": [{"question": "Which?"}], "agent": "claude"})).unwrap();
    let heard = AgentQuestion {
        source: source.id.clone(),
        session: session.id.clone(),
        native_id: native_id.to_owned(),
        is_new: false,
        road: "control".to_owned(),
        native: r#"{ "its":  "own words" }"#.to_owned(),
        ask: ask.complete().unwrap(),
    };
    hub.hub.questions.ask_as_agent(heard).await.unwrap().id.to_string()
}

#[tokio::test]
async fn detaching_a_source_ends_its_sessions_and_questions_and_says_why() {
    let hub = InProcess::start(8, 8).await;
    let mut stream = hub.owner.events("?after=0").await;
    let (one, two) = (source(&hub).await, source(&hub).await);
    let (ours, other) = (session(&hub, &one, "n1").await, session(&hub, &two, "n1").await);
    let open = hear(&hub, &one, &ours, "q1").await;
    let elsewhere = hear(&hub, &two, &other, "q1").await;
    assert_eq!(hear(&hub, &one, &ours, "q1").await, open, "hearing it again is the same question");
    let native = hub.owner.get(&format!("/v1/questions/{open}/native")).await;
    assert_eq!(native.body, br#"{ "its":  "own words" }"#, "byte for byte");

    let listed = hub.owner.get("/v1/sessions?live=true").await.ok(200);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    let path = format!("/v1/sessions/{}", ours.id);
    let shown = hub.owner.get(&path).await.ok(200);
    for (field, value) in [
        ("agent", json!("claude")),
        ("sourceId", json!(one.id)),
        ("nativeId", json!("n1")),
        ("cwd", json!("/srv")),
        ("title", json!("Title")),
        ("parentId", json!(null)),
        ("live", json!(true)),
        ("pid", json!(7)),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    let mine = hub.owner.get(&format!("/v1/questions?session={}", ours.id)).await.ok(200);
    assert_eq!(mine["questions"].as_array().unwrap().len(), 1);

    let gone = format!("/v1/sources/{}", one.id);
    assert_eq!(hub.owner.delete(&gone).await.status, 204);
    let cancelled = hub.owner.question(&open).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["outcome"]["cause"]["type"], "sourceLost");
    assert_eq!(cancelled["outcome"]["by"]["surface"], "hub");
    assert_eq!(hub.owner.get(&path).await.ok(200)["live"], false);
    assert_eq!(hub.owner.question(&elsewhere).await["status"], "requested");
    hub.owner.reply(&open, json!([["late"]])).await.problem(409, "already_settled");
    let live = hub.owner.get("/v1/sessions?live=true").await.ok(200);
    assert_eq!(live["sessions"][0]["id"], json!(other.id));

    let kinds: Vec<_> = stream
        .take(6)
        .await
        .into_iter()
        .map(|(_, event)| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds[..4],
        ["session.started", "session.started", "question.requested", "question.requested"]
    );
    let mut ends = kinds[4..].to_vec();
    ends.sort();
    assert_eq!(ends, ["question.resolved", "session.ended"]);
}

#[tokio::test]
async fn a_client_may_name_its_session_beforehand_and_no_two_sessions_have_one_name() {
    let hub = Hub::start().await;
    let id = "ses_01M7FB3JHTEFWVK6BK6KXBCRAG";
    let start = json!({"id": id, "agent": "mock", "cwd": "/tmp", "prompt": "hang"});
    let (one, other) =
        tokio::join!(hub.owner.post("/v1/sessions", &start), hub.owner.post("/v1/sessions", &start));
    let (started, refused) = if one.status == 201 { (one, other) } else { (other, one) };
    assert_eq!(started.ok(201)["id"], id);
    refused.problem(400, "invalid_request");
    hub.owner.delete(&format!("/v1/sessions/{id}")).await.ok(204);
    hub.owner.post("/v1/sessions", &start).await.problem(400, "invalid_request");
    let bad = json!({"id": "mine", "agent": "mock", "cwd": "/tmp"});
    hub.owner.post("/v1/sessions", &bad).await.problem(400, "invalid_request");
    let sessions = hub.owner.get("/v1/sessions").await.ok(200);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    until("the agent to end", || async { holders(&hub.data).is_empty().then_some(()) }).await;
}
