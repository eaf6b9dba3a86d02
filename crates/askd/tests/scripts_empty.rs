//! Nothing is no answer: pipes of programs that failed, empty files, and plans that came back as they were.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use askd_testkit::hub::{Hub, Ran, run};
use serde_json::{Value, json};

const ASKD: &str = env!("CARGO_BIN_EXE_askd");

fn ask(hub: &Hub, question: &Value) -> String {
    hub.ask(question).unwrap()["id"].as_str().unwrap().to_owned()
}

fn piped(hub: &Hub, words: &[&str], input: &str) -> Ran {
    run(&mut hub.command(words), input).unwrap()
}

fn outcome(hub: &Hub, id: &str) -> Value {
    hub.http("GET", &format!("/v1/questions/{id}"), None).unwrap().1["outcome"].clone()
}

#[test]
fn nothing_on_standard_input_or_in_a_file_is_no_answer() {
    let hub = Hub::start(ASKD).unwrap();
    let file = hub.data.join("plan.md");
    let plan = file.to_str().unwrap();
    let questions = [
        json!({ "questions": [{ "question": "Which?", "options": ["A", "B"] }] }),
        json!({ "questions": [{ "question": "Key?", "secret": true }] }),
        json!({ "kind": "plan", "body": { "format": "markdown", "text": "# Plan" }, "questions": [{ "question": "Right?" }] }),
    ];
    for question in &questions {
        let id = ask(&hub, question);
        for nothing in ["", "\n", "\r\n", " \n\n", "\u{feff}\n", "\0"] {
            std::fs::write(&file, nothing).unwrap();
            for (words, skips) in [
                (vec!["answer", &id, "--stdin"], "''"),
                (vec!["answer", &id, "--answers", "-"], "''"),
                (vec!["answer", &id, "--edited-plan", "-"], "approve"),
                (vec!["answer", &id, "--edited-plan", plan], "approve"),
            ] {
                let ran = piped(&hub, &words, nothing);
                assert!(ran.code == 7 && ran.stdout.is_empty(), "{words:?}: {ran:?}");
                assert!(
                    ran.stderr.contains("nothing was sent") && ran.stderr.contains(skips),
                    "{words:?}: {ran:?}"
                );
                assert_eq!(outcome(&hub, &id), Value::Null);
            }
        }
    }
    // To skip is to say so.
    let id = ask(&hub, &questions[0]);
    assert_eq!(hub.run(["answer", &id, ""]).unwrap().code, 0);
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([[]]));
    let ran = piped(&hub, &["attach", "opencode", "http://127.0.0.1:9", "--password-stdin"], "");
    assert!(ran.code == 2 && ran.stderr.contains("no password on standard input"), "{ran:?}");
}

#[test]
fn a_plan_that_is_sent_back_unchanged_is_the_same_plan() {
    let hub = Hub::start(ASKD).unwrap();
    for text in ["# Plan\n\n1. one", "# Plan\n", "a\r\nb\r\n", "# Plan\n\n"] {
        let question = json!({ "kind": "plan", "body": { "format": "markdown", "text": text }, "questions": [{ "question": "Right?" }] });
        for (ending, is_edited) in [("", false), ("more", true)] {
            let id = ask(&hub, &question);
            let body = hub.run(["show", &id, "--body"]).unwrap().stdout;
            assert_eq!(body, text);
            let ran = piped(&hub, &["answer", &id, "--edited-plan", "-"], &format!("{body}{ending}"));
            assert_eq!(ran.code, 0, "{ran:?}");
            let outcome = outcome(&hub, &id);
            assert_eq!(askd_testkit::given(&outcome["answers"]), json!([["approve"]]));
            assert_eq!(outcome["editedPlan"].is_string(), is_edited, "{text:?}: {outcome}");
        }
        // An editor ends the last line.
        let id = ask(&hub, &question);
        piped(
            &hub,
            &["answer", &id, "--edited-plan", "-"],
            &format!("{}\n", text.trim_end_matches(['\r', '\n'])),
        );
        if !text.ends_with("\n\n") && !text.contains('\r') {
            assert_eq!(outcome(&hub, &id)["editedPlan"], Value::Null, "{text:?}");
        }
    }
}
