//! What clients say, understood, checked and spoken again: nothing is lost on the way, and what does not fit
//! is refused.

use super::*;
use crate::acp::AcpCodec;
use crate::codec::{Begin, Codec, Settlement};
use crate::heard::{Heard, Speech};
use askd_core::Answer;
use serde_json::json;

fn asked(method: &str, params: &Value) -> (Box<RawValue>, Ask) {
    let line = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string();
    let mut codec = AcpCodec::new("a");
    codec.begin(Begin::default());
    let asked = codec.hear(line.as_bytes()).into_iter().find_map(|heard| match heard {
        Heard::Asked(asked) => Some(asked),
        _ => None,
    });
    let asked = asked.unwrap();
    (asked.native, asked.ask)
}

/// A client's result, understood, checked and spoken again.
fn round_trip(method: &str, params: &Value, result: &Value) -> Result<Value, String> {
    let (native, ask) = asked(method, params);
    let response = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
    let says = understand(&native, &ask, &response).map_err(|error| error.to_string())?;
    let settled = match says {
        ClientSays::Reply(reply) => {
            Settlement::Answered(reply.check(&ask).map_err(|error| error.to_string())?)
        }
        ClientSays::Reject(rejection) => {
            let (mode, reason) = rejection.check(&ask).map_err(|error| error.to_string())?;
            Settlement::Rejected { mode, reason }
        }
        ClientSays::Failed(why) => return Err(why),
    };
    spoken(&native, &ask, &settled)
}

/// What the agent hears.
fn spoken(native: &RawValue, ask: &Ask, settled: &Settlement) -> Result<Value, String> {
    match AcpCodec::new("a").speak(native, ask, settled) {
        Ok(Speech::Bytes(bytes)) => Ok(serde_json::from_slice::<Value>(&bytes).unwrap()["result"].clone()),
        Ok(_) => Err("not written".to_owned()),
        Err(error) => Err(format!("unspeakable: {error}")),
    }
}

/// A reply from the inbox, checked and spoken. What passes the check must be speakable.
fn from_inbox(method: &str, params: &Value, reply: &Value) -> Result<Value, String> {
    let (native, ask) = asked(method, params);
    let reply: Reply = serde_json::from_value(reply.clone()).unwrap();
    let answer = reply.check(&ask).map_err(|error| error.to_string())?;
    Ok(spoken(&native, &ask, &Settlement::Answered(answer)).unwrap())
}

fn same(method: &str, params: &Value, results: &[Value]) {
    for result in results {
        assert_eq!(round_trip(method, params, result).as_ref(), Ok(result));
    }
}

fn refused(method: &str, params: &Value, results: &[Value]) {
    for result in results {
        assert!(round_trip(method, params, result).is_err(), "{result}");
    }
}

#[test]
fn what_a_client_says_to_the_extension_is_what_the_agent_hears() {
    let params =
        json!({ "sessionId": "s", "prompt": "Which?", "options": [["a", "A"], ["b", "B"]], "custom": false });
    let method = "_sandboxagent/session/request_question";
    same(
        method,
        &params,
        &[
            json!({ "status": "answered", "answers": [["a"]] }),
            json!({ "status": "answered", "answers": [[]], "notes": ["why"] }),
            json!({ "status": "rejected" }),
            json!({ "status": "rejected", "mode": "cancel", "reason": "no" }),
        ],
    );
    refused(
        method,
        &params,
        &[
            json!({ "status": "answered", "answers": [["c"]] }),
            json!({ "status": "answered", "answers": ["a"] }),
            json!({ "status": "answered" }),
            json!({ "status": "maybe" }),
            json!({}),
            json!(null),
        ],
    );
}

