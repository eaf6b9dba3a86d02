//! The stream of an ACP server: what is never trimmed, how every end of a question is told, and whose words
//! are whose.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use acp::{EXTENSION, Event, PATIENCE, Place, Stream, assert_no_hole, eventually, hub, questions, result};
use askd_testkit::hub::Hub;
use serde_json::{Value, json};

const RESOLVED: &str = "_askd/question_resolved";

fn session_id(hub: &Hub, native: &str) -> String {
    let (_, list) = hub.http("GET", "/v1/sessions", None).unwrap();
    let sessions = list["sessions"].as_array().unwrap();
    let session = sessions.iter().find(|session| session["nativeId"] == native);
    session.unwrap()["id"].as_str().unwrap().to_owned()
}

/// The notice of a question's end, with the outcome that the question itself has.
fn end_of(stream: &mut Stream, hub: &Hub, request: &Value) -> Value {
    let end = stream.until(|event| event.data.contains(RESOLVED)).json()["params"].clone();
    assert_eq!(end["requestId"], request["id"]);
    let path = format!("/v1/questions/{}", end["questionId"].as_str().unwrap());
    let (_, question) = hub.http("GET", &path, None).unwrap();
    assert_eq!((&end["status"], &end["outcome"]), (&question["status"], &question["outcome"]));
    end
}

#[test]
fn the_line_of_an_open_question_outlives_what_the_stream_keeps() {
    // More than the stream keeps: each line is kept as it came and as it is shown.
    const LINES: usize = 40;
    let mut hub = hub();
    let place = Place::new(&hub, "long");
    let asking = place.open("mock", "/tmp");
    let talking = place.new_session(2, "/tmp");
    let mut stream = place.stream(None);
    let prompted = place.prompt(3, &asking, "question");
    let asked = stream.until(|event| event.data.contains(EXTENSION));
    for _ in 0..LINES / 10 {
        let done = place.prompt(4, &talking, &"huge=1000000 ".repeat(10));
        assert_eq!(result(&done.join().unwrap())["stopReason"], "end_turn");
    }
    // Also a hub that was restarted shows it, to a reader that comes now and to one that was away.
    hub.kill().unwrap();
    hub.restart().unwrap();
    for after in [None, Some(1)] {
        let mut replay = place.stream(after);
        assert_eq!(replay.next().name, "trimmed");
        assert_eq!(replay.next(), asked);
        let gap = replay.next();
        let next = replay.next();
        assert_eq!(gap.name, "trimmed");
        assert_eq!(gap.json(), json!({ "after": asked.id, "through": next.id - 1 }));
    }
    let mut replay = place.stream(None);
    let answer = json!({ "status": "answered", "answers": [["option-a"]] });
    assert_eq!(place.respond(&asked.json(), &answer).0, 202);
    let ended = end_of(&mut replay, &hub, &asked.json());
    let answers = json!([{ "picks": ["option-a"], "labels": ["Option A"], "words": [] }]);
    assert_eq!(ended["outcome"]["answers"], answers);
    drop(prompted);
}

#[test]
fn a_question_that_the_hub_ends_is_ended_in_the_stream_too() {
    let hub = hub();
    let place = Place::new(&hub, "ends");
    let first = place.open("mock", "/tmp");
    let mut stream = place.stream(None);
    // The session is ended by somebody else.
    let prompted = place.prompt(3, &first, "question");
    let asked = stream.request(EXTENSION);
    let path = format!("/v1/sessions/{}", session_id(&hub, &first));
    assert_eq!(hub.http("DELETE", &path, None).unwrap().0, 204);
    let end = end_of(&mut stream, &hub, &asked);
    assert_eq!(
        (&end["status"], &end["outcome"]["cause"]["type"]),
        (&json!("cancelled"), &json!("sessionEnded"))
    );
    prompted.join().unwrap();
    // The agent takes it back.
    let second = place.new_session(4, "/tmp");
    let prompted = place.prompt(5, &second, "withdraw=1");
    let asked = stream.request(EXTENSION);
    assert_eq!(end_of(&mut stream, &hub, &asked)["outcome"]["cause"]["type"], "agentWithdrew");
    prompted.join().unwrap();
    // The agent dies.
    drop(place.prompt(6, &second, "crash-while-asking"));
    let asked = stream.request(EXTENSION);
    assert_eq!(end_of(&mut stream, &hub, &asked)["outcome"]["cause"]["code"], 3);
    let events = stream.rest();
    assert!(events.last().unwrap().data.contains("_askd/agent_ended"));
    // On replay every request is followed by its one end.
    let replay = place.stream(None).rest();
    assert_eq!(replay, events);
    assert_no_hole(&replay);
    let told = |part: &str| replay.iter().filter(|event| event.data.contains(part)).count();
    assert_eq!((told(EXTENSION), told(RESOLVED)), (3, 3));
    assert_eq!(questions(&hub, "requested"), [] as [Value; 0]);
}

