//! Agents with odd habits, behind `/v1/acp` and led by the hub: ids that are used again, forms that are too
//! large for the inbox, texts that were cut.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use acp::{EXTENSION, Guarded, Place, eventually, questions};
use askd_testkit::hub::Hub;
use serde_json::{Value, json};

/// An agent that asks as soon as it is greeted, with these lines; gives also the file of what it hears.
fn asking<T: std::fmt::Display>(folder: &Path, requests: &[T]) -> (Guarded, Place, PathBuf) {
    let (asks, heard, script) = (folder.join("asks"), folder.join("heard"), folder.join("agent.sh"));
    std::fs::write(&script, ASKING).unwrap();
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    std::fs::write(&asks, lines).unwrap();
    let agent = format!("--agent=asking=sh {}", script.display());
    let hub = acp::start(acp::builder().arg(agent).env("ASKS", &asks).env("HEARD", &heard));
    let place = Place::new(&hub, "asking");
    greet(&place, "asking");
    (hub, place, heard)
}

/// Starts an agent that never answers the greeting.
fn greet(place: &Place, agent: &str) {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let (place, query) = (place.clone(), format!("?agent={agent}"));
    drop(std::thread::spawn(move || place.post(&query, hello)));
}

/// An agent whose every request has the same id, and that says what it got.
const FORGETFUL: &str = r#"while IFS= read -r line; do
  case "$line" in
    *'"initialize"'*) ask=1 ;;
    *'"status"'*) printf '%s\n' "$line" >> "$HEARD"; ask=$((ask + 1)) ;;
    *) continue ;;
  esac
  text="Question $ask?"
  [ "$ask" -gt 2 ] && text='Again?'
  [ "$ask" -le 4 ] && printf '{"jsonrpc":"2.0","id":"q-1","method":"_sandboxagent/session/request_question","params":{"sessionId":"s","prompt":"%s"}}\n' "$text"
done"#;

#[test]
fn an_agent_may_use_the_id_of_an_answered_question_again() {
    let folder = tempfile::tempdir().unwrap();
    let (script, heard) = (folder.path().join("agent.sh"), folder.path().join("heard"));
    std::fs::write(&script, FORGETFUL).unwrap();
    let agent = format!("--agent=forgetful=sh {}", script.display());
    let mut hub = acp::start(acp::builder().arg(agent).env("HEARD", &heard));
    let place = Place::new(&hub, "forgetful");
    greet(&place, "forgetful");
    let texts = ["Question 1?", "Question 2?", "Again?", "Again?"];
    let mut ids: Vec<Value> = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let open = eventually(text, || questions(&hub, "requested").pop());
        assert_eq!(open["questions"][0]["question"], *text);
        assert!(!ids.contains(&open["id"]), "{open}");
        if i == 2 {
            // Whatever this hub remembers is gone.
            hub.kill().unwrap();
            hub.restart().unwrap();
            assert_eq!(questions(&hub, "requested").pop().as_ref(), Some(&open));
        }
        let answer = json!({ "status": "answered", "answers": [[format!("answer {i}")]] });
        assert_eq!(place.respond(&json!({ "id": "q-1" }), &answer), (202, Value::Null));
        if i == 2 {
            // It asks the same again while no hub is there, or once the next hub has brought the answer.
            hub.kill().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(300));
            hub.restart().unwrap();
        }
        ids.push(open["id"].clone());
    }
    let wanted: Vec<Value> = (0..4).map(|i| json!([[format!("answer {i}")]])).collect();
    eventually("all answers", || {
        let heard = std::fs::read_to_string(&heard).unwrap_or_default();
        let answers = heard.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let answers: Vec<Value> = answers.map(|line| line["result"]["answers"].clone()).collect();
        (answers == wanted).then_some(())
    });
    // Each request in the stream is followed by its own end.
    let mut replay = place.stream(None);
    for id in ids {
        replay.request(EXTENSION);
        let end = replay.until(|event| event.data.contains("_askd/question_resolved")).json();
        assert_eq!((&end["params"]["questionId"], &end["params"]["requestId"]), (&id, &json!("q-1")));
    }
}

