//! The scenes in which something breaks: the hub, the agent, a line, or a reader's patience.

use std::time::Duration;

use askd_testkit::hub::signal;
use serde_json::{Value, json};

use super::cast::{Cast, FLOOD};
use super::live::{Stage, TranscriptReader, eventually, said};
use super::scenes::{begin, expect_seen, expect_too_late, option};

/// How long one waits for what must not happen: a second delivery comes at once or not at all.
const A_WHILE: Duration = Duration::from_millis(300);

/// The outcome is there, and the agent got it once.
fn expect_once(stage: &Stage, cast: &dyn Cast, session: &str, id: &str, pick: &str) {
    let settled = stage.confirmed(id);
    assert_eq!(askd_testkit::given(&settled["outcome"]["answers"]), json!([[pick]]));
    expect_seen(stage, cast, session, &[pick]);
    std::thread::sleep(A_WHILE);
    let seen = cast.saw(stage, session);
    assert_eq!(seen.matches(pick).count(), 1, "the answer reached the agent once: {seen}");
}

/// Killed between ask and answer.
pub fn hub_killed_while_open(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast);
    stage.hub.kill().unwrap();
    stage.hub.restart().unwrap();
    assert_eq!(stage.question(&id), question, "the same question under the same id");
    let pick = option(&question, 0, 0);
    stage.answer(&id, &json!([[pick]]));
    expect_once(stage, cast, &session, &id, &pick);
}

/// Killed between answer and delivery: whoever carries it to the agent does not move until the hub is dead.
pub fn hub_killed_after_answer(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast);
    let holder = stage.holders().into_iter().next().expect("a holder");
    let bearers: Vec<u32> = ["holderPid", "agentPid"]
        .iter()
        .map(|name| u32::try_from(holder[name].as_u64().unwrap()).unwrap())
        .collect();
    bearers.iter().for_each(|pid| signal(*pid, "STOP").unwrap());
    let pick = option(&question, 0, 0);
    stage.answer(&id, &json!([[pick]]));
    let state = stage.question(&id)["delivery"]["state"].clone();
    stage.hub.kill().unwrap();
    bearers.iter().for_each(|pid| signal(*pid, "CONT").unwrap());
    assert_ne!(state, "confirmed", "it was delivered by nobody");
    stage.hub.restart().unwrap();
    expect_once(stage, cast, &session, &id, &pick);
}

/// Killed twice in the life of one question, at moments that nobody chose.
pub fn hub_killed_live(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast);
    stage.hub.kill().unwrap();
    stage.hub.restart().unwrap();
    let pick = option(&question, 0, 0);
    stage.answer(&id, &json!([[pick]]));
    stage.hub.kill().unwrap();
    stage.hub.restart().unwrap();
    expect_once(stage, cast, &session, &id, &pick);
}

pub fn duplicate_input(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast);
    std::thread::sleep(A_WHILE);
    assert_eq!(stage.open_questions(&session, 1), [id.as_str()]);
    let pick = option(&question, 0, 0);
    stage.answer(&id, &json!([[pick]]));
    expect_once(stage, cast, &session, &id, &pick);
}

/// Whatever the agent wrote before, its question is heard and answered.
pub fn goes_on(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast);
    let pick = option(&question, 0, 1);
    stage.answer(&id, &json!([[pick]]));
    expect_once(stage, cast, &session, &id, &pick);
}

pub fn oversized(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, question) = begin(stage, cast);
    let told =
        |entry: &Value| entry["text"].as_str().is_some_and(|text| text.contains("too long to be heard"));
    eventually("the word that a line was too long", || {
        stage.entries(&session).iter().any(told).then_some(())
    });
    let pick = option(&question, 0, 1);
    stage.answer(&id, &json!([[pick]]));
    stage.confirmed(&id);
    expect_seen(stage, cast, &session, &[&pick]);
}

/// The agent dies while it asks, and somebody answers all the same.
pub fn agent_exit(stage: &mut Stage, cast: &dyn Cast) {
    let (session, id, _) = begin(stage, cast);
    let pid = stage.session(&session)["pid"].as_u64().unwrap();
    signal(u32::try_from(pid).unwrap(), "KILL").unwrap();
    let question = eventually("the cancelled question", || {
        let question = stage.question(&id);
        (question["status"] == "cancelled").then_some(question)
    });
    let cause = &question["outcome"]["cause"];
    assert_eq!((&cause["type"], &cause["signal"]), (&json!("agentExited"), &json!(9)), "{question}");
    expect_too_late(stage, &id);
    let ended = stage.session(&session);
    assert_eq!((ended["live"].as_bool(), &ended["end"]), (Some(false), cause));
    assert_eq!(stage.questions("requested").len(), 0);
}

/// A reader that does not read a byte while the agent says much, asks and is answered.
pub fn slow_reader(stage: &mut Stage, cast: &dyn Cast) {
    let session = stage.start(&cast.session());
    let reader = TranscriptReader::open(stage, &session);
    let id = stage.open_question(&session);
    let pick = option(&stage.question(&id), 0, 0);
    stage.answer(&id, &json!([[pick]]));
    stage.confirmed(&id);
    let said = said(&reader.rest(stage));
    let numbers = said.lines().filter_map(|line| line.trim().strip_prefix("flood ")?.parse().ok());
    let numbers: Vec<usize> = numbers.collect();
    assert_eq!(numbers.len(), FLOOD);
    assert!(numbers.iter().enumerate().all(|(i, n)| i == *n), "a hole or a repeat");
}
