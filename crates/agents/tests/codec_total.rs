//! Every codec is total: any bytes, in any order, in any state, give values and never a panic; and whatever
//! it calls a question can be stored, answered and rejected.
//!
//! `fuzz/` has a target per codec that looks further (cargo-fuzz, needs a nightly toolchain).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::Path;

use askd_agents::{
    Begin, Call, Codec, Heard, KnownSession, Pending, Registry, Road, Settlement, Speech, Start,
};
use askd_core::{Answer, ItemAnswer, RejectMode};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::value::RawValue;

/// All that agents say in the scenarios.
fn real_lines() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let mut lines = Vec::new();
    for suite in std::fs::read_dir(folder).unwrap() {
        for script in std::fs::read_dir(suite.unwrap().path()).unwrap() {
            let text = std::fs::read_to_string(script.unwrap().path()).unwrap();
            let said = text.lines().filter_map(|line| line.strip_prefix("< "));
            lines.extend(said.map(|line| line.as_bytes().to_vec()));
        }
    }
    lines.sort();
    lines.dedup();
    assert!(lines.len() > 60);
    lines
}

fn codecs() -> Vec<Box<dyn Codec>> {
    let registry = Registry::built_in();
    let beside_lines = registry.acp("opencode").unwrap();
    registry.iter().chain([beside_lines]).filter_map(|adapter| adapter.conversation().ok()).collect()
}

/// Those that are spoken to in lines.
fn line_codecs() -> Vec<Box<dyn Codec>> {
    let registry = Registry::built_in();
    let lines = registry.iter().filter(|adapter| adapter.descriptor().roads.contains(&Road::Acp));
    lines.filter_map(|adapter| adapter.conversation().ok()).collect()
}

/// A path without surprises, and a body of JSON.
fn check_call(call: &Call) {
    assert!(call.path.starts_with('/') && !call.path.contains(['?', '#', ' ', '%']), "{}", call.path);
    assert!(!call.path.split('/').any(|part| part == ".."), "{}", call.path);
    if let Some(body) = &call.body {
        serde_json::from_slice::<serde_json::Value>(body).unwrap();
    }
}

/// Whatever is heard has to hold together.
fn check(codec: &mut dyn Codec, heard: Vec<Heard>) {
    for heard in heard {
        match heard {
            Heard::Write(Speech::Call(call)) => check_call(&call),
            Heard::Write(speech) => {
                for line in
                    speech.bytes().unwrap().split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
                {
                    serde_json::from_slice::<serde_json::Value>(line).unwrap();
                }
            }
            Heard::Asked(asked) => {
                asked.ask.check().unwrap();
                let first = |item: &askd_core::Item| match item.options.first() {
                    Some(option) => ItemAnswer::picks([option.value.as_str()]),
                    None => ItemAnswer::words(["1"]),
                };
                let items = &asked.ask.questions;
                let answer = Answer {
                    answers: items.iter().map(first).collect(),
                    notes: vec![Some("n".to_owned()); items.len()],
                    edited_plan: None,
                    next_mode: None,
                };
                let mut settled = vec![Settlement::Answered(answer)];
                for mode in [RejectMode::Decline, RejectMode::Cancel, RejectMode::Interrupt] {
                    settled.push(Settlement::Rejected { mode, reason: Some("r".to_owned()) });
                }
                for settled in &settled {
                    // A typed field may refuse "1"; nothing may panic, and what is said is lines of JSON.
                    if let Ok(speech) = codec.speak(&asked.native, &asked.ask, settled) {
                        if let Speech::Call(call) = &speech {
                            check_call(call);
                            continue;
                        }
                        let text = String::from_utf8(speech.bytes().unwrap().to_vec()).unwrap();
                        assert!(text.ends_with('\n'));
                        for line in text.lines() {
                            serde_json::from_str::<&RawValue>(line).unwrap();
                        }
                    }
                }
                if asked.native_id.len() % 2 == 0 {
                    codec.delivered(&asked.native_id, &settled[0]);
                }
            }
            _ => {}
        }
    }
}

#[derive(Debug, Clone)]
enum Edit {
    Cut(Index),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Repeat(Index, Index),
    Splice(Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        any::<Index>().prop_map(Edit::Cut),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Flip(at, byte)),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..5))
            .prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Edit::Repeat(from, to)),
        (any::<Index>(), any::<Index>()).prop_map(|(line, at)| Edit::Splice(line, at)),
    ]
}