#[test]
fn a_response_in_many_lines_is_one_message_to_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let params = json!({ "sessionId": "s", "prompt": "Which?" });
    let request = json!({ "jsonrpc": "2.0", "id": 5, "method": EXTENSION, "params": params });
    let (hub, place, heard) = asking(folder.path(), &[request]);
    eventually("the question", || questions(&hub, "requested").pop());
    // On a line of its own, the part in the middle would be a request of somebody who may only answer.
    let answerer = json!({ "name": "answerer", "rights": ["answer"] });
    let token = hub.http("POST", "/v1/tokens", Some(&answerer)).unwrap().1["token"].clone();
    let body = "{\"jsonrpc\":\"2.0\",\n\"id\":5,\r\n\"result\":{\"status\":\"answered\",\"answers\":[[\"a\\nb\"]],\"_meta\":\n\
                {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"session/prompt\"}\n}}\n";
    assert_eq!(place.with_token(token.as_str().unwrap()).post("", body).0, 202);
    let lines = eventually("the answer", || {
        let heard = std::fs::read_to_string(&heard).unwrap();
        heard.contains("answered").then(|| heard.lines().map(str::to_owned).collect::<Vec<_>>())
    });
    let wanted = body.trim().replace(['\n', '\r'], " ");
    assert_eq!(lines[1..], [wanted], "the greeting, and then one line");
}

/// An agent that asks with the line in `$ASKS` and keeps what it hears.
const ASKING: &str = r#"while IFS= read -r line; do
  printf '%s\n' "$line" >> "$HEARD"
  case "$line" in *'"initialize"'*) cat "$ASKS" ;; esac
done"#;

#[test]
fn a_form_too_large_to_be_shown_waits_for_a_client_that_can_show_it() {
    let folder = tempfile::tempdir().unwrap();
    let fields: serde_json::Map<String, Value> =
        (0..100).map(|i| (format!("f{i}"), json!({ "type": "string" }))).collect();
    let schema = json!({ "type": "object", "properties": fields });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "All?", "requestedSchema": schema });
    let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": params });
    let (mut hub, place, heard) = asking(folder.path(), &[request]);
    let mut stream = eventually("the server", || {
        let there = hub.http("GET", "/v1/holders", None).unwrap().1["holders"] != json!([]);
        there.then(|| place.stream(None))
    });
    let request = stream.request("elicitation/create");
    assert_eq!(questions(&hub, "requested").len(), 1);
    let unknown = r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"Method not found"}}"#;
    for after in [None, Some(())] {
        if after.is_some() {
            hub.kill().unwrap();
            hub.restart().unwrap();
        }
        assert_eq!(place.post("", unknown).0, 202);
        // Who may not answer leaves it to others.
        let asker = place.with_token(&hub.ask_token().unwrap());
        assert_eq!(asker.respond(&request, &json!({ "action": "decline" })).0, 403);
    }
    let mut replay = place.stream(None);
    for _ in 0..2 {
        let note = replay.until(|event| event.data.contains("_askd/question_not_shown"));
        assert!(note.data.contains("Method not found (-32601)"), "{note:?}");
    }
    let answer = json!({ "action": "accept", "content": { "f99": "last" } });
    assert_eq!(place.respond(&request, &answer), (202, Value::Null));
    let lines = eventually("the answer", || {
        let heard = std::fs::read_to_string(&heard).unwrap();
        heard.contains("f99").then_some(heard)
    });
    assert!(!lines.contains("-32601") && !lines.contains("decline"), "{lines}");
}

