//! What the two ways are to each other; what each says by itself is tested with its own codec.

use askd_core::{Answer, RejectMode};
use serde_json::{Value, json};

use super::*;
use crate::codec::KnownSession;
use crate::heard::{Asked, Call};

const SESSION: &str = "ses_root";
const EVENT: &str = r#"{"directory":"/w","project":"global","payload":{"id":"evt_1","type":"question.asked","properties":{"id":"que_1","sessionID":"ses_root","questions":[{"question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"d"},{"label":"Green","description":"d"}]}],"tool":{"messageID":"msg_1","callID":"call_1"}}}}"#;

fn codec(pending: Vec<Pending>) -> OpencodeAcpCodec {
    let mut codec = OpencodeAcpCodec::default();
    let sessions =
        vec![KnownSession { native_id: SESSION.to_owned(), cwd: Some("/w".to_owned()), title: None }];
    let begin =
        Begin { start: Start::Observed, cwd: "/hub".to_owned(), sessions, pending, ..Begin::default() };
    assert!(codec.begin(begin).is_empty());
    codec
}

fn asked(heard: Vec<Heard>) -> Vec<Asked> {
    heard
        .into_iter()
        .filter_map(|value| if let Heard::Asked(asked) = value { Some(*asked) } else { None })
        .collect()
}

fn calls(heard: Vec<Heard>) -> Vec<Call> {
    let call = |value| if let Heard::Write(Speech::Call(call)) = value { Some(call) } else { None };
    heard.into_iter().filter_map(call).collect()
}

fn green() -> Settlement {
    let answers = vec![askd_core::ItemAnswer::picks(["Green"])];
    Settlement::Answered(Answer { answers, notes: vec![None], edited_plan: None, next_mode: None })
}

fn event(kind: &str, properties: Value) -> Vec<u8> {
    json!({ "directory": "/w", "payload": { "type": kind, "properties": properties } })
        .to_string()
        .into_bytes()
}

#[test]
fn a_question_of_the_server_is_a_request_of_the_extension_with_the_event_inside() {
    let mut codec = codec(Vec::new());
    let asked = asked(codec.hear_server(EVENT.as_bytes())).remove(0);
    let request: Value = serde_json::from_str(asked.native.get()).unwrap();
    assert_eq!((&request["id"], &request["params"]["questionId"]), (&json!("que_1"), &json!("que_1")));
    assert_eq!(request["method"], "_sandboxagent/session/request_question");
    assert_eq!(
        (&request["params"]["sessionId"], &request["params"]["toolCallId"]),
        (&json!(SESSION), &json!("call_1"))
    );
    assert_eq!(request["params"]["options"], json!([["Red", "Red"], ["Green", "Green"]]));
    assert_eq!(request["params"]["questions"][0]["header"], "Colour");
    assert_eq!(request::event(&asked.native).unwrap().get(), EVENT, "byte for byte");
    let aborted = Cause::TurnAborted { detail: None };
    let ended = Outcome::cancelled(aborted, askd_core::By::agent(), askd_core::Timestamp::from_millis(0));
    assert_eq!(codec.closing(&asked.native, &ended), None, "nobody waits for it on the lines");

    // A client answers the request; the answer is a call to the server and nothing on the lines, also from a
    // codec that did not hear it.
    let response = r#"{"jsonrpc":"2.0","id":"que_1","result":{"status":"answered","answers":[["Green"]]}}"#;
    assert!(matches!(codec.understand(&asked.native, &asked.ask, response), Ok(ClientSays::Reply(_))));
    let rejected = r#"{"jsonrpc":"2.0","id":"que_1","result":{"status":"rejected"}}"#;
    let Ok(ClientSays::Reject(rejection)) = codec.understand(&asked.native, &asked.ask, rejected) else {
        unreachable!("a rejection")
    };
    assert_eq!(rejection.check(&asked.ask).unwrap().0, RejectMode::Interrupt, "OpenCode knows no other");
    let speech = OpencodeAcpCodec::default().speak(&asked.native, &asked.ask, &green()).unwrap();
    let Speech::Call(call) = speech else { unreachable!("a call") };
    assert_eq!(call.path, "/question/que_1/reply");
    assert_eq!(call.query, [("directory".to_owned(), "/w".to_owned())]);
}