fn apply(mut line: Vec<u8>, edits: &[Edit], all: &[Vec<u8>]) -> Vec<u8> {
    for edit in edits {
        if line.is_empty() {
            return line;
        }
        match edit {
            Edit::Cut(at) => line.truncate(at.index(line.len())),
            Edit::Flip(at, byte) => {
                let at = at.index(line.len());
                line[at] ^= byte;
            }
            Edit::Insert(at, bytes) => {
                let at = at.index(line.len());
                line.splice(at..at, bytes.iter().copied());
            }
            Edit::Repeat(from, to) => {
                let (a, b) = (from.index(line.len()), to.index(line.len()));
                let part = line[a.min(b)..a.max(b)].to_vec();
                line.extend(part);
            }
            Edit::Splice(other, at) => {
                let other = &all[other.index(all.len())];
                let at = at.index(line.len());
                line.truncate(at);
                line.extend_from_slice(&other[at.min(other.len())..]);
            }
        }
    }
    line
}

fn start() -> impl Strategy<Value = Start> {
    prop_oneof![Just(Start::Fresh), Just(Start::Resumed), Just(Start::Observed)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_heard(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        for mut codec in codecs() {
            codec.begin(Begin::default());
            for line in &lines {
                let heard = codec.hear(line);
                check(codec.as_mut(), heard);
                let heard = codec.hear_server(line);
                check(codec.as_mut(), heard);
                codec.overhear(line);
            }
        }
    }

    #[test]
    fn real_lines_are_heard_in_any_order_and_however_broken(
        picks in prop::collection::vec((any::<Index>(), prop::collection::vec(edit(), 0..3)), 1..40),
        start in start(),
        known in any::<bool>(),
        calls in prop::collection::vec(0..5u8, 0..4),
    ) {
        let all = real_lines();
        for mut codec in codecs() {
            let session = KnownSession { native_id: "s1".to_owned(), cwd: None, title: None };
            let pending = all.iter().filter_map(|line| RawValue::from_string(String::from_utf8(line.clone()).ok()?).ok());
            let pending = pending.enumerate().map(|(i, native)| Pending {
                native_id: i.to_string(),
                native_session: None,
                native,
                written: None,
            });
            let begin = Begin {
                start,
                sessions: if known { vec![session] } else { Vec::new() },
                pending: if known { pending.take(20).collect() } else { Vec::new() },
                ..Begin::default()
            };
            let heard = codec.begin(begin);
            check(codec.as_mut(), heard);
            for (at, edits) in &picks {
                let line = apply(all[at.index(all.len())].clone(), edits, &all);
                let heard = codec.hear(&line);
                check(codec.as_mut(), heard);
                let heard = codec.hear_server(&line);
                check(codec.as_mut(), heard);
            }
            for call in &calls {
                let heard = match call {
                    0 => codec.interrupt(None),
                    1 => codec.close(None),
                    2 => codec.prompt(None, "x").unwrap_or_default(),
                    3 => codec.connected(),
                    _ => codec.replied("x", 500, b"x"),
                };
                check(codec.as_mut(), heard);
            }
        }
    }

    #[test]
    fn any_stored_text_is_spoken_of_without_a_panic(text in ".{0,80}", line in any::<Index>()) {
        let all = real_lines();
        let line = String::from_utf8_lossy(&all[line.index(all.len())]).replace("s1", &text);
        let ask: askd_core::Ask = serde_json::from_str::<askd_core::AskInput>(r#"{"questions":[{"question":"?"}]}"#)
            .unwrap().complete().unwrap();
        let cause = askd_core::Cause::TurnAborted { detail: Some(text.clone()) };
        let ended = askd_core::Outcome::cancelled(cause, askd_core::By::agent(), askd_core::Timestamp::from_millis(0));
        let settled = Settlement::Rejected { mode: RejectMode::Interrupt, reason: Some(text) };
        for codec in codecs() {
            if let Ok(native) = RawValue::from_string(line.clone()) {
                let _ = codec.speak(&native, &ask, &settled);
                let _ = codec.closing(&native, &ended);
            }
        }
    }
}

#[test]
fn deep_nesting_ends_nothing() {
    for mut codec in line_codecs() {
        codec.begin(Begin::default());
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{{"sessionId":"s","x":{deep}}}}}"#
        );
        let heard = codec.hear(line.as_bytes());
        check(codec.as_mut(), heard);
        let schema = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{{"requestedSchema":{deep}}}}}"#
        );
        let heard = codec.hear(schema.as_bytes());
        assert!(heard.iter().any(|heard| matches!(heard, Heard::Unrecognised { .. } | Heard::Asked(_))));
        let schema = format!(
            r#"{{"type":"control_request","request_id":"1","request":{{"subtype":"elicitation","requested_schema":{deep}}}}}"#
        );
        let heard = codec.hear(schema.as_bytes());
        assert!(heard.iter().any(|heard| matches!(heard, Heard::Unrecognised { .. })));
        // The same question in each codec's own language.
        let shallow = [
            r#"{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"Still there?"}}"#,
            r#"{"type":"control_request","request_id":"2","request":{"subtype":"elicitation","message":"Still there?"}}"#,
        ];
        let heard = shallow.iter().flat_map(|line| codec.hear(line.as_bytes()));
        assert!(heard.filter(|heard| matches!(heard, Heard::Asked(_))).count() == 1);
    }
}