#[test]
fn what_no_form_can_show_is_a_question_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (form, permission) = ("elicitation/create", "session/request_permission");
    let fields = |fields: Value| json!({ "mode": "form", "requestedSchema": { "type": "object", "properties": fields } });
    let many = |count: usize| (0..count).map(|i| format!("o{i}")).collect::<Vec<_>>();
    let long = "m".repeat(2 << 20);
    let requests = [
        (EXTENSION, json!({ "options": [["a", "A"]] }), "without a prompt"),
        (EXTENSION, json!({ "prompt": " " }), "questions[0].question: must have something that can be seen"),
        (EXTENSION, json!({ "prompt": "p", "options": [["a"]] }), "did not match"),
        (EXTENSION, json!({ "prompt": long }), "at most 1048576 are allowed"),
        (form, fields(json!({ "a": { "enum": many(600) } })), "has 600 options, at most 512 are allowed"),
        (
            form,
            fields(json!({ "a": { "type": "integer", "minimum": 5, "maximum": 1 } })),
            "above the upper one",
        ),
        (
            form,
            fields(json!({ "": { "type": "string" }, "b": { "type": "string" } })),
            "must have something that can be seen",
        ),
        (form, fields(many(65).iter().map(|key| (key.clone(), json!({}))).collect()), "at most 64"),
        (form, json!({ "mode": "url" }), "needs the link"),
        (permission, json!({ "options": [] }), "without options"),
    ];
    let line = |(i, (method, params, _)): (usize, &(&str, Value, &str))| json!({ "jsonrpc": "2.0", "id": i, "method": method, "params": params });
    let lines: Vec<Value> = requests.iter().enumerate().map(line).collect();
    let (mut hub, place, heard) = asking(folder.path(), &lines);
    let open = eventually("all questions", || {
        Some(questions(&hub, "requested")).filter(|open| open.len() == requests.len())
    });
    for (question, (method, _, why)) in open.iter().zip(&requests) {
        let item = &question["questions"][0];
        let text = item["question"].as_str().unwrap();
        assert!(text.contains(why) && item["key"] == "$result", "{method}: {text} has not {why}");
    }
    let reply = |hub: &Hub, i: usize, answer: &str| {
        let path = format!("/v1/questions/{}/reply", open[i]["id"].as_str().unwrap());
        hub.http("POST", &path, Some(&json!({ "answers": [[answer]] }))).unwrap()
    };
    // What is no result is refused, and the question stays open.
    for answer in ["yes", "{}", r#"{"action":"decline"}"#] {
        let (status, problem) = reply(&hub, 4, answer);
        assert_eq!((status, &problem["code"]), (409, &json!("channel_cannot_carry")), "{answer}: {problem}");
    }
    assert_eq!(reply(&hub, 4, r#"{"action":"accept","content":{"a":"o599"}}"#).0, 200);
    assert_eq!(place.respond(&lines[5], &json!({ "action": "perhaps" })).0, 400);
    assert_eq!(place.respond(&lines[5], &json!({ "action": "accept", "content": { "a": 3 } })).0, 202);
    hub.kill().unwrap();
    hub.restart().unwrap();
    assert_eq!(place.respond(&lines[9], &json!({ "outcome": { "outcome": "cancelled" } })).0, 202);
    // On several lines, as people write it, and one line to the agent.
    assert_eq!(reply(&hub, 0, "{\n  \"status\": \"answered\",\n  \"answers\": [[\"a\"]]\n}\n").0, 200);
    assert_eq!((questions(&hub, "answered").len(), questions(&hub, "rejected").len()), (3, 1));
    let results = [
        json!({ "action": "accept", "content": { "a": "o599" } }),
        json!({ "action": "accept", "content": { "a": 3 } }),
        json!({ "outcome": { "outcome": "cancelled" } }),
        json!({ "status": "answered", "answers": [["a"]] }),
    ];
    for (id, result) in [4, 5, 9, 0].into_iter().zip(results) {
        eventually("the result", || {
            let heard = std::fs::read_to_string(&heard).unwrap();
            let mut lines = heard.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.any(|line| line["id"] == id && line["result"] == result).then_some(())
        });
    }
}

#[test]
fn two_requests_with_one_name_are_two_questions() {
    let folder = tempfile::tempdir().unwrap();
    let asks =
        |id: u32, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": EXTENSION, "params": params });
    let named = asks(60, json!({ "sessionId": "s", "questionId": "61", "prompt": "Delete it?" }));
    let lines = [named, asks(61, json!({ "sessionId": "s", "options": [["yes", "Yes"]] }))];
    let (hub, place, heard) = asking(folder.path(), &lines);
    eventually("both", || (questions(&hub, "requested").len() == 2).then_some(()));
    for (line, word) in lines.iter().zip(["no", "yes"]) {
        assert_eq!(place.respond(line, &json!({ "status": "answered", "answers": [[word]] })).0, 202);
    }
    eventually("each its own answer", || {
        let heard = std::fs::read_to_string(&heard).unwrap();
        let lines = heard.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let got: Vec<_> = lines.map(|line| (line["id"].clone(), line["result"]["answers"].clone())).collect();
        // Two answers may overtake each other.
        let wanted = [(json!(60), json!([["no"]])), (json!(61), json!([["yes"]]))];
        (got.len() == 3 && wanted.iter().all(|wanted| got.contains(wanted))).then_some(())
    });
}

#[test]
fn a_response_finds_its_question_after_many_others_and_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: usize| json!({ "jsonrpc": "2.0", "id": i, "method": EXTENSION, "params": { "sessionId": "s", "prompt": "?" } });
    let lines: Vec<Value> = (0..300).map(line).collect();
    let (mut hub, place, heard) = asking(folder.path(), &lines);
    let mut stream = eventually("the server", || {
        let there = hub.http("GET", "/v1/holders", None).unwrap().1["holders"] != json!([]);
        there.then(|| place.stream(None))
    });
    stream.until(|event| event.data.contains("\"id\":299,"));
    let answer = |words: &str| json!({ "status": "answered", "answers": [[words]] });
    assert_eq!(place.respond(&lines[0], &answer("once")).0, 202);
    eventually("the answer", || std::fs::read_to_string(&heard).unwrap().contains("once").then_some(()));
    hub.kill().unwrap();
    hub.restart().unwrap();
    // The same again is taken and not written again; another one is refused, and so is what is none.
    for (words, status) in [("once", 202), ("twice", 409)] {
        assert_eq!(place.respond(&lines[0], &answer(words)).0, status, "{words}");
    }
    assert_eq!(place.respond(&lines[1], &json!({ "nonsense": true })).0, 400);
    assert_eq!(place.respond(&lines[1], &answer("last")).0, 202);
    let heard = eventually("the last answer", || {
        let heard = std::fs::read_to_string(&heard).unwrap();
        heard.contains("last").then_some(heard)
    });
    assert_eq!((heard.matches("once").count(), heard.contains("nonsense")), (1, false), "{heard}");
}

