//! Many sessions of one agent talk and ask at the same moment, and the hub is killed in the middle of it.

mod acp;

use std::collections::{HashMap, HashSet};

use acp::{EXTENSION, Event, Place, assert_no_hole};
use serde_json::{Value, json};

const SESSIONS: u64 = 64;
const LINES: usize = 50;
/// Said by each session when it has its prompt, before it talks.
const READY: &str = "NOTHING is not set";

fn text(event: &Event) -> Option<(String, String)> {
    let params = &event.json()["params"];
    let said = params["update"]["content"]["text"].as_str()?.trim().to_owned();
    Some((params["sessionId"].as_str()?.to_owned(), said))
}

#[test]
fn a_burst_that_a_killed_hub_was_hearing_is_heard_once_and_in_order() {
    let mut hub = acp::start(acp::builder());
    let place = Place::new(&hub, "burst");
    let first = place.open("mock", "/tmp");
    let others = (0..SESSIONS - 1).map(|i| place.new_session(10 + i, "/tmp"));
    let sessions: Vec<String> = std::iter::once(first).chain(others).collect();
    let mut stream = place.stream(None);
    let prompt = format!("env=NOTHING slow=1000 flood={LINES} question");
    for (session, id) in sessions.iter().zip(100..) {
        drop(place.prompt(id, session, &prompt));
    }
    let mut ready = 0;
    while ready < SESSIONS {
        ready += u64::from(stream.next().data.contains(READY));
    }
    stream.until(|event| event.data.contains(EXTENSION));
    hub.kill().unwrap();
    hub.restart().unwrap();

    let mut replay = place.stream(None);
    let mut asked: Vec<Value> = Vec::new();
    while asked.len() < sessions.len() {
        asked.push(replay.request(EXTENSION)["id"].clone());
    }
    assert_eq!(asked.iter().map(Value::to_string).collect::<HashSet<_>>().len(), asked.len(), "{asked:?}");
    for id in &asked {
        let answer = json!({ "status": "answered", "answers": [["option-a"]] });
        assert_eq!(place.respond(&json!({ "id": id }), &answer), (202, Value::Null), "{id}");
    }
    // Every turn goes on to its end, with the answer that its session got.
    let mut went_on = 0;
    while went_on < sessions.len() {
        let event = replay.next();
        went_on += usize::from(text(&event).is_some_and(|(_, said)| said.starts_with("received: ")));
    }
    assert_no_hole(&replay.seen);
    assert!(replay.seen.starts_with(&stream.seen), "what was shown before is shown again");
    let mut floods: HashMap<String, Vec<String>> = HashMap::new();
    for (session, said) in replay.seen.iter().filter_map(text).filter(|(_, said)| said.starts_with("flood "))
    {
        floods.entry(session).or_default().push(said);
    }
    let wanted: Vec<String> = (0..LINES).map(|n| format!("flood {n}")).collect();
    for session in &sessions {
        assert_eq!(floods[session], wanted, "{session}");
    }
}
