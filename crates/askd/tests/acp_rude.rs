//! Clients that are faster than the hub, and agents that do not listen, say what cannot be read, or lose
//! those who hold them.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::path::Path;

use acp::{EXTENSION, Guarded, HELLO, Place, eventually, is_alive, questions, result};
use askd_testkit::hub::{Hub, HubBuilder, signal};
use serde_json::{Value, json};

/// A hub with a shell script as its agent, and a server of it that was greeted.
fn scripted(folder: &Path, script: &str) -> (Guarded, Place) {
    let hub = acp::start(with_agent(folder, script));
    let place = greet(&hub);
    let holders = || hub.http("GET", "/v1/holders", None).unwrap().1["holders"].clone();
    eventually("the server", || (holders() != json!([])).then_some(()));
    (hub, place)
}

/// Starts the agent, which may never answer the greeting.
fn greet(hub: &Hub) -> Place {
    let place = Place::new(hub, "rude");
    let greeted = place.clone();
    drop(std::thread::spawn(move || greeted.post("?agent=rude", HELLO)));
    place
}

fn with_agent(folder: &Path, script: &str) -> HubBuilder {
    let path = folder.join("agent.sh");
    std::fs::write(&path, script).unwrap();
    acp::builder().arg(format!("--agent=rude=sh {}", path.display())).env("HEARD", folder.join("heard"))
}

fn answer(value: &str) -> Value {
    json!({ "status": "answered", "answers": [[value]] })
}

#[test]
fn an_id_that_is_used_again_at_once_is_answered_each_time_by_whoever_sees_it_first() {
    const ROUNDS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let script = r#"n=0
while IFS= read -r line; do
  case "$line" in *'"status"'*) printf '%s\n' "$line" >> "$HEARD" ;; *'"initialize"'*) ;; *) continue ;; esac
  n=$((n + 1))
  printf '{"jsonrpc":"2.0","id":"r","method":"_sandboxagent/session/request_question","params":{"sessionId":"s","questionId":"n%s","prompt":"Which?"}}\n' "$n"
done"#;
    let (hub, place) = scripted(folder.path(), script);
    let mut stream = place.stream(None);
    for round in 0..ROUNDS {
        let request = stream.request(EXTENSION);
        // Every other answer is the same as the one before: it must not be taken for that one.
        let (status, body) = place.respond(&request, &answer(&format!("{}", round / 2)));
        assert_eq!(status, 202, "{round}: {body}");
    }
    eventually("every answer", || {
        let heard = std::fs::read_to_string(folder.path().join("heard")).unwrap_or_default();
        (heard.lines().count() == ROUNDS).then_some(())
    });
    assert_eq!(questions(&hub, "answered").len(), ROUNDS);
}

#[test]
fn a_response_that_comes_before_its_question_goes_the_way_of_every_answer() {
    let hub = acp::hub();
    let place = Place::new(&hub, "early");
    let session = place.open("mock", "/tmp");
    for n in 1..=20 {
        let prompted = place.prompt(10 + n, &session, "question");
        eventually("the answer is taken", || {
            let (status, body) = place.respond(&json!({ "id": format!("q-{n}") }), &answer("option-a"));
            assert!(status == 202 || status == 404, "{status} {body}");
            (status == 202).then_some(())
        });
        assert_eq!(result(&prompted.join().unwrap())["stopReason"], "end_turn");
    }
    assert_eq!((questions(&hub, "requested").len(), questions(&hub, "answered").len()), (0, 20));
    let told = place.stream(Some(0)).until(|event| event.data.contains("_askd/question_resolved"));
    assert!(!told.data.contains("_askd/request_answered"), "{told:?}");
}

#[test]
fn what_the_agent_does_not_take_is_not_said_to_be_taken() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"read -r line
printf '{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{"sessionId":"s"}}\n'
printf '{"jsonrpc":"2.0","id":"q","method":"_sandboxagent/session/request_question","params":{"sessionId":"s","prompt":"Which?"}}\n'
exec 0<&-
sleep 60"#;
    let (hub, place) = scripted(folder.path(), script);
    let mut stream = place.stream(None);
    let read = stream.request("fs/read_text_file");
    stream.request(EXTENSION);
    let cancel = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
    let refused = eventually("a notification that is refused", || {
        let (status, body) = place.post("", cancel);
        (status == 409).then_some(body)
    });
    assert!(refused.contains("the agent has not got it"), "{refused}");
    for _ in 0..2 {
        let (status, body) = place.respond(&read, &json!({ "content": "text" }));
        assert_eq!((status, &body["code"]), (409, &json!("agent_unavailable")), "it waits as before: {body}");
    }
    // A turn that the agent has not been told to end goes on.
    assert_eq!(questions(&hub, "requested").len(), 1);
}