#[test]
fn forms_are_read_back_with_their_companion_fields() {
    let option = |value: &str| json!({ "const": value, "title": value });
    let schema = json!({ "type": "object", "required": ["n"], "properties": {
        "question_0": { "type": "string", "title": "H", "oneOf": [option("x"), option("y")] },
        "question_0_custom": { "type": "string", "title": "Other" },
        "question_1": { "type": "array", "items": { "anyOf": [option("p"), option("q")] } },
        "question_1_custom": { "type": "string", "title": "Other" },
        "db": { "type": "string", "title": "Which?", "_meta": { "codex": { "isOther": true } },
            "oneOf": [option("pg"), option("None of the above")] },
        "db_note": { "type": "string", "_meta": { "codex": { "questionId": "db", "role": "user_note" } } },
        "n": { "type": "integer", "minimum": 1, "maximum": 5 },
        "ok": { "type": "boolean" },
    } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    same(
        "elicitation/create",
        &params,
        &[
            accept(json!({ "question_0": "x", "question_1": ["p", "q"], "db": "pg", "n": 3, "ok": false })),
            accept(json!({ "question_0": "x", "question_0_custom": "a note", "n": 1 })),
            accept(
                json!({ "question_0_custom": "own words", "db": "None of the above", "db_note": "mysql", "n": 1 }),
            ),
            accept(json!({ "question_1": ["p"], "question_1_custom": "and r", "n": 1 })),
            accept(json!({ "db": "None of the above", "n": 1 })),
            json!({ "action": "decline" }),
            json!({ "action": "cancel" }),
            json!({ "action": "decline", "_meta": { "askd": { "reason": "later" } } }),
        ],
    );
    refused(
        "elicitation/create",
        &params,
        &[
            accept(json!({ "question_0": "x" })),
            accept(json!({ "question_0": "z", "n": 1 })),
            accept(json!({ "question_0": ["x"], "n": 1 })),
            accept(json!({ "question_1": "p", "n": 1 })),
            accept(json!({ "question_1": [1], "n": 1 })),
            accept(json!({ "n": 9 })),
            accept(json!({ "n": "3" })),
            accept(json!({ "n": 1, "ok": "yes" })),
            json!({ "action": "later" }),
            json!({ "content": {} }),
        ],
    );
}

#[test]
fn what_a_client_leaves_empty_is_left_out_where_the_schema_lets_it_be_empty() {
    let list = |min: u64| json!({ "type": "array", "minItems": min, "items": { "type": "string", "enum": ["x", "y"] } });
    let schema = json!({ "type": "object", "required": ["tags", "name"], "properties": {
        "tags": list(0), "some": list(1), "name": { "type": "string" }, "note": { "type": "string" },
        "code": { "type": "string", "minLength": 1 }, "mail": { "type": "string", "format": "email" },
        "slug": { "type": "string", "pattern": "^[a-z]+$" }, "n": { "type": "integer" },
    } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let method = "elicitation/create";
    let (_, ask) = asked(method, &params);
    let required: Vec<bool> = ask.questions.iter().map(|item| item.required).collect();
    assert_eq!(
        required,
        [false, false, true, false, false, false, false, false],
        "none of the tags is an answer"
    );
    same(
        method,
        &params,
        &[accept(json!({ "tags": [], "name": "a" })), accept(json!({ "tags": ["x"], "name": "a" }))],
    );
    for (given, spoken) in [
        (json!({ "tags": [], "name": "a", "note": "" }), json!({ "tags": [], "name": "a" })),
        (json!({ "tags": [], "name": "a", "n": 3.0 }), json!({ "tags": [], "name": "a", "n": 3 })),
    ] {
        assert_eq!(round_trip(method, &params, &accept(given)), Ok(accept(spoken)));
    }
    refused(
        method,
        &params,
        &[
            accept(json!({ "name": "a" })),
            accept(json!({ "tags": [], "name": "" })),
            accept(json!({ "tags": [], "name": "a", "some": [] })),
            accept(json!({ "tags": [], "name": "a", "code": "" })),
            accept(json!({ "tags": [], "name": "a", "mail": "" })),
            accept(json!({ "tags": [], "name": "a", "slug": "" })),
            accept(json!({ "tags": [], "name": "a", "n": 3.5 })),
        ],
    );
}

#[test]
fn links_and_forms_without_fields_are_accepted_or_not() {
    let link = json!({ "mode": "url", "sessionId": "s", "message": "m", "elicitationId": "e", "url": "https://x.example" });
    let empty = json!({ "mode": "form", "sessionId": "s", "message": "m",
        "requestedSchema": { "type": "object", "properties": {} } });
    same("elicitation/create", &link, &[json!({ "action": "accept" }), json!({ "action": "cancel" })]);
    same(
        "elicitation/create",
        &empty,
        &[json!({ "action": "accept", "content": {} }), json!({ "action": "decline" })],
    );
}

#[test]
fn a_permission_takes_the_agents_own_options_and_a_plan_is_approved_or_sent_back() {
    let options = json!([
        { "optionId": "once", "name": "Yes", "kind": "allow_once" },
        { "optionId": "always", "name": "Always", "kind": "allow_always" },
        { "optionId": "no", "name": "No", "kind": "reject_once" },
    ]);
    let selected = |id: &str| json!({ "outcome": { "outcome": "selected", "optionId": id } });
    let all = [
        selected("once"),
        selected("always"),
        selected("no"),
        json!({ "outcome": { "outcome": "cancelled" } }),
    ];
    let permission =
        json!({ "sessionId": "s", "toolCall": { "toolCallId": "t", "title": "rm" }, "options": options });
    let plan = json!({ "sessionId": "s", "options": options,
        "toolCall": { "toolCallId": "t", "kind": "switch_mode", "rawInput": { "plan": "1. Do it" } } });
    for params in [permission, plan] {
        same("session/request_permission", &params, &all);
        refused(
            "session/request_permission",
            &params,
            &[selected("other"), json!({ "outcome": "yes" }), json!(7)],
        );
    }
}

#[test]
fn an_error_of_a_client_is_no_answer() {
    let (native, ask) =
        asked("_sandboxagent/session/request_question", &json!({ "sessionId": "s", "prompt": "?" }));
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}"#;
    let says = understand(&native, &ask, error).unwrap();
    assert_eq!(says, ClientSays::Failed("Method not found (-32601)".to_owned()));
}

#[test]
fn what_is_offered_as_a_number_is_picked_and_goes_back_as_a_number() {
    let titled = |value: Value, title: &str| json!({ "const": value, "title": title });
    let schema = json!({ "type": "object", "required": ["replicas"], "properties": {
        "replicas": { "type": "integer", "enum": [1, 3, 5.0], "enumNames": ["one", "three", "five"], "default": 3.0 },
        "ratio": { "type": "number", "enum": [0.5, 1, 1e3, 18446744073709551615_u64, "odd"] },
        "level": { "type": "integer", "oneOf": [titled(json!(-1), "Low"), titled(json!(0), "Normal")] },
        "sure": { "type": "boolean", "oneOf": [titled(json!(true), "Yes"), titled(json!(false), "No")] },
        "ports": { "type": "array", "items": { "type": "integer", "enum": [80, 443] } },
        "free": { "type": "array", "items": { "type": "number" } },
        "mixed": { "enum": ["auto", 2, null] },
    } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
    let method = "elicitation/create";
    let (_, ask) = asked(method, &params);
    let offered = |i: usize| {
        let item = &ask.questions[i];
        let options = item.options.iter().map(|option| (option.value.as_str(), option.label.as_str()));
        (options.collect::<Vec<_>>(), item.custom, item.input)
    };
    assert_eq!(offered(0), (vec![("1", "one"), ("3", "three"), ("5", "five")], false, None));
    assert_eq!(ask.questions[0].default, Some(vec!["3".to_owned()]));
    let most = "18446744073709551615";
    let ratios = vec![("0.5", "0.5"), ("1", "1"), ("1000", "1000"), (most, most)];
    assert_eq!(offered(1), (ratios, false, None), "what is no number cannot be the answer");
    assert_eq!(offered(2), (vec![("-1", "Low"), ("0", "Normal")], false, None));
    assert_eq!(offered(3), (vec![("true", "Yes"), ("false", "No")], false, None));
    assert_eq!(offered(4), (vec![("80", "80"), ("443", "443")], false, None));
    assert_eq!(offered(6), (vec![("auto", "auto"), ("2", "2"), ("null", "null")], false, None));
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    same(
        method,
        &params,
        &[
            accept(
                json!({ "replicas": 3, "ratio": 0.5, "level": -1, "sure": false, "ports": [80, 443], "mixed": "auto" }),
            ),
            accept(json!({ "replicas": 5, "ratio": 18446744073709551615_u64, "free": [1, 2.5], "mixed": 2 })),
        ],
    );
    refused(
        method,
        &params,
        &[
            accept(json!({ "replicas": 2 })),
            accept(json!({ "replicas": "3" })),
            accept(json!({ "replicas": 3, "ratio": 0.25 })),
            accept(json!({ "replicas": 3, "ports": ["80"] })),
            accept(json!({ "replicas": 3, "ports": [81] })),
            accept(json!({ "replicas": 3, "mixed": "odd" })),
        ],
    );
}

#[test]
fn a_pattern_that_askd_cannot_check_is_shown_and_said_so() {
    let field = |pattern: &str| json!({ "type": "string", "description": "Password", "pattern": pattern });
    let odd = r"^(?=.*\d).{4,}$";
    let schema = json!({ "type": "object", "properties": { "odd": field(odd), "plain": field("^[a-z]+$") } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
    let (_, ask) = asked("elicitation/create", &params);
    let shown = |i: usize| (ask.questions[i].question.as_str(), ask.questions[i].bounds.pattern.as_deref());
    assert_eq!(shown(0), ("Password (askd cannot check the pattern of this field)", Some(odd)));
    assert_eq!(shown(1), ("Password", Some("^[a-z]+$")));
    // A field that shows the message shows it once, whatever else is said about it.
    let alone = json!({ "type": "object", "properties": { "k": { "type": "string", "pattern": odd } } });
    let params =
        json!({ "mode": "form", "sessionId": "s", "message": "Which key?", "requestedSchema": alone });
    let (_, ask) = asked("elicitation/create", &params);
    assert_eq!(ask.questions[0].question, "Which key? (askd cannot check the pattern of this field)");
    assert_eq!(ask.body, None);
}

#[test]
fn a_format_that_askd_does_not_check_is_said() {
    let field = |format: &str| json!({ "type": "string", "description": "Where?", "format": format });
    let list = json!({ "type": "array", "description": "Where?", "items": field("uuid") });
    let properties = json!({ "a": field("ipv4"), "b": list, "c": field("email"), "d": field("password"),
        "e": { "type": "string", "description": "Where?", "format": "ipv4", "enum": ["::1"] } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "m",
        "requestedSchema": { "type": "object", "properties": properties } });
    let (_, ask) = asked("elicitation/create", &params);
    let shown: Vec<&str> = ask.questions.iter().map(|item| item.question.as_str()).collect();
    let said =
        |format: &str| format!("Where? (the agent wants the format {format}, which askd does not check)");
    assert_eq!(shown, [&*said("ipv4"), &*said("uuid"), "Where?", "Where?", "Where?"]);
}

#[test]
fn a_skip_is_neither_permission_nor_consent() {
    let skip = json!({ "answers": [[]] });
    let options = json!([{ "optionId": "once", "name": "Yes", "kind": "allow_once" }]);
    let permission = json!({ "sessionId": "s", "toolCall": { "toolCallId": "t" }, "options": options });
    let plan = json!({ "sessionId": "s", "options": options,
        "toolCall": { "toolCallId": "t", "kind": "switch_mode", "rawInput": { "plan": "1. Do it" } } });
    let link = json!({ "mode": "url", "sessionId": "s", "message": "m", "url": "https://x.example" });
    let unknown = json!({ "mode": "_voice", "sessionId": "s", "message": "m" });
    let empty = json!({ "mode": "form", "sessionId": "s", "message": "m" });
    let accepted = json!({ "action": "accept" });
    let selected = json!({ "outcome": { "outcome": "selected", "optionId": "once" } });
    for (method, params, pick, heard) in [
        ("session/request_permission", permission, "once", selected.clone()),
        ("session/request_permission", plan, "approve", selected),
        ("elicitation/create", link, "opened", accepted.clone()),
        ("elicitation/create", unknown, "accept", accepted),
        ("elicitation/create", empty, "accept", json!({ "action": "accept", "content": {} })),
    ] {
        assert_eq!(
            from_inbox(method, &params, &skip),
            Err("answers[0]: this question must be answered".to_owned())
        );
        assert_eq!(from_inbox(method, &params, &json!({ "answers": [[pick]] })), Ok(heard));
        // An answer that an earlier askd let people give: nothing, own words, or a mode alone.
        let (native, ask) = asked(method, &params);
        let own = || ItemAnswer::words(["no"]);
        let both = ItemAnswer { picks: vec![pick.to_owned()], ..own() };
        for picks in [ItemAnswer::default(), own(), both] {
            let mut given = Reply::of([ItemAnswer::picks([pick])]).check(&ask).unwrap();
            given.answers = vec![picks];
            for next_mode in [None, ask.next_modes.first().cloned()] {
                let settled = Settlement::Answered(Answer { next_mode, ..given.clone() });
                assert!(spoken(&native, &ask, &settled).is_err(), "{params} {settled:?}");
            }
        }
    }
}

#[test]
fn what_is_offered_goes_back_in_the_type_in_which_it_was_offered() {
    let of = |property: Value| {
        json!({ "mode": "form", "sessionId": "s", "message": "m",
            "requestedSchema": { "type": "object", "properties": { "f": property } } })
    };
    let method = "elicitation/create";
    let mixed = of(json!({ "enum": ["1", "auto", 2, "null", "[3]"] }));
    for (pick, value) in [
        ("1", json!("1")),
        ("2", json!(2)),
        ("auto", json!("auto")),
        ("null", json!("null")),
        ("[3]", json!("[3]")),
    ] {
        let accepted = json!({ "action": "accept", "content": { "f": value } });
        let pick = json!({ "answers": [{ "picks": [pick] }] });
        assert_eq!(from_inbox(method, &mixed, &pick).as_ref(), Ok(&accepted));
        assert_eq!(round_trip(method, &mixed, &accepted), Ok(accepted));
    }
    refused(method, &mixed, &[json!({ "action": "accept", "content": { "f": 1 } })]);
    // What an answer could not tell apart, or not repeat, is shown as it came.
    for property in [
        json!({ "enum": ["1", 1] }),
        json!({ "oneOf": [{ "const": "a", "title": "One" }, { "const": "a", "title": "Two" }] }),
        json!({ "type": "number", "enum": [1, 123_456_789_012_345_678_901_234_f64] }),
    ] {
        assert!(raw::is_raw(&asked(method, &of(property.clone())).1), "{property}");
    }
}

#[test]
fn a_number_that_would_be_rounded_is_refused_and_not_rounded() {
    let params = json!({ "mode": "form", "sessionId": "s", "message": "m",
        "requestedSchema": { "type": "object", "properties": { "f": { "type": "number" } } } });
    let (native, ask) = asked("elicitation/create", &params);
    for (text, fits) in [
        ("12345678901234567890123", false),
        ("0.12345678901234567890123", false),
        ("1000000000000000000000", true),
        ("0.1", true),
        ("18446744073709551615", true),
    ] {
        let answer = Reply::of([ItemAnswer::words([text])]).check(&ask).unwrap();
        assert_eq!(spoken(&native, &ask, &Settlement::Answered(answer)).is_ok(), fits, "{text}");
    }
}

#[test]
fn two_options_with_one_id_are_shown_as_they_came() {
    let option = |id: &str, name: &str, kind: &str| json!({ "optionId": id, "name": name, "kind": kind });
    let permission = |options: Value| json!({ "sessionId": "s", "toolCall": { "toolCallId": "c", "title": "rm" }, "options": options });
    let method = "session/request_permission";
    let twins = permission(json!([option("a", "Allow", "allow_once"), option("a", "Reject", "reject_once")]));
    assert!(raw::is_raw(&asked(method, &twins).1));
    let twice = permission(json!([option("a", "Allow", "allow_once"), option("a", "Allow", "allow_once")]));
    assert_eq!(asked(method, &twice).1.questions[0].options.len(), 1);
    let question = json!({ "sessionId": "s", "prompt": "Which?", "options": [["a", "One"], ["a", "Two"]] });
    assert!(raw::is_raw(&asked("_sandboxagent/session/request_question", &question).1));
}

#[test]
fn only_a_turn_of_a_session_can_be_interrupted() {
    let modes = |method: &str, params: Value| asked(method, &params).1.reject_modes;
    use RejectMode::{Cancel, Decline, Interrupt};
    assert_eq!(
        modes("elicitation/create", json!({ "sessionId": "s", "message": "m" })),
        [Decline, Cancel, Interrupt]
    );
    assert_eq!(modes("elicitation/create", json!({ "requestId": 1, "message": "m" })), [Decline, Cancel]);
}

#[test]
fn a_list_is_not_taken_for_an_object() {
    let form = json!({ "mode": "form", "sessionId": "s", "message": "m",
        "requestedSchema": { "type": "object", "properties": { "f": { "type": "string" } } } });
    let question = json!({ "sessionId": "s", "prompt": "?", "options": ["a"] });
    let permission = json!({ "sessionId": "s", "toolCall": { "toolCallId": "t" },
        "options": [{ "optionId": "once", "name": "Yes", "kind": "allow_once" }] });
    for (method, params, result) in [
        ("elicitation/create", &form, json!(["accept", { "f": "x" }, null])),
        ("elicitation/create", &form, json!(["decline"])),
        ("elicitation/create", &form, json!({ "action": "decline", "_meta": [{ "reason": "r" }] })),
        ("elicitation/create", &form, json!({ "action": "decline", "_meta": { "askd": ["r"] } })),
        ("_sandboxagent/session/request_question", &question, json!(["answered", [["a"]]])),
        ("_sandboxagent/session/request_question", &question, json!(["rejected", null, null])),
        ("session/request_permission", &permission, json!({ "outcome": ["selected", "once"] })),
        ("session/request_permission", &permission, json!([{ "outcome": "selected", "optionId": "once" }])),
    ] {
        let refused = round_trip(method, params, &result).unwrap_err();
        assert!(refused.contains("invalid type: sequence, expected a JSON object"), "{result}: {refused}");
    }
}

#[test]
fn a_client_gives_values_and_a_title_is_none() {
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let titled = json!([{ "const": "pg", "title": "Postgres" }, { "const": "lite", "title": "SQLite" }]);
    let schema = json!({ "type": "object", "properties": {
        "f": { "type": "string", "oneOf": titled }, "g": { "type": "array", "items": { "anyOf": titled } } } });
    let form = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
    let question = json!({ "sessionId": "s", "prompt": "?", "options": [["a", "Alpha"], ["b", "Beta"]] });
    let options = json!([{ "optionId": "once", "name": "Allow once", "kind": "allow_once" },
        { "optionId": "no", "name": "Reject", "kind": "reject_once" }]);
    let permission = json!({ "sessionId": "s", "toolCall": { "toolCallId": "t" }, "options": options });
    let plan = json!({ "sessionId": "s", "options": options,
        "toolCall": { "toolCallId": "t", "kind": "switch_mode", "rawInput": { "plan": "1. Do it" } } });
    let selected = |id: &str| json!({ "outcome": { "outcome": "selected", "optionId": id } });
    let answered = |pick: &str| json!({ "status": "answered", "answers": [[pick]] });
    let extension = "_sandboxagent/session/request_question";
    for (method, params, given, choices) in [
        ("elicitation/create", &form, accept(json!({ "f": "Postgres" })), "pg, lite"),
        ("elicitation/create", &form, accept(json!({ "g": ["pg", "SQLite"] })), "pg, lite"),
        (extension, &question, answered("Alpha"), "a, b"),
        ("session/request_permission", &permission, selected("Allow once"), "once, no"),
        ("session/request_permission", &plan, selected("Allow once"), "once, no"),
        ("session/request_permission", &plan, selected("approve"), "once, no"),
    ] {
        let refused = round_trip(method, params, &given).unwrap_err();
        assert!(refused.ends_with(&format!("one of: {choices}")), "{given}: {refused}");
    }
    same(extension, &question, &[answered("b"), answered("own words")]);
    // A person who answers in the inbox means the option by its label.
    let by_label = json!({ "answers": [["Alpha"]] });
    assert_eq!(from_inbox(extension, &question, &by_label), Ok(answered("a")));
}

#[test]
fn a_required_field_is_answered_by_what_it_offers_and_not_by_the_note_beside_it() {
    let option = |value: &str| json!({ "const": value, "title": value });
    let note = |base: &str| {
        json!({ "type": "string", "maxLength": 5,
        "_meta": { "codex": { "questionId": base, "role": "user_note" } } })
    };
    let codex = json!({ "codex": { "isOther": true } });
    let schema = json!({ "type": "object", "required": ["db", "engine", "name", "question_0"], "properties": {
        "db": { "type": "string", "title": "Q", "_meta": codex, "oneOf": [option("a")] }, "db_note": note("db"),
        "engine": { "type": "string", "title": "Q", "_meta": codex,
            "oneOf": [option("a"), option("None of the above")] }, "engine_note": note("engine"),
        "name": { "type": "string", "title": "Q", "_meta": codex }, "name_note": note("name"),
        "question_0": { "type": "string", "oneOf": [option("x")] },
        "question_0_custom": { "type": "string", "title": "Other", "maxLength": 5 },
    } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
    let method = "elicitation/create";
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let with = |more: Value| {
        let mut content = json!({ "db": "a", "engine": "a", "name": "n", "question_0": "x" });
        content.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        content.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        accept(content)
    };
    for given in [
        with(json!({})),
        with(json!({ "db_note": "why", "name_note": "more", "question_0_custom": "also" })),
        with(json!({ "engine": "None of the above", "engine_note": "other" })),
        with(json!({ "engine": "None of the above" })),
    ] {
        assert_eq!(round_trip(method, &params, &given), Ok(given));
    }
    refused(
        method,
        &params,
        &[
            with(json!({ "db": null, "db_note": "x" })),
            with(json!({ "db": "own" })),
            with(json!({ "db_note": "longer" })),
            with(json!({ "engine": null, "engine_note": "other" })),
            with(json!({ "engine": "None of the above", "engine_note": "longer" })),
            with(json!({ "name": null, "name_note": "n" })),
            with(json!({ "question_0": null, "question_0_custom": "own" })),
            with(json!({ "question_0_custom": "longer" })),
        ],
    );
    let reply = |answers: [&str; 4], notes: [Option<&str>; 4]| {
        let answers = answers.map(|pick| [pick]);
        from_inbox(method, &params, &json!({ "answers": answers, "notes": notes }))
    };
    assert_eq!(
        reply(["a", "other", "free", "x"], [Some("why"), None, Some("more"), Some("also")]),
        Ok(with(json!({ "db_note": "why", "engine": "None of the above", "engine_note": "other",
            "name": "free", "name_note": "more", "question_0_custom": "also" })))
    );
    // A note that the form has no room for is not cut, and not lost.
    let mut beside = with(json!({}));
    beside["_meta"] = json!({ "askd": { "notes": ["longer", null, null, null] } });
    assert_eq!(reply(["a", "a", "n", "x"], [Some("longer"), None, None, None]), Ok(beside));
    for own in [["own", "a", "n", "x"], ["a", "a", "n", "own"], ["a", "longer than any of them", "n", "x"]] {
        assert!(reply(own, [None; 4]).is_err(), "{own:?}");
    }
}

#[test]
fn only_what_has_the_form_of_a_companion_is_one_and_no_field_disappears() {
    let keys = |properties: Value, required: &[&str]| {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let params = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
        let (_, ask) = asked("elicitation/create", &params);
        ask.questions.into_iter().filter_map(|item| item.key).collect::<Vec<_>>().join(" ")
    };
    let choice = json!({ "type": "string", "oneOf": [{ "const": "x", "title": "x" }] });
    let several = json!({ "type": "array", "items": { "anyOf": [{ "const": "x", "title": "x" }] } });
    let other = json!({ "type": "string", "title": "Other" });
    let named =
        |question: &Value, custom: &Value| json!({ "question_1": question, "question_1_custom": custom });
    let note = |base: &str| json!({ "type": "string", "_meta": { "codex": { "questionId": base, "role": "user_note" } } });
    let both = "question_1 question_1_custom";
    assert_eq!(keys(named(&choice, &other), &[]), "question_1");
    assert_eq!(keys(named(&several, &other), &["question_1"]), "question_1");
    assert_eq!(keys(named(&choice, &other), &["question_1_custom"]), both);
    assert_eq!(keys(named(&json!({ "type": "integer" }), &other), &[]), both);
    assert_eq!(keys(named(&json!({ "type": "string", "title": "T" }), &other), &[]), both);
    assert_eq!(keys(named(&choice, &json!({ "type": "string", "title": "Sub" })), &[]), both);
    assert_eq!(keys(json!({ "db": choice, "n": note("db"), "m": note("db") }), &[]), "db m");
    assert_eq!(keys(json!({ "a": note("b"), "b": note("a"), "c": note("c") }), &[]), "a b c");
    assert_eq!(keys(json!({ "db": choice, "n": note("db"), "m": note("n") }), &[]), "db m");
}

#[test]
fn a_field_is_given_or_left_out_and_each_of_a_list_fits_its_type() {
    let schema = json!({ "type": "object", "required": ["name"], "properties": {
        "name": { "type": "string", "default": "" }, "n": { "type": "integer" },
        "ports": { "type": "array", "items": { "type": "integer", "minimum": 1, "maximum": 9 } },
        "mails": { "type": "array", "items": { "type": "string", "format": "email" } },
        "mixed": { "enum": ["auto", null] },
    } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "m", "requestedSchema": schema });
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let method = "elicitation/create";
    same(
        method,
        &params,
        &[
            accept(json!({ "name": "" })),
            accept(json!({ "name": "a", "ports": [1, 9], "mails": ["a@b.org", "c@d.org"], "mixed": null })),
        ],
    );
    refused(
        method,
        &params,
        &[
            accept(json!({})),
            accept(json!({ "name": null })),
            accept(json!({ "name": "a", "n": null })),
            accept(json!({ "name": "a", "ports": null })),
            accept(json!({ "name": "a", "ports": ["1"] })),
            accept(json!({ "name": "a", "ports": [1.5] })),
            accept(json!({ "name": "a", "ports": [10] })),
            accept(json!({ "name": "a", "mails": ["a"] })),
        ],
    );
    let reply = |ports: Value| from_inbox(method, &params, &json!({ "answers": [[], [], ports, [], []] }));
    assert_eq!(reply(json!(["7"])), Ok(accept(json!({ "name": "", "ports": [7] }))));
    assert!(reply(json!(["many"])).is_err());
}

#[test]
fn a_result_of_what_no_form_can_show_is_read_whole() {
    let (question, form) = (super::super::question::METHOD, elicitation::METHOD);
    let raw = |method: &str| match method {
        elicitation::METHOD => {
            json!({ "sessionId": "s", "mode": "form", "requestedSchema": { "required": ["x"] } })
        }
        _ => json!({ "sessionId": "s", "options": [] }),
    };
    let permission = permission::METHOD;
    same(
        question,
        &raw(question),
        &[json!({ "status": "answered", "answers": [["x"], []], "z": { "b": 1, "a": 2 } })],
    );
    same(
        question,
        &raw(question),
        &[
            json!({ "status": "rejected", "mode": "cancel" }),
            json!({ "status": "rejected", "reason": "why" }),
        ],
    );
    same(
        form,
        &raw(form),
        &[
            json!({ "action": "accept", "content": { "x": [1] } }),
            json!({ "action": "decline", "_meta": { "askd": { "reason": "why" } } }),
            json!({ "action": "cancel" }),
        ],
    );
    let picked = json!({ "outcome": { "outcome": "selected", "optionId": "a" } });
    let cancelled =
        json!({ "outcome": { "outcome": "cancelled" }, "_meta": { "askd": { "reason": "why" } } });
    same(permission, &raw(permission), &[picked, cancelled]);
    let plan = json!({ "sessionId": "s", "toolCallId": 7, "options": [{ "optionId": "a", "name": "A", "kind": "allow_once" }] });
    let other = json!({ "outcome": { "outcome": "selected", "optionId": "b" } });
    assert!(round_trip(permission, &plan, &other).unwrap_err().contains("none of the agent's options"));
    for (method, wrong) in [
        (question, json!({ "status": "answered" })),
        (question, json!({ "status": "answered", "answers": ["x"] })),
        (question, json!({ "status": "rejected", "mode": "bogus" })),
        (form, json!({ "action": "accept", "content": [1] })),
        (form, json!({ "action": "perhaps" })),
        (permission, json!({ "outcome": { "outcome": "selected" } })),
        (permission, json!({ "outcome": { "outcome": "selected", "optionId": 7 } })),
    ] {
        assert!(round_trip(method, &raw(method), &wrong).is_err(), "{method} {wrong}");
    }
}

#[test]
fn what_a_form_cannot_promise_is_shown_as_it_came() {
    let schema = |schema: Value| json!({ "sessionId": "s", "mode": "form", "requestedSchema": schema });
    for params in [
        schema(json!({ "properties": { "$result": { "type": "string" } } })),
        schema(json!({ "properties": { "a": { "type": "string" } }, "required": ["b"] })),
        schema(json!({ "properties": [] })),
        schema(json!([])),
    ] {
        assert!(raw::is_raw(&asked(elicitation::METHOD, &params).1), "{params}");
    }
    for (secret, items) in [
        (true, json!([{ "question": "Password?", "secret": true }, { "question": " " }])),
        (false, json!([{}])),
    ] {
        let (_, ask) =
            asked(super::super::question::METHOD, &json!({ "sessionId": "s", "questions": items }));
        assert!(raw::is_raw(&ask) && ask.questions[0].secret == secret, "{items}");
    }
    let properties = json!({ "secret": { "type": "string", "_meta": { "codex": { "isSecret": true } } } });
    let (_, ask) =
        asked(elicitation::METHOD, &schema(json!({ "properties": properties, "required": ["b"] })));
    assert!(ask.questions[0].secret, "a field that is called so");
}

#[test]
fn a_field_that_may_be_null_has_the_type_of_its_other_choice() {
    let schema = json!({ "properties": {
        "n": { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }], "title": "N" },
        "u": { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] },
        "t": { "type": ["string", "null"] } } });
    let params = json!({ "sessionId": "s", "mode": "form", "message": "m", "requestedSchema": schema });
    let content = json!({ "n": 5, "u": true, "t": "123" });
    same(elicitation::METHOD, &params, &[json!({ "action": "accept", "content": content })]);
    for wrong in [json!("5"), json!(0)] {
        let result = json!({ "action": "accept", "content": { "n": wrong } });
        assert!(round_trip(elicitation::METHOD, &params, &result).is_err(), "{result}");
    }
}

#[test]
fn of_a_scope_that_does_not_fit_the_rest_is_read() {
    let params = json!({ "sessionId": "s", "toolCallId": 7, "toolCall": { "toolCallId": "c" } }).to_string();
    let params = RawValue::from_string(params).unwrap();
    let (scope, why) = super::super::open::Scope::read(Some(&params));
    assert_eq!((scope.session_id.as_deref(), scope.call_id(), why.is_some()), (Some("s"), Some("c"), true));
}