#[test]
fn a_question_too_many_is_said_to_be_one_and_a_client_may_answer_it() {
    const MOST: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let line = |i: usize| json!({ "jsonrpc": "2.0", "id": i, "method": EXTENSION, "params": { "sessionId": "s", "prompt": "?" } });
    let lines: Vec<Value> = (0..=MOST).map(line).collect();
    let (hub, place, heard) = asking(folder.path(), &lines);
    let mut stream = eventually("the server", || {
        let there = hub.http("GET", "/v1/holders", None).unwrap().1["holders"] != json!([]);
        there.then(|| place.stream(None))
    });
    let said = stream.until(|event| event.data.contains("_askd/question_not_taken")).json();
    assert_eq!(said["params"]["requestId"], MOST, "{said}");
    assert!(said["params"]["reason"].as_str().unwrap().contains("4096"), "{said}");
    // Whoever cannot show it does not answer it for others.
    let unknown = json!({ "jsonrpc": "2.0", "id": MOST, "error": { "code": -32601, "message": "?" } });
    assert_eq!(place.post("", &unknown.to_string()).0, 202);
    let answer = json!({ "status": "answered", "answers": [["too many"]] });
    for status in [202, 404] {
        assert_eq!(place.respond(&lines[MOST], &answer).0, status);
    }
    let heard = eventually("the answer", || {
        let heard = std::fs::read_to_string(&heard).unwrap();
        heard.contains("too many").then_some(heard)
    });
    assert!(!heard.contains("-32601"), "{heard}");
}

