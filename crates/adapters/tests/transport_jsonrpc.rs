//! JSON-RPC: what a line means, what is open, and that no bytes can break either.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use askd_adapters::transport::{
    jsonrpc::{
        Defect, Id, Incoming, JsonRpcError, Message, Outcome, Peer, PeerError, VersionField, error_code,
    },
    lines::{Framed, LineSplitter},
};
use proptest::prelude::*;
use serde_json::value::{RawValue, to_raw_value};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn params_keep_their_bytes() {
    let odd = r#"{ "b":1.0, "a" : [1e2,"\u00e9"],"b2":18446744073709551616 }"#;
    let line = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"m","params":{odd}}}"#);
    let Message::Request { id, method, params } = Message::parse(line.as_bytes()) else { panic!("{line}") };
    assert_eq!((id.as_str(), method.as_str(), params.unwrap().get()), ("\"x\"", "m", odd));
}

#[test]
fn every_shape_is_told_apart() {
    let kind = |line: &str| match Message::parse(line.as_bytes()) {
        Message::Request { id, .. } => format!("request {id}"),
        Message::Notification { .. } => "notification".to_owned(),
        Message::Response { id, outcome: Outcome::Result(result) } => format!("result {id} {}", result.get()),
        Message::Response { id, outcome: Outcome::Error(error) } => format!("error {id} {}", error.get()),
        Message::Malformed { defect, id: Some(id) } => format!("{defect:?} {id}"),
        Message::Malformed { defect, id: None } => format!("{defect:?}"),
    };
    let cases = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, "request 1"),
        (r#"{"id":null,"method":"m"}"#, "request null"),
        (r#"{"method":"m","params":null}"#, "notification"),
        (r#"{"id":"a","result":null}"#, "result \"a\" null"),
        (r#"{"id":-7,"error":{"code":1,"message":"x"}}"#, r#"error -7 {"code":1,"message":"x"}"#),
        (r#"{"id":1,"result":2,"error":null}"#, "result 1 2"),
        (r#"{"id":1,"result":null,"error":3}"#, "error 1 3"),
        (r#"{"id":1,"result":2,"error":3}"#, "Shape 1"),
        (r#"{"id":1}"#, "Shape 1"),
        // Programs that write every member that they know: null is absent where it has no meaning.
        (r#"{"jsonrpc":null,"id":1,"method":"m","params":null,"result":null,"error":null}"#, "request 1"),
        (r#"{"method":"m","result":null,"error":null}"#, "notification"),
        (r#"{"id":1,"method":null,"params":null,"result":2,"error":null}"#, "result 1 2"),
        (r#"{"id":1,"method":null,"result":null,"error":{"code":1}}"#, r#"error 1 {"code":1}"#),
        (r#"{"id":1,"method":null,"result":null,"error":null}"#, "result 1 null"),
        (r#"{"id":1,"error":null}"#, "error 1 null"),
        (r#"{"id":1,"method":null}"#, "Shape 1"),
        (r#"{"id":1,"method":"m","result":2}"#, "Shape 1"),
        (r#"{"id":1,"method":7}"#, "NotJson"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "Version 1"),
        (r#"{"id":1.5,"method":"m"}"#, "request 1.5"),
        (r#"{"id":18446744073709551616,"result":0}"#, "result 18446744073709551616 0"),
        (r#"{"id":[1],"method":"m"}"#, "NotJson"),
        (r#"[{"id":1,"method":"m"}]"#, "Batch"),
        (r#"["2.0",1,"m",null,null,null]"#, "Batch"),
        ("hello", "NotJson"),
        ("", "NotJson"),
    ];
    for (line, expected) in cases {
        assert_eq!(kind(line), expected, "{line}");
    }
}

#[test]
fn a_response_finds_its_request_once() {
    let mut peer = Peer::new(VersionField::Sent);
    let (id, line) = peer.request("session/new", &raw("{\"a\":\n1}"), "tag").unwrap();
    assert_eq!(line, b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"session/new\",\"params\":{\"a\": 1}}\n");
    let answer = br#"{"jsonrpc":"2.0","id":0,"result":{}}"#;
    assert!(matches!(peer.receive(answer), Incoming::Response { tag: "tag", .. }));
    assert!(matches!(peer.receive(answer), Incoming::Stray { id: stray, .. } if stray == id));
}

#[test]
fn cancellation_goes_both_ways_and_the_answer_still_counts() {
    let mut peer = Peer::new(VersionField::LeftOut);
    let (id, _) = peer.request("ask", &(), ()).unwrap();
    let line = peer.cancel(&id).unwrap().unwrap();
    assert_eq!(line, b"{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":0}}\n");
    let cancelled = br#"{"id":0,"error":{"code":-32800,"message":"cancelled"}}"#;
    let Incoming::Response { outcome, .. } = peer.receive(cancelled) else { panic!("no response") };
    assert_eq!(outcome.error().unwrap().code, error_code::REQUEST_CANCELLED);
    assert!(peer.cancel(&id).unwrap().is_none());

    assert!(matches!(peer.receive(br#"{"id":7,"method":"m"}"#), Incoming::Request { .. }));
    let cancel = br#"{"method":"$/cancel_request","params":{"requestId":7}}"#;
    let seven = Id::from(7);
    assert!(matches!(peer.receive(cancel), Incoming::Cancelled { id, open: true } if id == seven));
    assert_eq!(peer.respond(&seven, &true).unwrap(), b"{\"id\":7,\"result\":true}\n");
    assert!(matches!(peer.receive(cancel), Incoming::Cancelled { id, open: false } if id == seven));
    assert!(matches!(peer.respond(&seven, &true), Err(PeerError::NotOpen(id)) if id == seven));
}

#[test]
fn an_id_that_is_open_is_not_opened_twice() {
    let mut peer: Peer<()> = Peer::new(VersionField::Sent);
    let request = br#"{"jsonrpc":"2.0","id":"q","method":"m"}"#;
    assert!(matches!(peer.receive(request), Incoming::Request { .. }));
    assert!(matches!(peer.receive(request), Incoming::Unacceptable { .. }));
    let error = JsonRpcError { code: -1, message: "no".into(), data: Some(to_raw_value(&1).unwrap()) };
    let line = peer.respond_error(&serde_json::from_str("\"q\"").unwrap(), &error).unwrap();
    assert_eq!(
        line,
        b"{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-1,\"message\":\"no\",\"data\":1}}\n"
    );
    assert_eq!(peer.open(), (0, 0));
}

#[test]
fn deep_nesting_is_no_danger() {
    let line = format!(r#"{{"id":1,"method":"m","params":{}}}"#, "[".repeat(200_000));
    assert!(matches!(Message::parse(line.as_bytes()), Message::Malformed { defect: Defect::NotJson, .. }));
    let line = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(matches!(Message::parse(line.as_bytes()), Message::Malformed { .. }));
}

fn json_like() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\"id\""),
        Just("\"method\""),
        Just("\"params\""),
        Just("\"result\""),
        Just("\"error\""),
        Just("\"jsonrpc\""),
        Just("\"2.0\""),
        Just("1"),
        Just("null"),
        Just("1.5"),
        Just("\"x\""),
    ];
    proptest::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_bytes_give_a_value(bytes in prop_oneof![proptest::collection::vec(any::<u8>(), 0..200), json_like()]) {
        let mut peer: Peer<()> = Peer::new(VersionField::Sent);
        let _ = peer.receive(&bytes);
    }

    #[test]
    fn what_is_written_is_read_again_over_any_split(
        method in "[a-z/$_]{1,12}",
        text in any::<String>(),
        cut in 0usize..400,
    ) {
        let mut peer = Peer::new(VersionField::Sent);
        let params = to_raw_value(&[&text]).unwrap();
        let (sent_id, line) = peer.request(&method, &params, ()).unwrap();
        let cut = cut.min(line.len());
        let mut splitter = LineSplitter::new(1 << 20);
        let mut lines = Vec::new();
        for piece in [&line[..cut], &line[cut..]] {
            splitter.push(piece);
            while let Some(Framed::Line(found)) = splitter.pop() {
                lines.push(found.to_vec());
            }
        }
        prop_assert_eq!(lines.len(), 1);
        let Message::Request { id, method: heard, params: got } = Message::parse(&lines[0]) else {
            return Err(TestCaseError::fail("not a request"));
        };
        prop_assert_eq!(id, sent_id);
        prop_assert_eq!(heard, method);
        let got = got.unwrap();
        prop_assert_eq!(got.get(), params.get());
    }
}
