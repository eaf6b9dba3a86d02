//! A disk that takes no more while an agent talks: clients wait, and when there is room the stream has every
//! line.
//!
//! The limit is on the size of files (`RLIMIT_FSIZE`), so writes of the hub fail as they do on a full disk,
//! and only the hub's.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::JoinHandle;

use acp::{EXTENSION, Guarded, Place, assert_no_hole, eventually, result};
use askd_testkit::hub::{Hub, HubBuilder};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

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
    eventually("refused writes", || (refusals(hub) >= 4).then_some(()));
}

fn refusals(hub: &Hub) -> usize {
    hub.log().matches(REFUSED).count()
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
        let refused = refusals(&hub);
        let start = json!({ "agent": "mock", "cwd": "/tmp", "prompt": "question" });
        let (status, session) = hub.http("POST", "/v1/sessions", Some(&start)).unwrap();
        // Not one page more.
        let full = std::fs::metadata(hub.data.join("askd.db-wal")).unwrap().len();
        allow(&hub, Some(full));
        assert_eq!(status, 201, "{session}");
        let session = session["id"].as_str().unwrap();
        eventually("a refused write, or all was faster", || {
            (refusals(&hub) > refused || asked(session) == 1).then_some(())
        });
        allow(&hub, None);
        eventually("the question", || (asked(session) == 1).then_some(()));
    }
}

/// An agent that asks, and goes on with the lines of a file when it has all answers.
const ASKING: &str = r#"while IFS= read -r line; do
  case "$line" in
    *'"initialize"'*) cat "$FIRST" ;;
    *'"answered"'*) COUNT=$((COUNT - 1)); [ $COUNT -eq 0 ] && cat "$THEN" ;;
  esac
done"#;

fn update(update: &Value) -> Value {
    let params = json!({ "sessionId": "s", "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
}

/// Only more of its own call is evidence that the answer to a question has arrived.
fn call(step: &str, id: &str) -> Value {
    update(&json!({ "sessionUpdate": step, "toolCallId": format!("call-{id}"), "title": "Ask" }))
}

fn ask(id: &str) -> Value {
    let params = json!({ "sessionId": "s", "prompt": id, "toolCallId": format!("call-{id}") });
    json!({ "jsonrpc": "2.0", "id": id, "method": EXTENSION, "params": params })
}

fn huge() -> Value {
    let text = json!({ "type": "text", "text": "x".repeat(HUGE_TEXT) });
    update(&json!({ "sessionUpdate": "agent_message_chunk", "content": text }))
}

/// Bytes for which there is no room, wherever in its file the hub writes.
const HUGE_TEXT: usize = 2_000_000;

/// That agent, whose last question is answered while there is little room, and a client that waits for the
/// greeting.
struct Answered {
    hub: Guarded,
    place: Place,
    waiting: JoinHandle<(u16, String)>,
}

impl Answered {
    fn start(folder: &Path, ids: &[String], then: &[Value]) -> Self {
        let write = |name: &str, lines: &[Value]| {
            let path = folder.join(name);
            std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
            path
        };
        let asked: Vec<Value> = ids.iter().flat_map(|id| [call("tool_call", id), ask(id)]).collect();
        let (first, then, script) = (write("first", &asked), write("then", then), folder.join("agent.sh"));
        std::fs::write(&script, ASKING).unwrap();
        let agent = format!("--agent=asking=sh {}", script.display());
        let hub = builder(folder).arg(agent).env("FIRST", first).env("THEN", then);
        let hub = acp::start(hub.env("COUNT", ids.len().to_string()));
        let place = Place::new(&hub, "full");
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
        let waiting = std::thread::spawn({
            let place = place.clone();
            move || place.post("?agent=asking", hello)
        });
        let answered = Self { hub, place, waiting };
        eventually("all questions", || ids.iter().all(|id| answered.question(id).is_some()).then_some(()));
        let answer = json!({ "status": "answered", "answers": [["yes"]] });
        let respond =
            |id: &str| assert_eq!(answered.place.respond(&json!({ "id": id }), &answer), (202, Value::Null));
        let (last, others) = ids.split_last().unwrap();
        for id in others {
            respond(id);
            answered.wait_for_delivery(id, "sent");
        }
        let stored = std::fs::metadata(answered.hub.data.join("askd.db-wal")).unwrap().len();
        allow(&answered.hub, Some(stored + ROOM));
        respond(last);
        answered
    }

    fn question(&self, text: &str) -> Option<Value> {
        let (_, list) = self.hub.http("GET", "/v1/questions", None).unwrap();
        let mut asked = list["questions"].as_array().unwrap().iter();
        asked.find(|asked| asked["questions"][0]["question"] == text).cloned()
    }

    /// The title of the agent's session.
    fn title(&self) -> Value {
        self.hub.http("GET", "/v1/sessions", None).unwrap().1["sessions"][0]["title"].clone()
    }

    fn wait_for_delivery(&self, id: &str, state: &str) {
        eventually(&format!("{id} {state}"), || {
            (self.question(id)?["delivery"]["state"] == state).then_some(())
        });
    }
}

#[test]
fn evidence_is_not_lost_with_what_was_said_before_it() {
    let folder = tempfile::tempdir().unwrap();
    // What is said before a question is stored with it.
    let then = [huge(), ask("second"), call("tool_call_update", "first")];
    let answered = Answered::start(folder.path(), &["first".to_owned()], &then);
    wait_for_refusals(&answered.hub);
    assert_eq!(answered.question("second"), None);
    allow(&answered.hub, None);
    eventually("the second question", || answered.question("second"));
    answered.wait_for_delivery("first", "confirmed");
    let waiting = answered.waiting;
    assert!(!waiting.is_finished(), "a client that waits goes on waiting: {:?}", waiting.join());
}

#[test]
fn a_line_is_not_forgotten_by_its_holder_because_something_after_it_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    // Evidence and titles are stored by themselves, and there is room for both. There are some of them
    // because only those that the hub hears together with what was said before them could make it forget
    // that.
    let ids: Vec<String> = (1..=4).map(|n| format!("q{n}")).collect();
    let titled = |title: &str| update(&json!({ "sessionUpdate": "session_info_update", "title": title }));
    let after = ids.iter().flat_map(|id| [call("tool_call_update", id), titled(id)]);
    let then: Vec<Value> = std::iter::once(huge()).chain(after).collect();
    let answered = Answered::start(folder.path(), &ids, &then);
    let is_over = || answered.title() == ids[3].as_str();
    eventually("refused writes, or one and all that came after it", || {
        let refused = refusals(&answered.hub);
        (refused >= 8 || refused > 0 && is_over()).then_some(())
    });
    allow(&answered.hub, None);
    let mut stream = answered.place.stream(None);
    stream.until(|event| event.data.len() > HUGE_TEXT);
    assert_no_hole(&stream.seen);
    ids.iter().for_each(|id| answered.wait_for_delivery(id, "confirmed"));
    eventually("the title", || is_over().then_some(()));
}