#[test]
fn only_the_version_that_was_seen_is_proven() {
    let folder = tempfile::tempdir().unwrap();
    let put = |program: &str, says: &str| {
        let path = folder.path().join(program);
        std::fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    put("claude-agent-acp", "0.42.0");
    put("codex-acp", "@agentclientprotocol/codex-acp 2.6.0");
    put("opencode", "9.9.9");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let hub = acp::start(acp::builder().env("PATH", path));
    let agent = |name: &str| {
        let (_, list) = hub.http("GET", "/v1/agents", None).unwrap();
        list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap().clone()
    };
    let acp = |name: &str| agent(name)["acp"].clone();
    // A program that is slow to tell its version is listed without it at first.
    let claude = eventually("its version", || {
        Some(acp("claude")).filter(|acp| acp["found"][0]["version"] == "0.42.0")
    });
    assert_eq!(claude["questions"]["state"], "declared", "{claude}");
    assert!(
        claude["questions"]["why"].as_str().unwrap().ends_with("the one on this machine is 0.42.0"),
        "{claude}"
    );
    eventually("the version that was seen", || {
        (acp("codex")["questions"]["state"] == "proven").then_some(())
    });
    let opencode = eventually("the version of both roads", || {
        Some(agent("opencode")).filter(|agent| agent["acp"]["found"][0]["version"] == "9.9.9")
    });
    for road in [&opencode, &opencode["acp"]] {
        assert_eq!(road["questions"]["state"], "declared", "{road}");
        assert_eq!(road["found"][0]["version"], "9.9.9", "{road}");
    }
    let claude = agent("claude");
    assert_eq!(claude["questions"]["state"], "no", "{claude}");
    assert!(claude["questions"]["why"].as_str().unwrap().contains("npm install"), "{claude}");
    assert!(
        claude["capabilities"].as_array().unwrap().iter().all(|claim| claim["state"] == "no"),
        "{claude}"
    );
}

#[test]
fn two_open_questions_of_one_name_are_answered_by_their_own_ids_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |id: u64| {
        let params = json!({ "sessionId": "s", "questionId": "same", "prompt": format!("Asked as {id}") });
        json!({ "jsonrpc": "2.0", "id": id, "method": EXTENSION, "params": params })
    };
    let (hub, _place, heard) = asking(folder.path(), &[ask(1), ask(2)]);
    let open = eventually("both", || Some(questions(&hub, "requested")).filter(|open| open.len() == 2));
    let session = open[0]["sessionId"].as_str().unwrap();
    let post = |question: &str, what: &str, pick: &str| {
        let path = format!("/v1/sessions/{session}/questions/{question}/{what}");
        let (status, problem) = hub.http("POST", &path, Some(&json!({ "answers": [[pick]] }))).unwrap();
        (status, problem["code"].as_str().map(str::to_owned))
    };
    let ambiguous = (409, Some("ambiguous_answer".to_owned()));
    assert_eq!(post("same", "reply", "which"), ambiguous);
    assert_eq!(post(open[0]["id"].as_str().unwrap(), "reply", "one"), (204, None));
    assert_eq!(post("same", "reply", "one"), ambiguous, "sent again, it must not answer the other");
    assert_eq!(post(open[1]["id"].as_str().unwrap(), "reply", "two"), (204, None));
    eventually("both answers", || {
        let heard = std::fs::read_to_string(&heard).unwrap_or_default();
        (heard.contains("one") && heard.contains("two")).then_some(())
    });
}

#[test]
fn ids_that_look_alike_are_different_ids() {
    let folder = tempfile::tempdir().unwrap();
    let ids = [json!(1), json!("1"), Value::Null, json!(-1), json!(i64::MAX), json!("null")];
    let ask = |id: &Value| {
        let params = json!({ "sessionId": "s", "prompt": format!("Asked as {id}") });
        json!({ "jsonrpc": "2.0", "id": id, "method": EXTENSION, "params": params })
    };
    let (hub, place, heard) = asking(folder.path(), &ids.iter().map(ask).collect::<Vec<_>>());
    eventually("all questions", || (questions(&hub, "requested").len() == ids.len()).then_some(()));
    for id in &ids {
        let answer = json!({ "status": "answered", "answers": [[format!("to {id}")]] });
        assert_eq!(place.respond(&json!({ "id": id }), &answer), (202, Value::Null), "{id}");
    }
    for (question, id) in questions(&hub, "answered").iter().zip(&ids) {
        assert_eq!(question["questions"][0]["question"], format!("Asked as {id}"));
        assert_eq!(askd_testkit::given(&question["outcome"]["answers"]), json!([[format!("to {id}")]]));
    }
    eventually("all answers", || {
        let heard = std::fs::read_to_string(&heard).unwrap_or_default();
        let heard: Vec<Value> = heard.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let got = |id: &Value| {
            heard
                .iter()
                .any(|line| line["id"] == *id && line["result"]["answers"] == json!([[format!("to {id}")]]))
        };
        ids.iter().all(got).then_some(())
    });
}

