//! A disk that takes no more while an agent talks: clients wait, and when there is room the stream has every line.
//!
//! The limit is on the size of files (`RLIMIT_FSIZE`), so writes of the hub fail as they do on a full disk, and only the hub's.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use acp::{Guarded, Place, assert_no_hole, eventually, result};
use askd_testkit::hub::{Hub, HubBuilder};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

const EXTENSION: &str = "_sandboxagent/session/request_question";
/// Room for all but a huge line.
const ROOM: u64 = 512 << 10;
/// A line for which there is no room.
const HUGE: &str = "huge=1000000";
/// What the hub logs whenever it could not store what an agent said.
const REFUSED: &str = "cannot store what an agent said";

/// A hub that gets an error and no signal where a file may not grow.
fn hub(folder: &Path) -> Guarded {
    acp::start(builder(folder))
}

fn builder(folder: &Path) -> HubBuilder {
    let exe = folder.join("askd");
    let script = format!("#!/bin/sh\ntrap '' XFSZ\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_askd"));
    std::fs::write(&exe, script).unwrap();
    std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).unwrap();
    Hub::builder(exe).arg("--end-agents")
}

fn allow(hub: &Hub, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(hub.pid().unwrap()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

/// Waits until the hub has tried again and again.
fn wait_for_refusals(hub: &Hub) {
    eventually("refused writes", || (hub.log().matches(REFUSED).count() >= 4).then_some(()));
}

#[test]
fn a_response_waits_until_what_was_said_before_it_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(folder.path());
    let place = Place::new(&hub, "full");
    let session = place.open("mock", "/tmp");
    allow(&hub, Some(ROOM));
    let prompted = place.prompt(3, &session, HUGE);
    wait_for_refusals(&hub);
    assert!(!prompted.is_finished(), "told before it was stored: {:?}", prompted.join());
    allow(&hub, None);
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    let mut stream = place.stream(None);
    stream.until(|event| event.data.len() > 1_000_000);
    assert_no_hole(&stream.seen);
}

#[test]
fn no_line_is_stored_without_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(folder.path());
    let place = Place::new(&hub, "full");
    let session = place.open("mock", "/tmp");
    let mut stream = place.stream(None);
    allow(&hub, Some(ROOM));
    // The huge line and the first question are one write, the second question is the next.
    let prompted = place.prompt(3, &session, &format!("{HUGE} both"));
    wait_for_refusals(&hub);
    allow(&hub, None);
    stream.until(|event| event.data.len() > 1_000_000);
    for _ in 0..2 {
        let asked = stream.request(EXTENSION);
        let answers = json!({ "status": "answered", "answers": [["option-a"]] });
        assert_eq!(place.respond(&asked, &answers).0, 202, "{asked}");
    }
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    assert_no_hole(&stream.seen);
}

#[test]
fn the_first_prompt_is_not_lost_with_what_the_agent_said_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(folder.path());
    let asked = |session: &str| {
        let path = format!("/v1/questions?status=requested&session={session}");
        hub.http("GET", &path, None).unwrap().1["questions"].as_array().unwrap().len()
    };
    for _ in 0..3 {
        let refused = hub.log().matches(REFUSED).count();
        let start = json!({ "agent": "mock", "cwd": "/tmp", "prompt": "question" });
        let (status, session) = hub.http("POST", "/v1/sessions", Some(&start)).unwrap();
        // Not one page more.
        let full = std::fs::metadata(hub.data.join("askd.db-wal")).unwrap().len();
        allow(&hub, Some(full));
        assert_eq!(status, 201, "{session}");
        let session = session["id"].as_str().unwrap();
        eventually("a refused write, or all was faster", || {
            (hub.log().matches(REFUSED).count() > refused || asked(session) == 1).then_some(())
        });
        allow(&hub, None);
        eventually("the question", || (asked(session) == 1).then_some(()));
    }
}

/// An agent that asks in a tool call. With the answer it says much, asks again, and only then goes on with the call.
const ASKING: &str = r#"while IFS= read -r line; do
  case "$line" in
    *'"initialize"'*) cat "$FIRST" ;;
    *'"id":"first"'*) cat "$THEN" ;;
  esac
done"#;

#[test]
fn evidence_is_not_lost_with_what_was_said_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let update = |update: Value| {
        let params = json!({ "sessionId": "s", "update": update });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
    };
    let ask = |id: &str, call: Option<&str>| {
        let params = json!({ "sessionId": "s", "prompt": id, "toolCallId": call });
        json!({ "jsonrpc": "2.0", "id": id, "method": EXTENSION, "params": params })
    };
    let call = |step: &str, status: &str| {
        update(json!({ "sessionUpdate": step, "toolCallId": "t", "title": "Ask", "status": status }))
    };
    let text = json!({ "type": "text", "text": "x".repeat(1_000_000) });
    let huge = update(json!({ "sessionUpdate": "agent_message_chunk", "content": text }));
    let write = |name: &str, lines: &[Value]| {
        let path = folder.path().join(name);
        std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        path
    };
    let first = write("first", &[call("tool_call", "pending"), ask("first", Some("t"))]);
    let then = write("then", &[huge, ask("second", None), call("tool_call_update", "completed")]);
    let script = folder.path().join("agent.sh");
    std::fs::write(&script, ASKING).unwrap();
    let agent = format!("--agent=asking=sh {}", script.display());
    let hub = acp::start(builder(folder.path()).arg(agent).env("FIRST", first).env("THEN", then));
    let place = Place::new(&hub, "full");
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let waiting = std::thread::spawn({
        let place = place.clone();
        move || place.post("?agent=asking", hello)
    });
    let question = |text: &str| {
        let (_, list) = hub.http("GET", "/v1/questions?order=asc", None).unwrap();
        let asked = list["questions"].as_array().unwrap().iter();
        asked.into_iter().find(|asked| asked["questions"][0]["question"] == text).cloned()
    };
    eventually("the first question", || question("first"));
    allow(&hub, Some(ROOM));
    let answer = json!({ "status": "answered", "answers": [["yes"]] });
    assert_eq!(place.respond(&json!({ "id": "first" }), &answer).0, 202);
    wait_for_refusals(&hub);
    assert_eq!(question("second"), None);
    allow(&hub, None);
    eventually("the second question", || question("second"));
    eventually("the evidence", || (question("first")?["delivery"]["state"] == "confirmed").then_some(()));
    assert!(!waiting.is_finished(), "a client that waits goes on waiting: {:?}", waiting.join());
}
