//! The scenes. Each is one capability, played with a real agent; docs/adapters.md names them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Stage, eventually};

/// How an agent is made to play a scene, and what it (or its model) saw of the answer.
pub trait Cast {
    /// The body of `POST /v1/sessions` that makes the agent ask as the scene wants.
    fn session(&self, scene: &str) -> Value;

    fn saw(&self, stage: &Stage, session: &str) -> String;
}

fn expect_seen(stage: &Stage, cast: &dyn Cast, session: &str, wanted: &[&str]) {
    let mut seen = String::new();
    eventually(&format!("the agent received {wanted:?}"), || {
        seen = cast.saw(stage, session);
        wanted.iter().all(|text| seen.contains(text)).then_some(())
    });
}

/// The value of the option with this number, counted from 0, of an item.
fn option(question: &Value, item: usize, number: usize) -> String {
    question["questions"][item]["options"][number]["value"].as_str().unwrap().to_owned()
}

fn begin(stage: &Stage, cast: &dyn Cast, scene: &str) -> (String, String, Value) {
    let session = stage.start(&cast.session(scene));
    let id = stage.open_question(&session);
    let question = stage.question(&id);
    (session, id, question)
}

pub fn ask_and_answer(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast, "ask-and-answer");
    let pick = option(&question, 0, 1);
    stage.answer(&id, &json!([[pick]]));
    stage.confirmed(&id);
    expect_seen(stage, cast, &session, &[&pick]);
}

pub fn multi_select(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast, "multi-select");
    let picks = [option(&question, 0, 0), option(&question, 0, 2)];
    stage.answer(&id, &json!([picks]));
    stage.confirmed(&id);
    expect_seen(stage, cast, &session, &[&picks[0], &picks[1]]);
}

pub fn several_items(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast, "several-items");
    let picks = [option(&question, 0, 1), option(&question, 1, 0)];
    stage.answer(&id, &json!([[picks[0]], [picks[1]]]));
    stage.confirmed(&id);
    expect_seen(stage, cast, &session, &[&picks[0], &picks[1]]);
}

pub fn free_text(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, _) = begin(stage, cast, "free-text");
    stage.answer(&id, &json!([["my own words, with a comma"]]));
    stage.confirmed(&id);
    expect_seen(stage, cast, &session, &["my own words, with a comma"]);
}

pub fn plan(stage: &mut Stage, cast: &dyn Cast) {
    let (_, id, question) = begin(stage, cast, "plan");
    assert_eq!(question["kind"], "plan");
    assert!(!question["body"]["text"].as_str().unwrap().is_empty());
    stage.answer(&id, &json!([["approve"]]));
    stage.confirmed(&id);
}

pub fn permission(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast, "permission");
    assert_eq!(question["kind"], "permission");
    let pick = option(&question, 0, 0);
    stage.answer(&id, &json!([[pick]]));
    stage.confirmed(&id);
    expect_seen(stage, cast, &session, &[]);
}

fn rejected(stage: &Stage, cast: &dyn Cast, scene: &str) {
    let (_, id, question) = begin(stage, cast, scene);
    assert!(question["rejectModes"].as_array().unwrap().contains(&json!(scene)), "{question}");
    let settled = stage.reject(&id, &json!({ "mode": scene, "reason": "not today" }));
    assert_eq!((&settled["status"], &settled["outcome"]["mode"]), (&json!("rejected"), &json!(scene)));
    stage.confirmed(&id);
}

pub fn decline(stage: &mut Stage, cast: &dyn Cast) {
    rejected(stage, cast, "decline");
}

pub fn cancel(stage: &mut Stage, cast: &dyn Cast) {
    rejected(stage, cast, "cancel");
}

pub fn interrupt(stage: &mut Stage, cast: &dyn Cast) {
    rejected(stage, cast, "interrupt");
}

pub fn withdrawn(stage: &mut Stage, cast: &dyn Cast) {
    let session = stage.start(&cast.session("withdraw"));
    let question = eventually("the withdrawn question", || {
        stage.questions("cancelled").into_iter().find(|question| question["sessionId"] == session.as_str())
    });
    assert_eq!(question["outcome"]["cause"]["type"], "agentWithdrew", "{question}");
    assert!(question["delivery"].is_null());
    let id = question["id"].as_str().unwrap();
    let late =
        stage.hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(&json!({ "answers": [["late"]] })));
    assert_eq!(late.unwrap().0, 409);
}

pub fn two_open_at_once(stage: &mut Stage, cast: &dyn Cast) {
    let session = stage.start(&cast.session("two-open-at-once"));
    let ids = stage.open_questions(&session, 2);
    // The second first: an answer belongs to its question, not to its turn.
    for id in ids.iter().rev() {
        let pick = option(&stage.question(id), 0, 0);
        stage.answer(id, &json!([[pick]]));
    }
    for id in &ids {
        stage.confirmed(id);
    }
}

pub fn hub_killed_live(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast, "hub-killed-live");
    stage.hub.kill().unwrap();
    stage.hub.restart().unwrap();
    assert_eq!(stage.question(&id), question, "the same question under the same id");
    let pick = option(&question, 0, 0);
    stage.answer(&id, &json!([[pick]]));
    // Between the answer and its delivery, or just after it: whichever it is, the agent gets it once.
    stage.hub.kill().unwrap();
    stage.hub.restart().unwrap();
    let settled = stage.confirmed(&id);
    assert_eq!(settled["outcome"]["answers"], json!([[pick]]));
    expect_seen(stage, cast, &session, &[&pick]);
    std::thread::sleep(Duration::from_millis(300));
    let seen = cast.saw(stage, &session);
    assert_eq!(seen.matches(&pick).count(), 1, "the answer reached the agent once: {seen}");
}

pub fn answer_after_exit(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, _) = begin(stage, cast, "answer-after-exit");
    let pid = stage.session(&session)["pid"].as_u64().unwrap();
    askd_testkit::hub::signal(u32::try_from(pid).unwrap(), "KILL").unwrap();
    let question = eventually("the cancelled question", || {
        let question = stage.question(&id);
        (question["status"] == "cancelled").then_some(question)
    });
    assert_eq!(question["outcome"]["cause"]["signal"], 9, "{question}");
    let (status, problem) = stage
        .hub
        .http("POST", &format!("/v1/questions/{id}/reply"), Some(&json!({ "answers": [["late"]] })))
        .unwrap();
    assert_eq!((status, &problem["code"]), (409, &json!("already_settled")));
    assert_eq!(stage.questions("requested").len(), 0);
}
