//! The texts that people and programs read, whole: help, output of commands, and the hub's problems.
//!
//! Each is a file in `snapshots/`. After a wanted change: `INSTA_UPDATE=always cargo nextest run -p askd
//! --test snapshots`, and read the difference before it is committed. Ids and times are replaced, because
//! they vary.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::process::Command;

use askd_testkit::hub::{Hub, run};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// The commands that `askd --help` lists.
const COMMANDS: [&str; 16] = [
    "up",
    "demo",
    "run",
    "attach",
    "install",
    "uninstall",
    "list",
    "show",
    "answer",
    "reject",
    "watch",
    "open",
    "tmux",
    "token",
    "doctor",
    "completions",
];

fn help(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_askd"));
    let ran = run(command.args(words).arg("--help").env("COLUMNS", "100"), "").unwrap();
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout
}

fn hub() -> Hub {
    Hub::start(env!("CARGO_BIN_EXE_askd")).unwrap()
}

/// The text with ids and times that are the same in every run.
fn steady(text: &str, id: &str) -> String {
    let short = &id[id.len() - 6..];
    let text = text.replace(id, "que_ID").replace(short, "SHORT_");
    text.lines().map(|line| without_times(line) + "\n").collect()
}

/// Each span such as `1s` as `0s`, and each moment as `TIME`.
fn without_times(line: &str) -> String {
    let is_span = |word: &str| {
        word.strip_suffix('s').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let steady = |word: &str| {
        let bare = word.trim_matches(|c| matches!(c, '"' | ','));
        match (is_span(bare), bare.parse::<askd_core::Timestamp>()) {
            (true, _) => word.replace(bare, "0s"),
            (false, Ok(_)) => word.replace(bare, "TIME"),
            (false, Err(_)) => word.to_owned(),
        }
    };
    line.split(' ').map(steady).collect::<Vec<_>>().join(" ")
}

/// A problem without what varies: the question in it, whose form has tests of its own.
fn problem(status: u16, mut body: Value) -> String {
    if let Some(question) = body.get_mut("question") {
        *question = json!("...");
    }
    format!("{status}\n{}\n", serde_json::to_string_pretty(&body).unwrap())
}

#[test]
fn help_texts() {
    assert_snapshot!("help", help(&[]));
    for command in COMMANDS {
        assert_snapshot!(format!("help-{command}"), help(&[command]));
    }
}

#[test]
fn output_of_commands() {
    let hub = hub();
    let asked = hub
        .ask(&json!({ "agent": "claude", "context": { "cwd": "/srv/app", "title": "Auth work" },
            "questions": [
                { "question": "Which auth method?", "header": "Auth", "options": [
                    { "label": "JWT", "description": "Stateless tokens", "preview": "let token = sign(claims);" },
                    { "label": "Session", "value": "s" }] },
                { "question": "Extras?", "multiple": true, "options": ["Logging", "Metrics"] }] }))
        .unwrap();
    let id = asked["id"].as_str().unwrap();
    let said = |args: &[&str]| {
        let ran = hub.run(args).unwrap();
        steady(&format!("exit code {}\n--- stdout\n{}--- stderr\n{}", ran.code, ran.stdout, ran.stderr), id)
    };
    assert_snapshot!("list", said(&["list"]));
    assert_snapshot!("show-open", said(&["show", id]));
    assert_snapshot!("answer-near-miss", said(&["answer", id, "Sesion", ""]));
    assert_snapshot!("answer", said(&["answer", id, "JWT", ""]));
    assert_snapshot!("answer-again", said(&["answer", id, "JWT", ""]));
    assert_snapshot!("answer-conflict", said(&["answer", id, "Session", ""]));
    assert_snapshot!("show-answered", said(&["show", id]));
    assert_snapshot!("list-empty", said(&["list"]));
    assert_snapshot!("not-found", said(&["show", "que_01M7F9QE7EE5E9R6PDW9FARRDV"]));
    assert_snapshot!("run-mistyped", said(&["run", "clude", "--prompt", "hello"]));
}

#[test]
fn problems() {
    let hub = hub();
    let asked = hub.ask(&json!({ "questions": [
        { "question": "Which?", "options": ["A", "B"], "custom": false },
        { "question": "How many?", "input": "integer", "bounds": { "minimum": 1 } }] }));
    let id = asked.unwrap()["id"].as_str().unwrap().to_owned();
    let reply = format!("/v1/questions/{id}/reply");
    let got = |method: &str, path: &str, body: Option<Value>| {
        let (status, body) = hub.http(method, path, body.as_ref()).unwrap();
        steady(&problem(status, body), &id)
    };
    assert_snapshot!("problem-misfits", got("POST", &reply, Some(json!({ "answers": [["C"], ["0"]] }))));
    assert_snapshot!("problem-too-few", got("POST", &reply, Some(json!({ "answers": [["A"]] }))));
    assert_snapshot!("problem-no-such-field", got("POST", &reply, Some(json!({ "answer": [["A"]] }))));
    let reject = format!("/v1/questions/{id}/reject");
    assert_snapshot!("problem-reject-mode", got("POST", &reject, Some(json!({ "mode": "interrupt" }))));
    assert_snapshot!("problem-not-found", got("GET", "/v1/questions/que_01M7F9QE7EE5E9R6PDW9FARRDV", None));
    assert_snapshot!("problem-no-route", got("GET", "/v1/nothing", None));
    assert_snapshot!("problem-method", got("DELETE", &reply, None));
    assert_eq!(hub.http("POST", &reply, Some(&json!({ "answers": [["A"], ["2"]] }))).unwrap().0, 200);
    assert_snapshot!("problem-conflict", got("POST", &reply, Some(json!({ "answers": [["B"], ["2"]] }))));
    let source = json!({ "kind": "claude", "url": "http://127.0.0.1:1" });
    assert_snapshot!("problem-source-kind", got("POST", "/v1/sources", Some(source)));
}