#[test]
fn a_response_that_cannot_be_read_ends_the_wait_and_a_question_that_cannot_be_read_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"while IFS= read -r line; do
  case "$line" in *'"session/new"'*)
    printf '{"jsonrpc":"2.0","id":"q","method":"_sandboxagent/session/request_question","params":{"sessionId":"s","prompt":"caf\351?"}}\n'
    id=${line#*'"id":'}
    printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"caf\351"}}\n' "${id%%,\"method\"*}"
  esac
done"#;
    let (hub, place) = scripted(folder.path(), script);
    let mut stream = place.stream(None);
    let new = r#"{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#;
    let (status, body) = place.post("", new);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["id"], &body["error"]["code"]), (200, &json!(7), &json!(-32603)), "{body}");
    let event = stream.next();
    assert!(event.name == "unreadable" && event.data.contains("request_question"), "{event:?}");
    assert_eq!(stream.next().name, "unreadable");
    assert_eq!(questions(&hub, "requested").len(), 0);
}

#[test]
fn who_may_neither_answer_nor_manage_learns_nothing() {
    let hub = acp::hub();
    let place = Place::new(&hub, "closed");
    place.open("mock", "/tmp");
    for rights in [json!(["ask"]), json!(["read"])] {
        let token = json!({ "name": "other", "rights": rights });
        let token = hub.http("POST", "/v1/tokens", Some(&token)).unwrap().1["token"].clone();
        for server in ["/v1/acp/closed", "/v1/acp/never"] {
            let place = place.at(server).with_token(token.as_str().unwrap());
            assert_eq!(place.respond(&json!({ "id": "none" }), &answer("a")).0, 403);
        }
    }
}

/// An agent that asks and then reads nothing any more.
const BUSY: &str = r#"read -r line
printf '{"jsonrpc":"2.0","id":"q","method":"_sandboxagent/session/request_question","params":{"sessionId":"s","prompt":"Which?"}}\n'
exec sleep 60"#;

fn pid(hub: &Guarded, name: &str) -> u32 {
    let holders = hub.http("GET", "/v1/holders", None).unwrap().1;
    u32::try_from(holders["holders"][0][name].as_u64().unwrap()).unwrap()
}

#[test]
fn an_agent_whose_holder_was_killed_is_ended_too() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, place) = scripted(folder.path(), BUSY);
    place.stream(None).request(EXTENSION);
    let (holder, agent) = (pid(&hub, "holderPid"), pid(&hub, "agentPid"));
    signal(holder, "KILL").unwrap();
    let mut stream = place.stream(None);
    stream.until(|event| event.data.contains("_askd/agent_ended"));
    assert!(!is_alive(i64::from(agent)), "the agent lives");
    assert_eq!((place.delete(), questions(&hub, "cancelled").len()), (204, 1));
}

#[test]
fn an_agent_that_is_not_registered_any_more_is_attended_all_the_same() {
    let (folder, data) = (tempfile::tempdir().unwrap(), askd_testkit::hub::private_folder().unwrap());
    let script = r#"while IFS= read -r line; do
  printf '%s\n' "$line" >> "$HEARD"
  case "$line" in *'"initialize"'*) printf '{"jsonrpc":"2.0","id":"q","method":"_sandboxagent/session/request_question","params":{"sessionId":"s","prompt":"Which?"}}\n' ;; esac
done"#;
    let mut first = with_agent(folder.path(), script).data(data.path()).start().unwrap();
    greet(&first);
    eventually("the question", || questions(&first, "requested").pop());
    first.kill().unwrap();
    let hub = acp::start(acp::builder().data(data.path()));
    let place = Place::new(&hub, "rude");
    let open = questions(&hub, "requested").pop().unwrap();
    assert_eq!(open["questions"][0]["question"], "Which?");
    eventually("the answer is taken", || {
        (place.respond(&json!({ "id": "q" }), &answer("a")).0 == 202).then_some(())
    });
    eventually("the answer", || {
        std::fs::read_to_string(folder.path().join("heard")).unwrap().contains("answered").then_some(())
    });
    assert_eq!(place.delete(), 204);
}