/// Each id as its agent writes it, and as a client may write the same number.
const NUMBERS: [(&str, &str); 6] = [
    ("1.5", "1.5"),
    ("2.0", "2"),
    ("18446744073709551616", "18446744073709551616"),
    ("-9223372036854775809", "-9223372036854775809"),
    ("3e0", "3"),
    ("9223372036854775808", "9223372036854775808"),
];

#[test]
fn any_number_is_an_id_and_the_agent_gets_its_own_spelling_back() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |(id, _): &(&str, &str)| {
        let params = json!({ "sessionId": "s", "prompt": format!("Asked as {id}") });
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{EXTENSION}","params":{params}}}"#)
    };
    let mut lines: Vec<String> = NUMBERS.iter().map(ask).collect();
    let read =
        |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"fs/read","params":{{"sessionId":"s"}}}}"#);
    lines.extend([read("1e2"), read("0.50")]);
    let (mut hub, place, heard) = asking(folder.path(), &lines);
    eventually("all questions", || (questions(&hub, "requested").len() == NUMBERS.len()).then_some(()));
    let answer = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"status":"answered","answers":[["x"]]}}}}"#)
    };
    for (i, (own, respelled)) in NUMBERS.iter().enumerate() {
        if i == 3 {
            assert_eq!(place.post("", &answer("100")).0, 202);
            // Whatever this hub remembers is gone.
            hub.kill().unwrap();
            hub.restart().unwrap();
            assert_eq!(place.post("", &answer("5e-1")).0, 202);
        }
        if i == 4 {
            let open = questions(&hub, "requested");
            let at = format!("/v1/questions/{}/reply", open[0]["id"].as_str().unwrap());
            assert_eq!(hub.http("POST", &at, Some(&json!({ "answers": [["x"]] }))).unwrap().0, 200, "{own}");
        } else {
            assert_eq!(place.post("", &answer(respelled)).0, 202, "{own}");
        }
        assert_eq!(place.post("", &answer("7.5")).0, 404);
    }
    let wanted = NUMBERS.iter().map(|(own, _)| *own).chain(["1e2", "0.50"]);
    for own in wanted {
        let start = format!(r#"{{"jsonrpc":"2.0","id":{own},"result":"#);
        eventually(own, || {
            let heard = std::fs::read_to_string(&heard).unwrap_or_default();
            heard.lines().any(|line| line.starts_with(&start)).then_some(())
        });
    }
    let ends: Vec<Value> = {
        let mut replay = place.stream(None);
        NUMBERS
            .iter()
            .map(|_| replay.until(|event| event.data.contains("_askd/question_resolved")).json())
            .collect()
    };
    assert_eq!(ends[0]["params"]["requestId"], json!(1.5));
}

/// An agent that asks with the id 1, and when it is answered requests a file under the same id.
const READS_UNDER_ITS_ID: &str = r#"while IFS= read -r line; do
  printf '%s\n' "$line" >> "$HEARD"
  case "$line" in
    *'"initialize"'*) printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"title":"Run?"},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"}]}}' ;;
    *'"optionId"'*) printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/x"}}' ;;
  esac
done"#;

