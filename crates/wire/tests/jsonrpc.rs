//! JSON-RPC: what a line means, and that no bytes can break it.

use askd_wire::{
    jsonrpc::{Defect, Id, Message, Outcome},
    lines::{Framed, LineSplitter},
};
use proptest::prelude::*;
use serde_json::value::to_raw_value;

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
        drop(Message::parse(&bytes));
    }

    #[test]
    fn what_is_written_is_read_again_over_any_split(
        method in "[a-z/$_]{1,12}",
        text in any::<String>(),
        cut in 0usize..400,
    ) {
        let params = to_raw_value(&[&text]).unwrap();
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{method}\",\"params\":{params}}}\n").into_bytes();
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
        prop_assert_eq!(id, Id::from(7));
        prop_assert_eq!(heard, method);
        let got = got.unwrap();
        prop_assert_eq!(got.get(), params.get());
    }
}