#[test]
fn permissions_and_talk_are_told_by_the_lines_alone() {
    let mut codec = codec(Vec::new());
    let permission = json!({ "id": "per_1", "sessionID": SESSION, "permission": "bash", "patterns": ["ls"] });
    let part = json!({ "part": { "id": "prt_1", "type": "text", "sessionID": SESSION, "messageID": "msg_1", "text": "Hello" } });
    let said = [
        event("permission.asked", permission),
        event("message.part.updated", part),
        event("session.created", json!({ "info": { "id": "ses_other", "directory": "/x", "title": "t" } })),
        event("session.idle", json!({ "sessionID": SESSION })),
    ];
    for said in said {
        assert!(codec.hear_server(&said).is_empty());
    }
    let listed: Vec<String> = calls(codec.connected()).into_iter().map(|call| call.path).collect();
    assert_eq!(listed, ["/question"], "in the folder of the one session, and no permissions");
    let line = json!({ "jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {
        "sessionId": SESSION, "toolCall": { "toolCallId": "call_2", "title": "ls" },
        "options": [{ "optionId": "once", "kind": "allow_once", "name": "Allow once" }] } });
    let asked = asked(codec.hear(line.to_string().as_bytes())).remove(0);
    let once = Answer {
        answers: vec![askd_core::ItemAnswer::picks(["once"])],
        notes: vec![None],
        edited_plan: None,
        next_mode: None,
    };
    let speech = codec.speak(&asked.native, &asked.ask, &Settlement::Answered(once)).unwrap();
    assert!(matches!(speech, Speech::Bytes(_)), "answered on the lines");
}

#[test]
fn a_subagent_asks_for_the_session_that_clients_know_and_ends_with_its_turn() {
    let mut codec = codec(Vec::new());
    let child = json!({ "info": { "id": "ses_child", "directory": "/w", "parentID": SESSION } });
    assert!(codec.hear_server(&event("session.created", child)).is_empty());
    let asked = asked(codec.hear_server(EVENT.replace(SESSION, "ses_child").as_bytes())).remove(0);
    assert_eq!(asked.native_session.as_deref(), Some(SESSION));
    let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": SESSION } });
    let heard = codec.overhear(cancel.to_string().as_bytes());
    assert!(
        matches!(&heard[..], [Heard::Withdrawn { native_id, cause: Cause::TurnAborted { .. } }] if native_id == "que_1")
    );
    // What OpenCode leaves in its list is taken out of it as soon as the call has failed, and not before.
    let part = json!({ "part": { "id": "prt_1", "type": "tool", "tool": "question", "sessionID": "ses_child", "messageID": "msg_1",
        "callID": "call_1", "state": { "status": "error", "error": "Tool execution aborted" } } });
    let paths: Vec<String> = calls(codec.hear_server(&event("message.part.updated", part)))
        .into_iter()
        .map(|call| call.path)
        .collect();
    assert_eq!(paths, ["/question/que_1/reject"]);
}

#[test]
fn a_hub_that_comes_back_knows_each_question_by_its_own_way() {
    let first = asked(codec(Vec::new()).hear_server(EVENT.as_bytes())).remove(0);
    let pending = Pending {
        native_id: first.native_id,
        native_session: first.native_session,
        native: first.native,
        written: Some(green()),
    };
    let mut codec = codec(vec![pending]);
    let completed = json!({ "part": { "id": "prt_1", "type": "tool", "tool": "question", "sessionID": SESSION, "messageID": "msg_1",
        "callID": "call_1", "state": { "status": "completed", "metadata": { "answers": [["Green"]] } } } });
    let heard = codec.hear_server(&event("message.part.updated", completed));
    assert!(matches!(&heard[..], [Heard::Confirmed { native_id }] if native_id == "que_1"), "{heard:?}");
}

#[test]
fn the_server_is_asked_again_as_soon_as_it_surely_hears_itself() {
    let mut codec = codec(Vec::new());
    let listed = |heard| calls(heard).into_iter().map(|call| call.path).collect::<Vec<_>>();
    assert_eq!(listed(codec.connected()), ["/question"]);
    assert!(codec.still_connected().is_empty(), "it has said nothing");
    assert!(codec.hear_server(&event("server.connected", json!({}))).is_empty());
    assert_eq!(listed(codec.still_connected()), ["/question"]);
    assert_eq!(listed(codec.hear_server(&event("server.heartbeat", json!({})))), ["/question"]);
    assert!(codec.hear_server(&event("server.heartbeat", json!({}))).is_empty());
    assert!(codec.still_connected().is_empty());
}