#[test]
fn the_newest_request_with_an_id_is_the_one_that_is_answered_after_a_restart_too() {
    let folder = tempfile::tempdir().unwrap();
    let (script, heard) = (folder.path().join("agent.sh"), folder.path().join("heard"));
    std::fs::write(&script, READS_UNDER_ITS_ID).unwrap();
    let agent = format!("--agent=reader=sh {}", script.display());
    let mut hub = acp::start(acp::builder().arg(agent).env("HEARD", &heard));
    let place = Place::new(&hub, "reader");
    greet(&place, "reader");
    eventually("its question", || questions(&hub, "requested").pop());
    let picked = json!({ "outcome": { "outcome": "selected", "optionId": "once" } });
    assert_eq!(place.respond(&json!({ "id": 1 }), &picked), (202, Value::Null));
    place.stream(None).until(|event| event.data.contains("fs/read_text_file"));
    hub.kill().unwrap();
    hub.restart().unwrap();
    let content = json!({ "content": "hello" });
    assert_eq!(place.respond(&json!({ "id": 1 }), &content), (202, Value::Null));
    eventually("the file", || std::fs::read_to_string(&heard).unwrap().contains("hello").then_some(()));
    // It has its response, and the question of the same id is not meant by another.
    assert_eq!(place.respond(&json!({ "id": 1 }), &content).0, 404);
    let got = std::fs::read_to_string(&heard).unwrap();
    assert_eq!(got.matches("hello").count(), 1, "{got}");
}

/// An agent led by the hub that asks, and asks the very same again once it has its answer and a file is
/// there.
const ASKS_AGAIN: &str = r#"ask() {
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"title":"Run ls?"},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"}]}}'
}
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$HEARD"
  id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\).*/\1/')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"method":null,"result":{"protocolVersion":1},"error":null}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id"; ask ;;
    *'"optionId"'*) while [ ! -e "$HEARD.go" ]; do sleep 0.05; done; ask; echo asked > "$HEARD.asked" ;;
  esac
done"#;

#[test]
fn what_is_asked_again_while_no_hub_runs_is_a_new_question() {
    let folder = tempfile::tempdir().unwrap();
    let (script, heard) = (folder.path().join("agent.sh"), folder.path().join("heard"));
    std::fs::write(&script, ASKS_AGAIN).unwrap();
    let agent = format!("--agent=led=sh {}", script.display());
    let mut hub = acp::start(acp::builder().arg(agent).env("HEARD", &heard));
    let (status, session) =
        hub.http("POST", "/v1/sessions", Some(&json!({ "agent": "led", "cwd": folder.path() }))).unwrap();
    assert_eq!(status, 201, "{session}");
    let first = eventually("its question", || questions(&hub, "requested").pop());
    let id = first["id"].as_str().unwrap();
    let reply = json!({ "answers": [["once"]] });
    assert_eq!(hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(&reply)).unwrap().0, 200);
    eventually("the answer", || std::fs::read_to_string(&heard).unwrap().contains("optionId").then_some(()));
    eventually("its receipt", || {
        let (_, question) = hub.http("GET", &format!("/v1/questions/{id}"), None).unwrap();
        (question["delivery"]["state"] == "sent").then_some(())
    });
    hub.kill().unwrap();
    std::fs::write(heard.with_extension("go"), "").unwrap();
    eventually("the same again", || heard.with_extension("asked").exists().then_some(()));
    hub.restart().unwrap();
    let second = eventually("the new question", || questions(&hub, "requested").pop());
    assert_ne!(second["id"], first["id"]);
    // The first is not confirmed by that.
    let (_, question) = hub.http("GET", &format!("/v1/questions/{id}"), None).unwrap();
    assert_ne!(question["delivery"]["state"], "confirmed", "{question}");
}

/// An agent led by the hub that ends its first turn once more when it is told to, in the middle of its
/// second.
const ENDS_TWICE: &str = r#"ask() {
  printf '%s\n' '{"jsonrpc":"2.0","id":'"$1"',"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"title":"'"$2"'"},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"}]}}'
}
cancelled() { printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}\n' "$first"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\).*/\1/')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id" ;;
    *'"text":"one"'*) first=$id; ask 1 First; cancelled ;;
    *'"text":"two"'*) ask 2 Second ;;
    *'"text":"late"'*) cancelled; ask 3 Third ;;
  esac
done"#;

