//! `/v1/acp` as a server of agents: starting and ending them, several clients, what passes through unchanged,
//! and what survives.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use acp::{EXTENSION, HELLO, Place, assert_no_hole, eventually, hub, questions, result};
use serde_json::{Value, json};

#[test]
fn what_cannot_be_started_says_why_and_nothing_is_started_by_mistake() {
    let hub = acp::start(
        acp::builder().arg("--agent=absent=no-such-program-anywhere --acp").env("PATH", "/usr/bin:/bin"),
    );
    let place = Place::new(&hub, "one");
    for (query, status, wanted) in [
        ("", 404, "?agent=NAME"),
        ("?agent=nobody", 404, "mock, claude"),
        ("?agent=absent", 409, "no-such-program-anywhere was not found"),
        ("?agent=amp", 409, "Amp"),
        ("?agent=claude", 409, "npm install -g @agentclientprotocol/claude-agent-acp"),
    ] {
        let (got, body) = place.post(query, HELLO);
        assert!(got == status && body.contains(wanted), "{query}: {got} {body}");
    }
    assert_eq!(place.post("?agent=mock", r#"{"jsonrpc":"2.0","id":"q-1","result":{}}"#).0, 404);
    assert_eq!(
        place.post("?agent=mock", r#"{"jsonrpc":"2.0","method":"session/cancel","params":{}}"#).0,
        404
    );
    assert_eq!(hub.http("GET", "/v1/acp/one", None).unwrap().0, 404);
    assert_eq!(hub.http("GET", "/v1/holders", None).unwrap().1["holders"], json!([]));
    let (_, agents) = hub.http("GET", "/v1/agents", None).unwrap();
    let claude = agents["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "claude").unwrap();
    assert_eq!(claude["acp"]["programs"], json!(["claude-agent-acp"]));
    assert_eq!(claude["acp"]["found"], json!([]));
    assert_eq!(claude["acp"]["questions"]["state"], "no", "{claude}");
}

#[test]
fn agents_are_registered_by_the_command_line_and_by_a_file() {
    let data = askd_testkit::hub::private_folder().unwrap();
    std::fs::write(data.path().join("agents"), "# mine\nfiled=nowhere-to-be-found\nboth=lost-in-the-file\n")
        .unwrap();
    let hub = acp::start(acp::builder().data(data.path()).arg("--agent=both=lost-on-the-line"));
    let (_, agents) = hub.http("GET", "/v1/agents", None).unwrap();
    let programs = |name: &str| {
        let agents = agents["agents"].as_array().unwrap();
        agents.iter().find(|agent| agent["name"] == name).unwrap()["programs"].clone()
    };
    assert_eq!(programs("filed"), json!(["nowhere-to-be-found"]));
    assert_eq!(programs("both"), json!(["lost-on-the-line"]));
    let (status, body) = Place::new(&hub, "filed").post("?agent=filed", HELLO);
    assert!(status == 409 && body.contains("nowhere-to-be-found was not found"), "{body}");
}

#[test]
fn initialize_says_that_questions_are_understood_and_tells_the_agent_so() {
    let hub = hub();
    let place = Place::new(&hub, "caps");
    let (status, body) = place.post("?agent=mock", HELLO);
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["id"], 1);
    let meta = &body["result"]["agentCapabilities"]["_meta"];
    assert_eq!(meta["extensions"]["sessionRequestQuestion"], true);
    assert_eq!(meta["sandboxagent.dev"]["extensions"]["sessionRequestQuestion"], true);
    let (status, body) = place.post("?agent=claude", HELLO);
    assert!(status == 409 && body.contains("runs mock"), "{body}");
}

#[test]
fn two_clients_with_the_same_ids_do_not_disturb_each_other() {
    let hub = hub();
    let place = Place::new(&hub, "shared");
    let first = place.open("mock", "/tmp");
    let second = place.new_session(2, "/tmp");
    assert_ne!(first, second);
    let mut stream = place.stream(None);
    let slow = place.prompt(3, &first, "question");
    let asked = stream.request(EXTENSION);
    let quick = place.prompt(3, &second, "hello");
    assert_eq!(result(&quick.join().unwrap())["stopReason"], "end_turn");
    assert!(!slow.is_finished(), "the other client's response was taken");
    // Responses that their clients have got are no messages for the others.
    let taken = stream.until(|event| event.name == "response" && event.data.contains("end_turn"));
    assert_eq!(taken.json()["id"], 3);
    assert_eq!(place.respond(&asked, &json!({ "status": "rejected" })).0, 202);
    assert_eq!(result(&slow.join().unwrap())["stopReason"], "end_turn");
    let text = json!({ "jsonrpc": "2.0", "id": "3", "method": "x/unknown", "params": {} });
    let (_, body) = place.post("", &text.to_string());
    assert!(body.contains(r#""id":"3""#) && body.contains("-32601"), "{body}");
}

#[test]
fn a_client_takes_back_its_own_request_and_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let agent = format!("--agent=odd={}", scripted_agent(folder.path()));
    let hub = acp::start(acp::builder().arg(agent).env("HEARD", &heard));
    let owner = Place::new(&hub, "takers");
    owner.post("?agent=odd", HELLO);
    let new = json!({ "name": "second", "rights": ["manage"] });
    let token = hub.http("POST", "/v1/tokens", Some(&new)).unwrap().1["token"].clone();
    let other = owner.with_token(token.as_str().unwrap());
    let lines = |with: &str| {
        let heard = std::fs::read_to_string(&heard).unwrap_or_default();
        heard.lines().filter(|line| line.contains(with)).map(str::to_owned).collect::<Vec<_>>()
    };
    let cancel = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#;
    // The agent knows which one it was by the id of the hub, which names the session.
    drop(owner.prompt(7, "first", "x"));
    drop(other.prompt(7, "second", "x"));
    eventually("both prompts", || (lines("session/prompt").len() == 2).then_some(()));
    assert_eq!(other.post("", cancel).0, 202);
    let taken = eventually("the cancellation", || lines("$/cancel_request").pop());
    assert!(taken.contains("second") && !taken.contains("first"), "{taken}");
    // Two requests of one token under one id: nobody's turn is ended by guessing.
    drop(owner.prompt(7, "third", "x"));
    eventually("the third prompt", || lines("third").pop());
    let (status, body) = owner.post("", cancel);
    assert!(status == 409 && body.contains("ambiguous_answer"), "{status} {body}");
    // Nor is anything that nobody waits for said to be taken back.
    let (status, body) = owner.post("", &cancel.replace('7', "8"));
    assert!(status == 404 && body.contains("session/cancel"), "{status} {body}");
    assert_eq!(owner.post("", r#"{"jsonrpc":"2.0","method":"_last"}"#).0, 202);
    eventually("the last message", || lines("_last").pop());
    assert_eq!(lines("$/cancel_request").len(), 1);
}

#[test]
fn only_one_agent_is_started_by_two_first_posts() {
    let hub = hub();
    let place = Place::new(&hub, "race");
    let posts: Vec<_> = (0..4)
        .map(|_| {
            let place = place.clone();
            std::thread::spawn(move || place.post("?agent=mock", HELLO))
        })
        .collect();
    for post in posts {
        assert_eq!(post.join().unwrap().0, 200);
    }
    assert_eq!(hub.http("GET", "/v1/holders", None).unwrap().1["holders"].as_array().unwrap().len(), 1);
}

#[test]
fn a_killed_hub_loses_nothing_and_the_same_question_is_answered_after_it() {
    let mut hub = hub();
    let place = Place::new(&hub, "survives");
    let session = place.open("mock", "/tmp");
    let mut before = place.stream(None);
    let prompted = place.prompt(3, &session, "flood=50 question flood=50");
    let asked = before.request(EXTENSION);
    let open = questions(&hub, "requested");
    hub.kill().unwrap();
    assert_eq!(prompted.join().unwrap().0, 0, "the connection broke");
    hub.restart().unwrap();
    assert_eq!(questions(&hub, "requested"), open, "the same question under the same id");
    let last = before.rest().last().unwrap().id;
    let mut after = place.stream(Some(last));
    let (status, body) = place.respond(&asked, &json!({ "status": "answered", "answers": [["option-b"]] }));
    assert_eq!(status, 202, "{body}");
    // Nobody waits for the response any more: it is for the stream, under the client's own id.
    let ended = after.until(|event| event.data.contains("end_turn"));
    assert_eq!((ended.name.as_str(), &ended.json()["id"]), ("message", &json!(3)));
    assert!(
        after.seen.iter().any(|event| event.data.contains("received: ") && event.data.contains("option-b"))
    );
    let all: Vec<_> = before.seen.iter().chain(&after.seen).cloned().collect();
    assert_no_hole(&all);
    assert_eq!(all.iter().filter(|event| event.data.contains("flood ")).count(), 100);
    eventually("the evidence", || {
        (questions(&hub, "answered")[0]["delivery"]["state"] == "confirmed").then_some(())
    });
    let mut replay = place.stream(None);
    replay.until(|event| event.data.contains("end_turn"));
    assert_eq!(replay.seen, all[..replay.seen.len()]);
    assert!(replay.seen.iter().any(|event| event.data.contains("_askd/question_resolved")));
    let done = place.prompt(4, &session, "hello");
    assert_eq!(result(&done.join().unwrap())["stopReason"], "end_turn");
}

#[test]
fn a_reader_that_pauses_through_many_events_misses_none() {
    const EVENTS: usize = 25_000;
    let hub = hub();
    let place = Place::new(&hub, "flood");
    let session = place.open("mock", "/tmp");
    // Connected and not read from until everything has been said.
    let mut paused = place.paused_stream();
    let prompted = place.prompt(3, &session, &format!("flood={EVENTS} question"));
    eventually("the question", || questions(&hub, "requested").pop());
    std::thread::sleep(Duration::from_millis(200));
    let mut stream = paused.read();
    let asked = stream.request(EXTENSION);
    assert_no_hole(&stream.seen);
    let numbers: Vec<usize> = stream
        .seen
        .iter()
        .filter_map(|event| event.data.split("flood ").nth(1)?.split('\\').next()?.parse().ok())
        .collect();
    assert_eq!(numbers.len(), EVENTS);
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "a hole or a repeat");
    place.respond(&asked, &json!({ "status": "rejected" }));
    prompted.join().unwrap();
}

/// An agent that writes what the test wants, byte for byte, and keeps what it hears.
fn scripted_agent(folder: &std::path::Path) -> String {
    let path = folder.join("agent.sh");
    let script = r#"#!/bin/sh
id() { printf '%s' "$1" | sed 's/.*"id" *: *\("acp:[^]]*\]"\).*/\1/'; }
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$HEARD"
  case "$line" in
    *'"initialize"'*) printf '{"result":{"z":1.50,"agentCapabilities":{"b":2,"a":1},"protocolVersion":1,"_meta":{"k":"\\u00e9"}}, "id":%s ,"jsonrpc":"2.0"}\n' "$(id "$line")" ;;
    *'"go"'*)
      printf '%s\n' '{"params":{"sessionId":"s","z":1.0,"path":"/x","_meta":{"t":[1, 2]}},"method":"fs/read_text_file","jsonrpc":"2.0","id":5,"unknown":{}}'
      printf '%s\n' '{"method":"_sandboxagent/session/request_question", "id":6,"params":{"prompt":"Which?","_meta":{"b":0,"a":0},"options":["A","B"],"questionId":"own-1","sessionId":"s"},"jsonrpc":"2.0"}'
      go=$(id "$line") ;;
    *'"id":6'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$go" ;;
  esac
done
"#;
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn a_request_of_the_agent_that_is_no_question_survives_a_killed_hub_too() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let agent = format!("--agent=odd={}", scripted_agent(folder.path()));
    let mut hub = acp::start(acp::builder().arg(agent).env("HEARD", &heard));
    let place = Place::new(&hub, "files");
    place.post("?agent=odd", HELLO);
    let mut stream = place.stream(None);
    drop(
        place.post_later(r#"{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"prompt":["go"]}}"#),
    );
    stream.until(|event| event.data.contains("request_question"));
    hub.kill().unwrap();
    hub.restart().unwrap();
    let content = r#"{"jsonrpc":"2.0","id":5,"result":{"content":"text"}}"#;
    assert_eq!(place.post("", content).0, 202);
    assert_eq!(place.post("", content).0, 404);
    hub.kill().unwrap();
    hub.restart().unwrap();
    assert_eq!(place.post("", content).0, 404, "it was answered before the hub was killed");
    let times = || std::fs::read_to_string(&heard).unwrap().lines().filter(|line| *line == content).count();
    eventually("the agent heard it", || (times() == 1).then_some(()));
}

#[test]
fn what_passes_through_keeps_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let hub = acp::start(
        acp::builder().arg(format!("--agent=odd={}", scripted_agent(folder.path()))).env("HEARD", &heard),
    );
    let place = Place::new(&hub, "bytes");
    let hello = "{\"method\":\"initialize\",\n \"x\":[1, 2.50],\"id\":\"h\",\"params\":{\"_meta\":{\"q\":null},\"clientCapabilities\":{\"z\":true}},\"jsonrpc\":\"2.0\"}";
    let (status, body) = place.post("?agent=odd", hello);
    let meta = r#""_meta":{"extensions":{"sessionRequestQuestion":true},"sandboxagent.dev":{"extensions":{"sessionRequestQuestion":true}}}"#;
    let wanted = format!(
        r#"{{"result":{{"z":1.50,"agentCapabilities":{{"b":2,"a":1,{meta}}},"protocolVersion":1,"_meta":{{"k":"\u00e9"}}}}, "id":"h" ,"jsonrpc":"2.0"}}"#
    );
    assert_eq!((status, body), (200, wanted));
    let lines = || std::fs::read_to_string(&heard).unwrap_or_default();
    let told = lines();
    assert!(told.starts_with(r#"{"method":"initialize",  "x":[1, 2.50],"id":"acp:"#), "{told}");
    let capabilities = format!(
        r#""params":{{"_meta":{{"q":null}},"clientCapabilities":{{"z":true,"elicitation":{{"form":{{}},"url":{{}}}},{meta}}}}},"jsonrpc":"2.0"}}"#
    );
    assert!(told.trim_end().ends_with(&capabilities), "{told}");

    let mut stream = place.stream(None);
    let prompted = place.post_later(
        r#"{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"s","prompt":["go"]}}"#,
    );
    let file = stream.until(|event| event.data.contains("fs/read_text_file"));
    assert_eq!(
        file.data,
        r#"{"params":{"sessionId":"s","z":1.0,"path":"/x","_meta":{"t":[1, 2]}},"method":"fs/read_text_file","jsonrpc":"2.0","id":5,"unknown":{}}"#
    );
    let asked = stream.until(|event| event.data.contains("request_question"));
    assert_eq!(
        asked.data,
        r#"{"method":"_sandboxagent/session/request_question", "id":6,"params":{"prompt":"Which?","_meta":{"b":0,"a":0},"options":["A","B"],"questionId":"own-1","sessionId":"s"},"jsonrpc":"2.0"}"#
    );
    // A request that is no question goes to the clients, and the first response back.
    let content = r#"{"result":{"z":0,"content":"text","_meta":{"b":1,"a":2}},"id":5,"jsonrpc":"2.0"}"#;
    assert_eq!(place.post("", content).0, 202);
    assert_eq!(place.post("", content).0, 404, "the agent waits for it no longer");
    let answer = r#"{"result":{"status":"answered","_meta":{"z":1,"a":[2.0]},"answers":[["B"]],"extra":1e2},"jsonrpc":"2.0","id":6}"#;
    assert_eq!(place.post("", answer).0, 202);
    assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    let told = lines();
    assert!(told.lines().any(|line| line == content), "{told}");
    assert!(told.lines().any(|line| line == answer), "{told}");
    assert_eq!(askd_testkit::given(&questions(&hub, "answered")[0]["outcome"]["answers"]), json!([["B"]]));
}
