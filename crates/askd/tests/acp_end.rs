//! The beginning and the end of an ACP server: an agent that dies, one that is ended, and what may be started
//! after it.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use acp::{EXTENSION, HELLO, Place, assert_no_hole, eventually, hub, is_alive, prompt, questions, result};
use askd_testkit::hub::{Hub, signal};
use serde_json::{Value, json};

fn agent_pid(hub: &Hub) -> i64 {
    let (_, list) = hub.http("GET", "/v1/holders", None).unwrap();
    list["holders"][0]["agentPid"].as_i64().unwrap()
}

#[test]
fn an_agent_that_dies_while_it_asks_is_told_at_once_with_its_last_words() {
    let hub = hub();
    let place = Place::new(&hub, "dies");
    let session = place.open("mock", "/tmp");
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "crash-while-asking");
    let asked = stream.request(EXTENSION);
    let (status, body) = prompted.join().unwrap();
    assert_eq!(status, 200);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["id"], 3);
    let cause = &body["error"]["data"]["askd"]["cause"];
    assert_eq!((&cause["type"], &cause["code"]), (&json!("agentExited"), &json!(3)), "{body}");
    assert!(body["error"]["message"].as_str().unwrap().contains("asked to crash"), "{body}");
    let cancelled = eventually("the cancelled question", || questions(&hub, "cancelled").pop());
    assert_eq!(&cancelled["outcome"]["cause"], cause);
    let events = stream.rest();
    assert!(events.last().unwrap().data.contains("_askd/agent_ended"), "{events:?}");
    assert_no_hole(&events);
    // A late answer is a conflict and starts nothing; neither does another request.
    let (status, problem) =
        place.respond(&asked, &json!({ "status": "answered", "answers": [["option-a"]] }));
    assert_eq!((status, problem["code"].as_str()), (409, Some("already_settled")));
    let (status, body) = place.post("?agent=mock", &prompt(4, &session, "hello"));
    assert!(status == 409 && body.contains("code 3"), "{body}");
    eventually("no holder is left", || {
        (hub.http("GET", "/v1/holders", None).unwrap().1["holders"] == json!([])).then_some(())
    });
    // A new conversation under the same name goes on in the same stream.
    let again = place.open("mock", "/tmp");
    let done = place.prompt(3, &again, "hello");
    assert_eq!(result(&done.join().unwrap())["stopReason"], "end_turn");
    let mut stream = place.stream(Some(events.last().unwrap().id));
    stream.until(|event| event.data.contains("you said: hello"));
    assert_eq!(stream.seen[0].id, events.last().unwrap().id + 1);
}

#[test]
fn whoever_was_told_of_the_end_can_start_another_agent_at_once() {
    let hub = acp::start(acp::builder().arg("--agent=broken=sh -c 'echo sorry >&2; exit 7'"));
    let place = Place::new(&hub, "again");
    for _ in 0..3 {
        let (status, body) = place.post("?agent=broken", HELLO);
        // It may be gone before it could be asked anything.
        let told = body.contains("code 7") && body.contains("sorry");
        assert!(matches!(status, 200 | 409) && told, "{status} {body}");
    }
    for _ in 0..3 {
        let session = place.open("mock", "/tmp");
        let (_, body) = place.prompt(3, &session, "crash-while-asking").join().unwrap();
        assert!(body.contains("code 3"), "{body}");
        // Anything but a greeting is for the agent that has ended.
        let (status, body) = place.post("?agent=mock", &prompt(4, &session, "hello"));
        assert!(status == 409 && body.contains("code 3"), "{status} {body}");
    }
}

#[test]
fn a_server_that_is_just_being_started_can_be_ended() {
    let hub = hub();
    for round in 0..10 {
        let place = Place::new(&hub, &format!("quick-{round}"));
        let started = place.clone();
        let started = std::thread::spawn(move || started.post("?agent=mock", HELLO));
        // Before that, there is nothing to end.
        eventually("the server is ended", || match place.delete() {
            204 => Some(()),
            404 => None,
            other => unreachable!("{other}"),
        });
        let (status, body) = started.join().unwrap();
        assert!(status == 200 || status == 409, "{status} {body}");
    }
    assert_eq!(hub.http("GET", "/v1/holders", None).unwrap().1["holders"], json!([]));
}

#[test]
fn delete_answers_when_the_whole_group_is_gone() {
    let hub = hub();
    let place = Place::new(&hub, "stubborn");
    let session = place.open("mock", "/tmp");
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "child ignore-term question");
    stream.request(EXTENSION);
    let agent = agent_pid(&hub);
    let child = stream.seen.iter().find_map(|event| {
        event.data.split("child ").nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?.parse::<i64>().ok()
    });
    assert_eq!(place.delete(), 204);
    assert!(!is_alive(agent), "the agent lives");
    assert!(!is_alive(child.unwrap()), "its child lives");
    let (status, body) = prompted.join().unwrap();
    // Its turn was cancelled before its process was ended; one that does not answer is told by its end.
    assert!(status == 200 && (body.contains("cancelled") || body.contains("ended by")), "{body}");
    assert_eq!(questions(&hub, "cancelled").len(), 1);
    assert_eq!(place.delete(), 204, "ending what has ended is no error");
    let events = stream.rest();
    assert!(events.last().unwrap().data.contains("_askd/agent_ended"), "{events:?}");
}

#[test]
fn an_agent_that_hears_nothing_any_more_is_ended_like_any_other() {
    let hub = hub();
    let place = Place::new(&hub, "deaf");
    let session = place.open("mock", "/tmp");
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &session, "flood=1 ignore-term hang");
    stream.until(|event| event.data.contains("flood 0"));
    let agent = agent_pid(&hub);
    // What it will never read does not stand in the way, and whoever waits for it is told.
    let waiting = place.prompt(4, &session, &"x".repeat(1 << 20));
    assert_eq!(place.delete(), 204);
    assert!(!is_alive(agent), "the agent lives");
    for (id, response) in [(3, prompted), (4, waiting)] {
        let (status, body) = response.join().unwrap();
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        assert!(status == 409 || body["id"] == id && body["error"]["code"] == -32603, "{status} {body}");
    }
}

#[test]
fn what_a_killed_hub_was_just_ending_is_ended_by_the_next() {
    let mut hub = hub();
    let place = Place::new(&hub, "halfway");
    place.open("mock", "/tmp");
    let agent = agent_pid(&hub);
    let (_, sources) = hub.http("GET", "/v1/sources", None).unwrap();
    let source = sources["sources"][0]["id"].as_str().unwrap().to_owned();
    // The holder hears nothing while the hub still lives.
    let holder = hub.holders()[0];
    signal(holder, "STOP").unwrap();
    assert_eq!(hub.http("DELETE", &format!("/v1/sources/{source}"), None).unwrap().0, 204);
    hub.kill().unwrap();
    signal(holder, "CONT").unwrap();
    hub.restart().unwrap();
    eventually("nobody is left", || (!is_alive(agent) && hub.holders().is_empty()).then_some(()));
    eventually("nothing is left", || {
        std::fs::read_dir(hub.data.join("holders")).unwrap().next().is_none().then_some(())
    });
}
