//! A real hub, a real holder and a real process: sessions, messages and ends, and the faults that only the
//! mock has on demand. What holds for every agent is in `live_conformance`.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
mod live;

use std::time::Duration;

use live::{Stage, eventually};
use serde_json::json;

#[test]
fn an_agent_that_dies_while_it_asks_ends_its_question_with_its_last_words() {
    let stage = Stage::new();
    let session = stage.start(&json!({ "agent": "mock", "prompt": "crash-while-asking" }));
    let question = eventually("the cancelled question", || {
        stage.questions("cancelled").into_iter().find(|question| question["sessionId"] == session.as_str())
    });
    let cause = &question["outcome"]["cause"];
    assert_eq!((cause["type"].as_str(), cause["code"].as_i64()), (Some("agentExited"), Some(3)), "{cause}");
    assert!(!cause["stderr"].as_array().unwrap().is_empty(), "{cause}");
    let ended = stage.session(&session);
    assert_eq!((ended["live"].as_bool(), &ended["end"]), (Some(false), cause));
}

#[test]
fn a_flood_while_no_hub_is_there_is_not_lost() {
    const LINES: usize = 100_000;
    let mut stage = Stage::new();
    // It floods a second after it was told to, when the hub is gone, and then asks.
    let session = stage.start(
        &json!({ "agent": "mock", "prompt": format!("env=NOTHING slow=1500 flood={LINES} question") }),
    );
    eventually("the agent has heard its prompt", || {
        stage.transcript(&session).contains("NOTHING is not set").then_some(())
    });
    stage.hub.kill().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    stage.hub.restart().unwrap();
    let question = stage.open_question(&session);
    stage.answer(&question, &json!([["option-a"]]));
    stage.confirmed(&question);
    let transcript = stage.transcript(&session);
    let numbers: Vec<usize> =
        transcript.lines().filter_map(|line| line.trim().strip_prefix("flood ")?.parse().ok()).collect();
    assert_eq!(numbers.len(), LINES, "the first lines: {:?}", transcript.lines().take(5).collect::<Vec<_>>());
    assert!(numbers.iter().enumerate().all(|(i, n)| i == *n), "a hole or a repeat");
}

#[test]
fn the_first_prompt_is_said_once_however_early_the_hub_is_killed() {
    let mut stage = Stage::new();
    for _ in 0..5 {
        let session = stage.start(&json!({ "agent": "mock", "prompt": "question" }));
        eventually("a session", || (stage.session(&session)["nativeId"] == "mock-1").then_some(()));
        stage.hub.kill().unwrap();
        stage.hub.restart().unwrap();
        let question = stage.open_question(&session);
        stage.answer(&question, &json!([["option-a"]]));
        stage.confirmed(&question);
        let said = stage.transcript(&session);
        assert_eq!(said.matches("received: ").count(), 1, "{said}");
        stage.hub.http("DELETE", &format!("/v1/sessions/{session}"), None).unwrap();
    }
}

#[test]
fn ending_a_session_ends_every_process_of_it_however_stubborn() {
    let stage = Stage::new();
    let session = stage.start(&json!({ "agent": "mock", "prompt": "child ignore-term question" }));
    let question = stage.open_question(&session);
    let holder = stage.holders().into_iter().next().expect("a holder");
    let agent = holder["agentPid"].as_i64().unwrap();
    let children = live::group_of(agent);
    assert!(children.len() >= 2, "the agent and its child: {children:?}");
    assert_eq!(stage.hub.http("DELETE", &format!("/v1/sessions/{session}"), None).unwrap().0, 204);
    assert_eq!(stage.question(&question)["status"], "cancelled");
    assert_eq!(stage.question(&question)["outcome"]["cause"]["type"], "sessionEnded");
    eventually("all processes are gone", || {
        let left = children.iter().chain([&agent]).any(|pid| live::is_alive(*pid));
        (!left && stage.holders().is_empty()).then_some(())
    });
}

