//! Nothing that runs inside an agent answers for its human: the command line refuses there, and says why.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::os::unix::fs::symlink;
use std::process::Command;

use askd_testkit::hub::{Hub, Ran, run};
use serde_json::json;

const ASKD: &str = env!("CARGO_BIN_EXE_askd");
const REFUSED: [&[&str]; 5] = [
    &["answer", "--oldest", "yes"],
    &["reject", "--oldest"],
    &["open", "--print"],
    &["token", "create", "--right", "answer"],
    &["token", "create", "--right", "manage"],
];
const ALLOWED: [&[&str]; 3] = [&["list"], &["show", "--oldest"], &["token", "create", "--right", "ask"]];

fn hub_with_question() -> Hub {
    let hub = Hub::start(ASKD).unwrap();
    hub.ask(&json!({ "questions": [{ "question": "May I?" }] })).unwrap();
    hub
}

fn still_open(hub: &Hub) {
    let (_, list) = hub.http("GET", "/v1/questions?status=requested", None).unwrap();
    assert_eq!(list["questions"].as_array().unwrap().len(), 1);
}

#[test]
fn an_agent_that_askd_started_cannot_answer_and_nothing_overrides_that() {
    let hub = hub_with_question();
    let inside = |args: &[&str]| -> Ran { run(hub.command(args).env("ASKD_SESSION", "ses_x"), "").unwrap() };
    for args in REFUSED {
        let ran = inside(args);
        assert!(ran.code == 6 && ran.stderr.contains("ASKD_SESSION is set"), "{args:?} gave {ran:?}");
    }
    for args in ALLOWED {
        assert_eq!(inside(args).code, 0, "{args:?}");
    }
    still_open(&hub);
}

#[test]
fn a_command_below_a_known_agent_is_refused() {
    let hub = hub_with_question();
    let bin = tempfile::tempdir().unwrap();
    let agent = bin.path().join("codex");
    symlink("/bin/sh", &agent).unwrap();
    let inside = |args: &[&str], allow: bool| -> Ran {
        // Several commands, so that the shell stays above the first one.
        let mut command = Command::new(&agent);
        command.args(["-c", "\"$0\" \"$@\"; code=$?; exit $code", ASKD]).args(args);
        command.env("ASKD_DATA", &hub.data);
        command.env_remove("ASKD_SESSION").env_remove("ASKD_URL").env_remove("ASKD_TOKEN");
        command.env("ASKD_ALLOW_INSIDE_AGENT", if allow { "1" } else { "" });
        run(&mut command, "").unwrap()
    };
    for args in REFUSED {
        let ran = inside(args, false);
        assert!(ran.code == 6 && ran.stderr.contains("inside the agent codex"), "{args:?} gave {ran:?}");
    }
    for args in ALLOWED {
        assert_eq!(inside(args, false).code, 0, "{args:?}");
    }
    still_open(&hub);
    let by_a_person = inside(&["answer", "--oldest", "yes"], true);
    assert_eq!(by_a_person.code, 0, "a person may say that it is not the agent who types: {by_a_person:?}");
}
