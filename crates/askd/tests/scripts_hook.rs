//! `askd hook` under arguments, inputs and hubs of every kind: it never stands in Claude Code's way.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, PATIENCE, run, signal};
use serde_json::{Value, json};

const ASKD: &str = env!("CARGO_BIN_EXE_askd");

fn asks() -> String {
    let question = json!({ "question": "Which?", "header": "H", "multiSelect": false,
        "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }] });
    json!({ "session_id": "s-1", "transcript_path": "/nowhere/s-1.jsonl", "cwd": "/w/app", "hook_event_name": "PermissionRequest",
        "tool_name": "AskUserQuestion", "tool_input": { "questions": [question] } })
    .to_string()
}

#[test]
fn no_words_and_no_input_make_the_hook_speak_or_fail() {
    let home = tempfile::tempdir().unwrap();
    let inputs = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "\0\u{feff}".to_owned(),
        asks(),
        "[".repeat(100_000),
    ];
    let words: [&[&str]; 11] = [
        &["hook"],
        &["hook", "claude"],
        &["hook", "claude", "--new"],
        &["hook", "claude", "more", "words"],
        &["hook", "codex"],
        &["hook", "--help"],
        &["hook", "claude", "--help"],
        &["--new", "x", "hook", "claude"],
        &["--data", "nowhere", "hook", "claude", "--apart=maybe"],
        &["--json", "hook", "claude", "--event", "Stop"],
        &["--url", "hook", "hook", "claude"],
    ];
    for words in words {
        for input in &inputs {
            let mut command = Command::new(ASKD);
            command.env_clear().env("HOME", home.path()).current_dir(home.path()).args(words);
            let ran = run(&mut command, input).unwrap();
            assert!(ran.code == 0 && ran.stderr.is_empty(), "{words:?}: {ran:?}");
            assert!(ran.stdout.is_empty(), "{words:?}: {ran:?}");
        }
    }
    for other in [&["answer", "hook", "--new"][..], &["--new", "list"]] {
        let ran = run(Command::new(ASKD).env_clear().args(other), "").unwrap();
        assert_eq!(ran.code, 2, "{other:?}: {ran:?}");
    }
}

#[test]
fn a_question_that_was_sent_to_a_slow_hub_keeps_its_hook() {
    let hub = Hub::builder(ASKD).arg("--no-observe").start().unwrap();
    let pid = hub.pid().unwrap();
    signal(pid, "STOP").unwrap();
    let mut hook = hub.command(["hook", "claude"]);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(asks().as_bytes()).unwrap();
    // Longer than the hook tries to reach a hub; the system takes the connection and the question meanwhile.
    std::thread::sleep(Duration::from_millis(900));
    signal(pid, "CONT").unwrap();
    let end = Instant::now() + PATIENCE;
    let id = loop {
        let list: Value = hub.http("GET", "/v1/questions?status=requested", None).unwrap().1;
        if let Some(id) = list["questions"][0]["id"].as_str() {
            break id.to_owned();
        }
        assert!(Instant::now() < end, "no question; the hook: {:?}", hook.try_wait());
        std::thread::sleep(Duration::from_millis(10));
    };
    hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(&json!({ "answers": [["B"]] }))).unwrap();
    let output = hook.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("\"B\""), "{said}");
}
