//! What scripts rely on: each exit code of docs/cli.md, and JSON and nothing else on the standard output with
//! `--json`.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use askd_testkit::hub::{Hub, PATIENCE, Ran, run, signal, wait};
use askd_testkit::lossy::Lossy;
use serde_json::{Value, json};

const ASKD: &str = env!("CARGO_BIN_EXE_askd");
const DOCUMENT: &str = include_str!("../../../docs/cli.md");
/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

fn ask(hub: &Hub, question: &Value) -> String {
    hub.ask(question).unwrap()["id"].as_str().unwrap().to_owned()
}

fn which() -> Value {
    json!({ "questions": [{ "question": "Which?", "custom": false, "options": ["A", "B"] }] })
}

/// The codes of the table in the document; a row may name several.
fn documented() -> BTreeSet<i32> {
    let table = DOCUMENT.split("## Exit codes").nth(1).unwrap().split("With `--json`").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    rows.flat_map(|codes| codes.split(", ").filter_map(|code| code.parse().ok())).collect()
}

#[test]
fn every_exit_code_has_its_one_meaning() {
    let hub = Hub::start(ASKD).unwrap();
    let open = || ask(&hub, &which());
    let settled = ask(&hub, &which());
    assert_eq!(hub.run(["answer", &settled, "A"]).unwrap().code, 0);
    let plan = ask(
        &hub,
        &json!({ "kind": "plan", "body": { "format": "markdown", "text": "x" }, "questions": [{ "question": "?" }] }),
    );
    let ask_only = hub.run(["token", "create", "--right", "ask"]).unwrap().stdout.trim().to_owned();
    let id = open();
    let cases: Vec<(i32, Vec<&str>)> = vec![
        (0, vec!["list"]),
        (0, vec!["show", &id]),
        (0, vec!["answer", &settled, "A"]),
        (0, vec!["--version"]),
        (1, vec!["attach", "opencode", NOWHERE]),
        (1, vec!["run", "mock", "--prompt", "crash"]),
        (2, vec!["nonsense"]),
        (2, vec!["answer", &id, "--stdin", "-i", "1=x"]),
        (2, vec!["--url", "localhost:2753", "list"]),
        (2, vec!["--url", "https://localhost:2753", "list"]),
        (2, vec!["token", "create", "--right", "ask", "--name", ""]),
        (2, vec!["list", "--session", "nonsense"]),
        (3, vec!["--url", NOWHERE, "list"]),
        (3, vec!["--url", NOWHERE, "answer", &id, "A"]),
        (3, vec!["--url", NOWHERE, "run", "mock", "--prompt", "x"]),
        (4, vec!["show", "ZZZZZZ"]),
        (4, vec!["show", &id, "--body"]),
        (4, vec!["token", "revoke", "nonsense"]),
        (5, vec!["answer", &settled, "B"]),
        (5, vec!["reject", &settled]),
        (6, vec!["--token", &ask_only, "answer", &id, "A"]),
        (6, vec!["--token", "nonsense", "list"]),
        (7, vec!["answer", &id, "C"]),
        (7, vec!["answer", &id, "--pick", "9"]),
        (7, vec!["answer", &plan, "--edited-plan", "/dev/null"]),
    ];
    let mut seen: BTreeSet<i32> = [129, 130, 131, 143].into();
    for (code, words) in &cases {
        for as_json in [false, true] {
            let words: Vec<&str> = words.iter().copied().chain(as_json.then_some("--json")).collect();
            let ran = hub.run(&words).unwrap();
            assert_eq!(ran.code, *code, "{words:?}: {ran:?}");
            if as_json && *code != 0 {
                let last = ran.stderr.lines().last().unwrap_or_default();
                let error: Value = serde_json::from_str(last).unwrap_or_default();
                assert_eq!(error["exitCode"], json!(code), "{words:?}: {ran:?}");
            }
        }
        seen.insert(*code);
    }
    let ran = run(hub.command(["list"]).env("ASKD_SESSION", "ses_1"), "").unwrap();
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = run(hub.command(["answer", &id, "A"]).env("ASKD_SESSION", "ses_1"), "").unwrap();
    assert_eq!(ran.code, 6, "{ran:?}");
    let ran = hub.run(["--url", "localhost:2753", "list"]).unwrap();
    assert!(ran.stderr.contains("use http://localhost:2753"), "{ran:?}");
    // The signals are in scripts_run.
    assert_eq!(documented(), seen, "docs/cli.md and these cases do not have the same codes");
}

fn only_json(words: &[&str], ran: &Ran) {
    for line in ran.stdout.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{words:?} printed {line:?}");
    }
}

