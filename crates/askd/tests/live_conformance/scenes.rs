//! The scenes: what must happen between a person and an agent, whoever the agent is. In: a stage and a cast.
//! Out: a panic that says what was not seen. Each is named after the scenario that it plays; docs/adapters.md
//! says what each of them demands.

use serde_json::{Value, json};

use super::cast::Cast;
use super::live::{Stage, eventually};

/// A scenario and how it is played.
pub type Scene = (&'static str, fn(&mut Stage, &dyn Cast));

pub const SCENES: &[Scene] = &[
    ("ask-and-answer", ask_and_answer),
    ("multi-select", multi_select),
    ("several-items", several_items),
    ("free-text", free_text),
    ("notes", notes),
    ("secret", secret),
    ("form", form),
    ("link", link),
    ("plan", plan),
    ("plan-edits", plan_edits),
    ("permission", permission),
    ("decline", |stage, cast| rejected(stage, cast, "decline")),
    ("cancel", |stage, cast| rejected(stage, cast, "cancel")),
    ("interrupt", |stage, cast| rejected(stage, cast, "interrupt")),
    ("withdrawn", withdrawn),
    ("answered-elsewhere", answered_elsewhere),
    ("two-open-at-once", two_open_at_once),
    ("hub-killed-while-open", super::faults::hub_killed_while_open),
    ("hub-killed-after-answer", super::faults::hub_killed_after_answer),
    ("duplicate-input", super::faults::duplicate_input),
    ("malformed", super::faults::goes_on),
    ("unknown-messages", super::faults::goes_on),
    ("agent-exit", super::faults::agent_exit),
    ("oversized", super::faults::oversized),
    ("slow-reader", super::faults::slow_reader),
    ("hub-killed-live", super::faults::hub_killed_live),
];

/// What is said where an agent cannot do what a scenario wants of it. A gap that fails in any other way is
/// not that gap.
pub fn refusal(scenario: &str) -> Option<&'static str> {
    match scenario {
        "plan-edits" => Some("cannot carry an edited plan"),
        "decline" | "cancel" | "interrupt" => Some("unsupported_mode"),
        _ => None,
    }
}

/// The session, and the id and content of its first question.
pub fn begin(stage: &Stage, cast: &dyn Cast) -> (String, String, Value) {
    let session = stage.start(&cast.session());
    let id = stage.open_question(&session);
    let question = stage.question(&id);
    (session, id, question)
}

/// Waits until the agent, or its model, has received all of these.
pub fn expect_seen(stage: &Stage, cast: &dyn Cast, session: &str, wanted: &[&str]) {
    eventually(&format!("the agent received {wanted:?}"), || {
        let seen = cast.saw(stage, session);
        wanted.iter().all(|text| seen.contains(text)).then_some(())
    });
}

/// The value of the option with this number, counted from 0, of an item.
pub fn option(question: &Value, item: usize, number: usize) -> String {
    question["questions"][item]["options"][number]["value"].as_str().unwrap().to_owned()
}

/// A word that comes too late is told so, and changes nothing.
pub fn expect_too_late(stage: &Stage, id: &str) {
    let before = stage.question(id);
    let late = json!({ "reason": "late" });
    let (status, problem) =
        stage.hub.http("POST", &format!("/v1/questions/{id}/reject"), Some(&late)).unwrap();
    assert_eq!((status, &problem["code"]), (409, &json!("already_settled")), "{problem}");
    assert_eq!(stage.question(id), before);
}

/// Answers each item with these, and sees them arrive.
fn answer_and_see(stage: &Stage, cast: &dyn Cast, asked: &(String, String, Value), answers: &[Vec<String>]) {
    let (session, id, _) = asked;
    stage.answer(id, &json!(answers));
    let settled = stage.confirmed(id);
    assert_eq!(askd_testkit::given(&settled["outcome"]["answers"]), json!(answers));
    let wanted: Vec<&str> = answers.iter().flatten().map(String::as_str).collect();
    expect_seen(stage, cast, session, &wanted);
}

fn ask_and_answer(stage: &mut Stage, cast: &dyn Cast) {
    let asked = begin(stage, cast);
    assert!(!asked.2["questions"][0]["question"].as_str().unwrap().is_empty(), "{}", asked.2);
    let pick = option(&asked.2, 0, 1);
    answer_and_see(stage, cast, &asked, &[vec![pick]]);
}

fn multi_select(stage: &mut Stage, cast: &dyn Cast) {
    let asked = begin(stage, cast);
    assert_eq!(asked.2["questions"][0]["multiple"], true, "{}", asked.2);
    let picks = vec![option(&asked.2, 0, 0), option(&asked.2, 0, 2)];
    answer_and_see(stage, cast, &asked, &[picks]);
}

fn several_items(stage: &mut Stage, cast: &dyn Cast) {
    let asked = begin(stage, cast);
    let picks = [vec![option(&asked.2, 0, 1)], vec![option(&asked.2, 1, 0)]];
    answer_and_see(stage, cast, &asked, &picks);
}

fn free_text(stage: &mut Stage, cast: &dyn Cast) {
    let asked = begin(stage, cast);
    answer_and_see(stage, cast, &asked, &[vec!["my own words, with a comma".to_owned()]]);
}

fn notes(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast);
    let pick = option(&question, 0, 0);
    stage.reply(&id, &json!({ "answers": [[pick]], "notes": ["but only for now"] }));
    stage.confirmed(&id);
    expect_seen(stage, cast, &session, &[&pick, "but only for now"]);
}