#[test]
fn a_turn_that_ended_before_a_restart_does_not_end_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("agent.sh");
    std::fs::write(&script, ENDS_TWICE).unwrap();
    let mut hub = acp::start(acp::builder().arg(format!("--agent=led=sh {}", script.display())));
    let start = json!({ "agent": "led", "cwd": folder.path(), "prompt": "one" });
    let (status, session) = hub.http("POST", "/v1/sessions", Some(&start)).unwrap();
    assert_eq!(status, 201, "{session}");
    eventually("the end of the first turn", || questions(&hub, "cancelled").pop());
    let say = |hub: &Hub, text: &str| {
        let path = format!("/v1/sessions/{}/messages", session["id"].as_str().unwrap());
        let (status, said) = hub.http("POST", &path, Some(&json!({ "text": text }))).unwrap();
        assert!((200..300).contains(&status), "{said}");
    };
    say(&hub, "two");
    let second = eventually("the second question", || questions(&hub, "requested").pop());
    hub.kill().unwrap();
    hub.restart().unwrap();
    eventually("the session", || {
        let (_, sources) = hub.http("GET", "/v1/sources", None).unwrap();
        sources.to_string().contains("\"connected\"").then_some(())
    });
    say(&hub, "late");
    eventually("the third question", || {
        let open = questions(&hub, "requested");
        let (_, known) =
            hub.http("GET", &format!("/v1/questions/{}", second["id"].as_str().unwrap()), None).unwrap();
        assert_eq!(known["status"], "requested", "{known}");
        (open.len() == 2).then_some(())
    });
}

/// Claude Code as far as it asks: two turns that use one id for their calls, and texts that were cut inside
/// an emoji.
const SAME_CALL: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo '2.1.325 (Claude Code)'; exit; }
ask() {
  printf '%s\n' '{"type":"control_request","request_id":"'"$1"'","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","display_name":"x","tool_use_id":"functions.AskUserQuestion:0","input":{"questions":[{"question":"'"$2"' \ud83d","header":"h","options":[{"label":"A"},{"label":"B"}]}]}}}'
}
printf '%s\n' '{"type":"system","subtype":"init","session_id":"S1","cwd":"/tmp"}'
while IFS= read -r line; do
  case "$line" in
    *'"u-1"'*)
      printf '%s\n' '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions.AskUserQuestion:0","content":"cut \ud83d"}]},"session_id":"S1"}'
      printf '%s\n' '{"type":"result","subtype":"success","session_id":"S1"}'
      ask u-2 Second ;;
    *'"role":"user"'*) ask u-1 First ;;
  esac
done
"#;

#[test]
fn claude_code_may_use_the_id_of_a_call_again_and_cut_its_texts_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("claude");
    std::fs::write(&program, SAME_CALL).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let hub = acp::start(acp::builder().env("PATH", path).arg("--no-observe"));
    let body = json!({ "agent": "claude", "cwd": folder.path(), "prompt": "hi" });
    let (status, session) = hub.http("POST", "/v1/sessions", Some(&body)).unwrap();
    assert_eq!(status, 201, "{session}");
    let asked = |text: &str| {
        eventually(text, || {
            let open = questions(&hub, "requested");
            let is_it = |question: &&Value| question["questions"][0]["question"] == *text;
            open.iter().find(is_it).map(|question| question["id"].as_str().unwrap().to_owned())
        })
    };
    let first = asked("First \u{fffd}");
    let reply = json!({ "answers": [["A"]] });
    assert_eq!(hub.http("POST", &format!("/v1/questions/{first}/reply"), Some(&reply)).unwrap().0, 200);
    let second = asked("Second \u{fffd}");
    assert_ne!(first, second);
    eventually("the receipt of the first", || {
        let (_, question) = hub.http("GET", &format!("/v1/questions/{first}"), None).unwrap();
        (question["delivery"]["state"] == "confirmed").then_some(())
    });
}

#[test]
fn a_hook_whose_text_was_cut_is_heard() {
    let hub = acp::hub();
    let body = r#"{"hook":"0123456789abcdef0123456789abcdef","input":{"hook_event_name":"PermissionRequest","session_id":"S","cwd":"/tmp","tool_name":"AskUserQuestion","prompt_id":"p","tool_input":{"questions":[{"question":"cut \ud83d?","header":"H","options":[{"label":"A"},{"label":"B"}]}]}}}"#;
    let (status, said) = Place::new(&hub, "").at("/v1/hooks/claude").post("?wait=0", body);
    assert_eq!(status, 200, "{said}");
    let open = questions(&hub, "requested").pop().unwrap();
    assert_eq!(open["questions"][0]["question"], "cut \u{fffd}?");
}