#[test]
fn a_killed_holder_ends_its_session_and_says_that_lines_may_be_missing() {
    let stage = Stage::new();
    let session = stage.start(&json!({ "agent": "mock", "prompt": "question" }));
    let question = stage.open_question(&session);
    let holder = stage.holders().into_iter().next().expect("a holder");
    let agent = holder["agentPid"].as_i64().unwrap();
    let pid = i32::try_from(holder["holderPid"].as_i64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let cause = eventually("the question is over", || {
        let question = stage.question(&question);
        (question["status"] == "cancelled").then(|| question["outcome"]["cause"].clone())
    });
    assert_eq!(cause["type"], "sourceLost");
    let detail = cause["detail"].as_str().unwrap();
    assert!(detail.contains("the lines that the agent wrote in its last second may be missing"), "{detail}");
    eventually("the agent is gone", || (!live::is_alive(agent)).then_some(()));
}

#[test]
fn detaching_a_managed_source_ends_its_agent() {
    let stage = Stage::new();
    let session = stage.start(&json!({ "agent": "mock", "prompt": "question" }));
    let question = stage.open_question(&session);
    let agent = stage.holders()[0]["agentPid"].as_i64().unwrap();
    let source = stage.session(&session)["sourceId"].as_str().unwrap().to_owned();
    assert_eq!(stage.hub.http("DELETE", &format!("/v1/sources/{source}"), None).unwrap().0, 204);
    assert_eq!(stage.question(&question)["outcome"]["cause"]["type"], "sourceLost");
    eventually("the agent is gone", || (!live::is_alive(agent)).then_some(()));
}

#[test]
fn a_managed_agent_has_its_session_and_no_token() {
    let stage = Stage::new();
    let session = stage.start(&json!({ "agent": "mock", "prompt": "env=ASKD_SESSION env=ASKD_TOKEN env=ASKD_DATA env=WORD", "env": { "WORD": "given" } }));
    let said = eventually("four lines", || {
        let said = stage.transcript(&session);
        said.contains("env WORD").then_some(said)
    });
    assert!(said.contains(&format!("env ASKD_SESSION={session}")), "{said}");
    assert!(
        said.contains("env ASKD_TOKEN is not set") && said.contains("env ASKD_DATA is not set"),
        "{said}"
    );
    assert!(said.contains("env WORD=given"), "{said}");
}

#[test]
fn what_cannot_be_started_says_why() {
    let stage = Stage::new();
    for (request, status, wanted) in [
        (json!({ "agent": "nobody" }), 404, "mock"),
        (json!({ "agent": "amp" }), 409, "Amp"),
        (json!({ "agent": "mock", "cwd": "nowhere" }), 400, "absolute"),
        (json!({ "agent": "mock", "cwd": "/nowhere-at-all" }), 400, "is not a folder"),
        (json!({ "agent": "mock", "env": { "ASKD_TOKEN": "x" } }), 400, "itself"),
        (json!({ "agent": "mock", "colour": 1 }), 400, "colour"),
    ] {
        let (got, problem) = stage.hub.http("POST", "/v1/sessions", Some(&request)).unwrap();
        assert_eq!(got, status, "{request}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(wanted), "{request}: {problem}");
    }
    assert_eq!(stage.holders().len(), 0);
}

#[test]
fn a_message_goes_on_with_the_session_and_none_reaches_an_ended_one() {
    let stage = Stage::new();
    let session = stage.start(&json!({ "agent": "mock", "prompt": "good morning" }));
    let say = |text: &str| {
        let path = format!("/v1/sessions/{session}/messages");
        stage.hub.http("POST", &path, Some(&json!({ "text": text }))).unwrap()
    };
    assert_eq!(say("hello there").0, 202);
    eventually("the echo", || stage.transcript(&session).contains("you said: hello there").then_some(()));
    let told: Vec<_> = stage.entries(&session).into_iter().filter(|entry| entry["voice"] == "user").collect();
    let told: Vec<&str> = told.iter().filter_map(|entry| entry["text"].as_str()).collect();
    assert_eq!(told, ["good morning", "hello there"], "the transcript has both sides, from the first word");
    assert_eq!(say(" ").0, 400);
    assert_eq!(stage.hub.http("DELETE", &format!("/v1/sessions/{session}"), None).unwrap().0, 204);
    eventually("the end", || (say("again").0 == 409).then_some(()));
}