#[test]
fn json_is_all_that_is_printed() {
    let hub = Hub::start(ASKD).unwrap();
    let plan = || {
        ask(
            &hub,
            &json!({ "kind": "plan", "body": { "format": "markdown", "text": "# x" }, "questions": [{ "question": "?" }] }),
        )
    };
    let (id, other, kept) = (plan(), plan(), plan());
    let started = json!({ "agent": "mock", "cwd": hub.data, "prompt": "question" });
    let session = hub.http("POST", "/v1/sessions", Some(&started)).unwrap().1;
    let session = session["id"].as_str().unwrap();
    let home = hub.data.join("home");
    std::fs::create_dir(&home).unwrap();
    let config = home.join("config");
    let settings = home.join("settings.json");
    let (config, settings) = (config.to_str().unwrap(), settings.to_str().unwrap());
    for words in [
        &["list"][..],
        &["list", "--all"],
        &["show", &id],
        &["show", &id, "--body"],
        &["answer", &id, "approve"],
        &["reject", &other],
        &["token", "create", "--right", "ask", "--name", "ci"],
        &["token", "list"],
        &["token", "revoke", "ci"],
        &["attach", "opencode", NOWHERE],
        &["open"],
        &["open", "--print"],
        &["doctor"],
        &["completions", "bash"],
        &["install", "claude", "--settings", settings],
        &["uninstall", "claude", "--settings", settings],
        &["install", "opencode", "--config-dir", config],
        &["uninstall", "opencode", "--config-dir", config],
        &["run", "mock", "--prompt", "hello"],
        &["tmux", session],
        &["tmux", session, "--off"],
        &["show", "ZZZZZZ"],
    ] {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let ran = hub.run(&words).unwrap();
        only_json(&words, &ran);
        assert!(!ran.stdout.is_empty() || ran.code == 4, "{words:?}: {ran:?}");
    }
    let body = hub.run(["show", &kept, "--body", "--json"]).unwrap().json().unwrap();
    assert_eq!(body["text"], "# x");
    // These two go on until they are ended.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    for words in [
        &["watch", "--json"][..],
        &["up", "--json", "--no-observe", "--listen", "127.0.0.1:0", "--data", data],
    ] {
        let mut command = hub.command(words);
        command
            .env("ASKD_NO_DISCOVERY", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(serde_json::from_str::<Value>(&line).unwrap().is_object(), "{words:?}: {line:?}");
    }
}

#[test]
fn a_demo_prints_json_and_nothing_else() {
    let hub = Hub::start(ASKD).unwrap();
    let mut command = hub.command(["demo", "--json", "--no-inline", "--listen", "127.0.0.1:0"]);
    for name in ["ASKD_DATA", "ASKD_URL", "ASKD_TOKEN"] {
        command.env_remove(name);
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    // It waits for an answer to its first question then.
    while !seen.iter().any(|line: &Value| line.to_string().contains("question")) {
        let line = lines.next().unwrap().unwrap();
        seen.push(serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line:?}")));
    }
    signal(child.id(), "INT").unwrap();
    wait(&mut child, PATIENCE).unwrap();
    for line in lines.map_while(Result::ok) {
        assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line:?}");
    }
}

#[test]
fn what_may_have_been_done_is_not_called_safe_to_do_again() {
    let hub = Hub::start(ASKD).unwrap();
    let token = hub.token().unwrap();
    let run_by = |way: &Lossy, words: &[&str], input: &str| {
        let words: Vec<&str> = ["--url", &way.url, "--token", &token].iter().chain(words).copied().collect();
        run(&mut hub.command(&words), input).unwrap()
    };
    let told = |ran: &Ran, look: &str| {
        let said = ran.code == 1 && ran.stderr.contains("it may have been done") && ran.stderr.contains(look);
        assert!(said && !ran.stderr.contains("again is safe"), "{ran:?}");
    };

    let way = Lossy::before(&hub, &["POST /v1/tokens ", "POST /v1/sessions "]).unwrap();
    told(&run_by(&way, &["token", "create", "--right", "ask", "--name", "lost"], ""), "see askd token list");
    assert!(hub.run(["token", "list"]).unwrap().stdout.contains("lost"), "it was done");
    told(&run_by(&way, &["run", "mock", "--prompt", "hello"], ""), "see the sessions on the page");
    let sessions = hub.http("GET", "/v1/sessions", None).unwrap().1;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "it was done: {sessions}");

    // An answer is the same success again.
    let id = ask(&hub, &which());
    let way = Lossy::before(&hub, &["POST /v1/questions/"]).unwrap();
    let ran = run_by(&way, &["answer", &id, "A"], "");
    assert!(ran.code == 1 && ran.stderr.contains("again is safe"), "{ran:?}");
    assert_eq!(hub.run(["answer", &id, "A"]).unwrap().code, 0);
}

/// The kernel takes a connection for a hub that is being killed, and breaks it at the hub's end.
#[test]
fn a_read_that_meets_a_hub_that_is_being_killed_says_that_none_runs() {
    for command in [vec!["list"], vec!["list", "--json"], vec!["backup", "copy.db"]] {
        let mut hub = Hub::start(ASKD).unwrap();
        hub.kill().unwrap();
        let socket = hub.data.join("hub.sock");
        std::fs::remove_file(&socket).unwrap();
        let dying = UnixListener::bind(&socket).unwrap();
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o600)).unwrap();
        let ends = std::thread::spawn(move || {
            let (connection, _) = dying.accept().unwrap();
            drop(dying);
            drop(connection);
        });
        let ran = hub.run(command.iter().copied()).unwrap();
        ends.join().unwrap();
        assert_eq!(ran.code, 3, "{command:?}: {ran:?}");
        assert!(ran.stderr.contains("no hub answers at"), "{command:?}: {ran:?}");
    }
}