fn secret(stage: &mut Stage, cast: &dyn Cast) {
    const WORD: &str = "sk-never-shown";
    let (session, id, question) = begin(stage, cast);
    assert_eq!(question["questions"][0]["secret"], true, "{question}");
    stage.answer(&id, &json!([[WORD]]));
    let settled = stage.confirmed(&id);
    assert!(!settled.to_string().contains(WORD), "the inbox shows it: {settled}");
    expect_seen(stage, cast, &session, &[WORD]);
}

fn form(stage: &mut Stage, cast: &dyn Cast) {
    let asked = begin(stage, cast);
    assert_eq!(asked.2["kind"], "form", "{}", asked.2);
    let items = asked.2["questions"].as_array().unwrap().iter();
    let answers: Vec<Vec<String>> = items
        .map(|item| match item["options"][0]["value"].as_str() {
            Some(value) => vec![value.to_owned()],
            None if item["input"] == "integer" => vec!["7".to_owned()],
            None => Vec::new(),
        })
        .collect();
    assert!(answers.contains(&vec!["7".to_owned()]), "a typed field: {}", asked.2);
    answer_and_see(stage, cast, &asked, &answers);
}

fn link(stage: &mut Stage, cast: &dyn Cast) {
    let (_, id, question) = begin(stage, cast);
    assert!(question["questions"][0]["url"].as_str().unwrap().starts_with("https://"), "{question}");
    stage.answer(&id, &json!([["opened"]]));
    stage.confirmed(&id);
}

fn plan(stage: &mut Stage, cast: &dyn Cast) {
    let (_, id, question) = begin(stage, cast);
    assert_eq!(question["kind"], "plan", "{question}");
    assert!(!question["body"]["text"].as_str().unwrap().is_empty());
    stage.answer(&id, &json!([["approve"]]));
    stage.confirmed(&id);
}

fn plan_edits(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, _) = begin(stage, cast);
    stage.reply(&id, &json!({ "answers": [["approve"]], "editedPlan": "# Plan\n\n1. Only this\n" }));
    stage.confirmed(&id);
    expect_seen(stage, cast, &session, &["1. Only this"]);
}

fn permission(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast);
    assert_eq!(question["kind"], "permission", "{question}");
    assert!(!question["body"]["text"].as_str().unwrap().is_empty(), "what it is about: {question}");
    assert!(!cast.did(stage, &session), "it did not wait for the permission");
    let pick = option(&question, 0, 0);
    stage.answer(&id, &json!([[pick]]));
    stage.confirmed(&id);
    eventually("what was permitted is done", || cast.did(stage, &session).then_some(()));
}

fn rejected(stage: &Stage, cast: &dyn Cast, mode: &str) {
    let (session, id, question) = begin(stage, cast);
    let settled = stage.reject(&id, &json!({ "mode": mode, "reason": "not today" }));
    assert!(question["rejectModes"].as_array().unwrap().contains(&json!(mode)), "not offered: {question}");
    assert_eq!((&settled["status"], &settled["outcome"]["mode"]), (&json!("rejected"), &json!(mode)));
    stage.confirmed(&id);
    if let Some(told) = cast.refused(mode) {
        expect_seen(stage, cast, &session, &[told]);
    }
    if question["kind"] == "permission" {
        assert!(!cast.did(stage, &session), "it did what was refused");
    } else {
        let picks = cast.told(question["questions"][0]["question"].as_str().unwrap(), "");
        let answered = picks.trim_end_matches(['"', ']']);
        assert!(!cast.saw(stage, &session).contains(answered), "nobody answered: {question}");
    }
}

fn withdrawn(stage: &mut Stage, cast: &dyn Cast) {
    let session = stage.start(&cast.session());
    cast.act(stage, &session);
    let question = eventually("the withdrawn question", || {
        stage.questions("cancelled").into_iter().find(|question| question["sessionId"] == session.as_str())
    });
    let cause = question["outcome"]["cause"]["type"].as_str().unwrap_or_default();
    assert!(["agentWithdrew", "turnAborted"].contains(&cause), "{question}");
    assert!(question["delivery"].is_null(), "{question}");
    expect_too_late(stage, question["id"].as_str().unwrap());
}

fn answered_elsewhere(stage: &mut Stage, cast: &dyn Cast) {
    let session = stage.start(&cast.session());
    cast.act(stage, &session);
    let question = eventually("the answer that was given elsewhere", || {
        stage.questions("answered").into_iter().find(|question| question["sessionId"] == session.as_str())
    });
    assert_eq!(question["outcome"]["by"]["surface"], "agent", "{question}");
    assert_ne!(
        askd_testkit::given(&question["outcome"]["answers"]),
        json!([[]]),
        "what was answered: {question}"
    );
    assert!(question["delivery"].is_null(), "{question}");
    expect_too_late(stage, question["id"].as_str().unwrap());
}

fn two_open_at_once(stage: &mut Stage, cast: &dyn Cast) {
    let session = stage.start(&cast.session());
    let ids = stage.open_questions(&session, 2);
    // The second first, and each another number: an answer belongs to its question, not to its turn.
    let mut told = Vec::new();
    for (number, id) in ids.iter().rev().enumerate() {
        let question = stage.question(id);
        let pick = option(&question, 0, number);
        stage.answer(id, &json!([[pick]]));
        told.push(cast.told(question["questions"][0]["question"].as_str().unwrap(), &pick));
    }
    for id in &ids {
        stage.confirmed(id);
    }
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    expect_seen(stage, cast, &session, &told);
}