#[test]
fn every_stream_and_every_wait_ends_when_its_token_is_revoked() {
    let hub = hub();
    let owner = Place::new(&hub, "revoked");
    let session = owner.open("mock", "/tmp");
    let wanted = json!({ "name": "phone", "rights": ["read", "manage"] });
    let (_, made) = hub.http("POST", "/v1/tokens", Some(&wanted)).unwrap();
    let phone = owner.with_token(made["token"].as_str().unwrap());
    let paths = [
        "/v1/acp/revoked".to_owned(),
        "/v1/events?after=0".to_owned(),
        format!("/v1/sessions/{session}/events/sse"),
        format!("/v1/sessions/{}/transcript?raw=true", session_id(&hub, &session)),
        "/opencode/global/event".to_owned(),
    ];
    let mut streams: Vec<Stream> = paths.iter().map(|path| phone.at(path).stream(None)).collect();
    // The last begins now, and not at the beginning.
    streams.last_mut().unwrap().next();
    let mut own = owner.stream(None);
    let first = phone.prompt(3, &session, "question");
    let asked = own.request(EXTENSION);
    for stream in &mut streams {
        stream.until(|event| event.data.contains("Which option?"));
    }
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(hub.http("DELETE", &path, None).unwrap().0, 204);
    let answer = json!({ "status": "answered", "answers": [["option-a"]] });
    assert_eq!(owner.respond(&asked, &answer).0, 202);
    assert_eq!(first.join().unwrap().0, 401);
    for (path, mut stream) in paths.iter().zip(streams) {
        let rest = stream.rest();
        assert!(!rest.iter().any(|event| event.data.contains("answered")), "{path}: {rest:?}");
    }
}

/// An agent that waits only so long for an answer, and says so.
fn impatient_agent(folder: &std::path::Path) -> String {
    let path = folder.join("impatient.sh");
    let script = r#"#!/bin/sh
id() { printf '%s' "$1" | sed 's/.*"id" *: *\("acp:[^]]*\]"\).*/\1/'; }
while IFS= read -r line; do
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$(id "$line")" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$(id "$line")" ;;
    *'"session/prompt"'*) printf '%s\n' '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"sessionId":"s","mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{"db":{"type":"string","enum":["a","b"]}}},"_meta":{"codex":{"autoResolutionMs":200}}}}' ;;
  esac
done
"#;
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn a_question_whose_deadline_passes_is_expired_in_the_stream_and_cannot_be_answered() {
    let folder = tempfile::tempdir().unwrap();
    let hub = acp::start(acp::builder().arg(format!("--agent=impatient={}", impatient_agent(folder.path()))));
    let place = Place::new(&hub, "late");
    let session = place.open("impatient", "/tmp");
    let mut stream = place.stream(None);
    drop(place.prompt(3, &session, "go"));
    let asked = stream.request("elicitation/create");
    assert_eq!(end_of(&mut stream, &hub, &asked)["status"], "expired");
    let (status, problem) = place.respond(&asked, &json!({ "action": "accept", "content": { "db": "a" } }));
    assert_eq!((status, problem["code"].as_str()), (409, Some("already_settled")));
    assert_no_hole(&stream.seen);
}

/// The entries of a session's transcript until one is wanted.
fn transcript(hub: &Hub, session: &str, wanted: &str) -> Vec<(u64, Value)> {
    let host = hub.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let token = hub.token().unwrap();
    let head = format!(
        "GET /v1/sessions/{session}/transcript?raw=true HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut entries = Vec::new();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let entry: Value = serde_json::from_str(data).unwrap();
        entries.push((entry["number"].as_u64().unwrap(), entry));
        if data.contains(wanted) {
            return entries;
        }
    }
    entries
}

#[test]
fn every_session_of_a_server_has_its_own_words_in_its_transcript() {
    let hub = hub();
    let place = Place::new(&hub, "several");
    let sessions = [place.open("mock", "/tmp"), place.new_session(2, "/tmp"), place.new_session(3, "/tmp")];
    for session in &sessions {
        let done = place.prompt(4, session, &format!("hello from {session}"));
        assert_eq!(result(&done.join().unwrap())["stopReason"], "end_turn");
    }
    for session in &sessions {
        let said = format!("you said: hello from {session}");
        let entries = eventually("the transcript", || {
            Some(transcript(&hub, &session_id(&hub, session), &said)).filter(|entries| !entries.is_empty())
        });
        let words: Vec<_> = entries.iter().filter_map(|(_, entry)| entry["text"].as_str()).collect();
        assert_eq!(words.iter().filter(|text| text.starts_with("you said")).count(), 1, "{words:?}");
        assert!(entries.iter().all(|(_, entry)| !entry["raw"].is_null()));
    }
    // The stream of the server has them all, under the same numbers.
    let mut stream = place.stream(None);
    stream.until(|event| event.data.contains(&format!("hello from {}", sessions[2])));
    let last: &Event = stream.seen.last().unwrap();
    let (number, entry) = transcript(&hub, &session_id(&hub, &sessions[2]), "you said").pop().unwrap();
    assert_eq!((last.id, last.data.as_str()), (number, entry["raw"].as_str().unwrap()));
}
