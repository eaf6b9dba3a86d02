//! The inbox from the command line, with the real binary: list, show, answer, reject, and the exit codes that
//! scripts use.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, PATIENCE, Ran, run};
use serde_json::{Value, json};

fn hub() -> Hub {
    Hub::start(env!("CARGO_BIN_EXE_askd")).unwrap()
}

fn ask(hub: &Hub, question: Value) -> String {
    hub.ask(&question).unwrap()["id"].as_str().unwrap().to_owned()
}

fn single() -> Value {
    json!({ "agent": "claude", "context": { "cwd": "/srv/app" },
        "questions": [{ "question": "Which auth method?", "header": "Auth", "options": ["JWT", { "label": "Session", "value": "s" }] }] })
}

fn answers(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{ran:?}");
    askd_testkit::given(&ran.json().unwrap()["outcome"]["answers"])
}

#[test]
fn a_question_is_listed_shown_and_answered() {
    let hub = hub();
    let id = ask(&hub, single());
    let table = hub.run(["list"]).unwrap();
    let short = &id[id.len() - 6..];
    let row = table.stdout.lines().nth(1).unwrap();
    assert!(row.starts_with(&format!("{short}  claude")), "{row:?}");
    assert!(row.ends_with("Auth: Which auth method?  /srv/app"), "{row:?}");
    let listed = hub.run(["list", "--json"]).unwrap().json().unwrap();
    let api = hub.http("GET", "/v1/questions?status=requested&order=asc", None).unwrap().1;
    assert_eq!(listed, api);

    let shown = hub.run(["show", short]).unwrap();
    assert!(shown.stdout.contains("2) Session [s]"), "{shown:?}");
    let answered = hub.run(["answer", short, "session", "--json"]).unwrap();
    assert_eq!(answers(&answered), json!([["s"]]));
    assert_eq!(answered.json().unwrap()["outcome"]["by"], json!({ "surface": "cli", "actor": "owner" }));

    let empty = hub.run(["list"]).unwrap();
    assert_eq!((empty.code, empty.stdout.as_str(), empty.stderr.as_str()), (0, "", "No question is open.\n"));
    let all = hub.run(["list", "--all"]).unwrap();
    assert!(all.stdout.contains("answered"), "{all:?}");
    let none = hub.run(["list", "--status", "rejected", "--json"]).unwrap().json().unwrap();
    assert_eq!(none["questions"], json!([]));
    let shown = hub.run(["show", &id]).unwrap();
    assert!(shown.stdout.contains("Answered on cli by owner"), "{shown:?}");
}

#[test]
fn the_first_answer_wins_and_the_exit_code_says_so() {
    let hub = hub();
    let id = ask(&hub, single());
    let first = hub.run(["answer", &id, "JWT"]).unwrap();
    assert!(first.code == 0 && first.stdout.contains("Answered on cli by owner"), "{first:?}");
    assert!(first.stdout.contains(": JWT"), "{first:?}");
    assert_eq!(hub.run(["answer", &id, "JWT"]).unwrap().code, 0, "the same answer again");
    let other = hub.run(["answer", &id, "Session"]).unwrap();
    assert_eq!((other.code, other.stdout.as_str()), (5, ""));
    assert!(other.stderr.contains("was already answered on cli by owner"), "{other:?}");
    assert!(other.stderr.contains(": JWT"), "{other:?}");
    let other = hub.run(["reject", &id, "--json"]).unwrap();
    let error: Value = serde_json::from_str(&other.stderr).unwrap();
    assert_eq!((other.code, &error["exitCode"]), (5, &json!(5)));
    assert_eq!(error["problem"]["code"], json!("already_settled"));
    assert_eq!(askd_testkit::given(&error["problem"]["question"]["outcome"]["answers"]), json!([["JWT"]]));
    assert_eq!(hub.run(["answer", &id]).unwrap().code, 5, "nobody is asked for what is settled");
}

#[test]
fn values_are_safe_whatever_is_in_them() {
    let hub = hub();
    let multiple =
        json!({ "questions": [{ "question": "Which?", "multiple": true, "options": ["A, B", "C"] }] });
    let id = ask(&hub, multiple);
    let ran = hub.run(["answer", &id, "A, B", "own\nwords, \"quoted\" = x", "--json"]).unwrap();
    assert_eq!(answers(&ran), json!([["A, B", "own\nwords, \"quoted\" = x"]]));

    let two = json!({ "questions": [{ "question": "One?", "options": ["x", "y"] },
        { "question": "Many?", "header": "Many", "multiple": true, "options": ["p", "q", "r"] }] });
    let id = ask(&hub, two.clone());
    let numbered =
        ["answer", &id, "-i", "2=p", "-i", "1=y", "-i", "Many=a=b, c", "--note", "1=why", "--json"];
    let ran = hub.run(numbered).unwrap();
    assert_eq!(answers(&ran), json!([["y"], ["p", "a=b, c"]]));
    assert_eq!(ran.json().unwrap()["outcome"]["notes"], json!(["why", null]));
    let id = ask(&hub, two.clone());
    let ran = hub.run(["answer", &id, "-p", "1.2", "-p", "2.1", "-p", "2.3", "--json"]).unwrap();
    assert_eq!(answers(&ran), json!([["y"], ["p", "r"]]));
    let id = ask(&hub, two);
    let raw = run(&mut hub.command(["answer", &id, "--answers", "-", "--json"]), r#"[["x"],["q"]]"#).unwrap();
    assert_eq!(answers(&raw), json!([["x"], ["q"]]));

    let free = json!({ "questions": [{ "question": "Why?" }] });
    let id = ask(&hub, free.clone());
    let ran = run(&mut hub.command(["answer", &id, "--stdin", "--json"]), "line one\nline two\n").unwrap();
    assert_eq!(answers(&ran), json!([["line one\nline two"]]));
    ask(&hub, free.clone());
    assert_eq!(answers(&hub.run(["answer", "--oldest", "-5", "--json"]).unwrap()), json!([["-5"]]));
    let id = ask(&hub, free);
    let ran = hub.run(["answer", "--json", "--", &id, "--not-a-flag"]).unwrap();
    assert_eq!(answers(&ran), json!([["--not-a-flag"]]));
}

#[test]
fn a_text_that_could_be_several_options_is_not_sent_and_the_receipt_shows_labels() {
    let hub = hub();
    let replicas = json!({ "questions": [{ "question": "How many?", "options": [{ "label": "2 replicas", "value": "0" },
        { "label": "4 replicas", "value": "1" }, { "label": "8 replicas", "value": "2" }] }] });
    let id = ask(&hub, replicas.clone());
    let piped = run(&mut hub.command(["answer", &id, "--stdin"]), "2\n").unwrap();
    for ran in [hub.run(["answer", &id, "2"]).unwrap(), hub.run(["answer", &id, "-i", "1=2"]).unwrap(), piped]
    {
        assert!(
            ran.code == 7 && ran.stderr.contains("the number of 4 replicas and the value of 8"),
            "{ran:?}"
        );
    }
    // Neither do own words become the option that has them as its value.
    let own = hub.run(["answer", &id, "2", "--own-words"]).unwrap();
    assert!(own.code == 7 && own.stderr.contains("8 replicas"), "{own:?}");
    let none = hub.run(["answer", &id, "--value", "8 replicas"]).unwrap();
    assert!(none.code == 7 && none.stderr.contains("is not one of: 0, 1, 2"), "{none:?}");
    assert_eq!(hub.run(["show", &id, "--json"]).unwrap().json().unwrap()["status"], json!("requested"));
    let picked = hub.run(["answer", &id, "--value", "2"]).unwrap();
    assert!(picked.code == 0 && picked.stdout.contains(": 8 replicas\n"), "{picked:?}");
    let outcome = hub.run(["show", &id, "--json"]).unwrap().json().unwrap()["outcome"].clone();
    assert_eq!(outcome["answers"], json!([{ "picks": ["2"], "labels": ["8 replicas"], "words": [] }]));
    let shown = hub.run(["show", &id]).unwrap();
    assert!(shown.stdout.contains("3) 8 replicas [2]"), "{shown:?}");
    for (words, wanted) in [
        (&["--pick", "2"][..], json!({ "picks": ["1"], "labels": ["4 replicas"], "words": [] })),
        (&["--own-words", "twelve"], json!({ "picks": [], "labels": [], "words": ["twelve"] })),
        (
            &["--answers", r#"[{"picks":["0"]}]"#],
            json!({ "picks": ["0"], "labels": ["2 replicas"], "words": [] }),
        ),
        (
            &["--answers", r#"[["8 replicas"]]"#],
            json!({ "picks": ["2"], "labels": ["8 replicas"], "words": [] }),
        ),
    ] {
        let id = ask(&hub, replicas.clone());
        let args: Vec<&str> = ["answer", &id, "--json"].into_iter().chain(words.iter().copied()).collect();
        let ran = hub.run(&args).unwrap();
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.json().unwrap()["outcome"]["answers"], json!([wanted]), "{words:?}");
    }
}

#[test]
fn a_secret_that_is_piped_is_not_warned_of() {
    let hub = hub();
    let secret = json!({ "questions": [{ "question": "Key?", "secret": true }] });
    let warning = "a secret on the command line";
    let id = ask(&hub, secret.clone());
    let json = run(&mut hub.command(["answer", &id, "--answers", "-"]), r#"[["hunter2"]]"#).unwrap();
    assert!(json.code == 0 && !json.stderr.contains(warning), "{json:?}");
    let id = ask(&hub, secret.clone());
    let text = run(&mut hub.command(["answer", &id, "--stdin"]), "hunter2").unwrap();
    assert!(text.code == 0 && !text.stderr.contains(warning), "{text:?}");
    let id = ask(&hub, secret);
    let typed = hub.run(["answer", &id, "--answers", r#"[["hunter2"]]"#]).unwrap();
    assert!(typed.code == 0 && typed.stderr.contains(warning), "{typed:?}");
}

#[test]
fn an_answer_that_does_not_fit_is_told_and_changes_nothing() {
    let hub = hub();
    let fixed = json!({ "questions": [{ "question": "Which?", "custom": false, "options": ["A", "B"] }] });
    let id = ask(&hub, fixed);
    for (args, wanted) in [
        (&["answer", &id, "C"][..], "is not one of: A, B"),
        (&["answer", &id, "A", "B"], "takes one answer"),
        (&["answer", &id, "--pick", "3"], "numbered 1 to 2"),
        (&["answer", &id, "--answers", "[]"], "has 0 answers for 1 questions"),
        (&["answer", &id, "--answers", "nonsense"], "must be JSON"),
        (&["answer", &id, "-i", "2=A"], "no question 2"),
        (
            &["reject", &id, "--mode", "interrupt"],
            "interrupt is not a way to reject this question; use decline",
        ),
    ] {
        let ran = hub.run(args).unwrap();
        assert!(ran.code == 7 && ran.stderr.contains(wanted), "{args:?} gave {ran:?}");
    }
    let ran = hub.run(["answer", &id]).unwrap();
    assert!(ran.code == 2 && ran.stderr.contains("no terminal to ask at"), "{ran:?}");
    assert_eq!(hub.run(["answer", &id, "A", "--stdin"]).unwrap().code, 2);
    assert_eq!(hub.run(["show", &id, "--json"]).unwrap().json().unwrap()["status"], json!("requested"));
}

#[test]
fn an_error_names_the_item_as_show_does_and_is_safe_for_a_terminal() {
    let hub = hub();
    let two = json!({ "questions": [{ "question": "Name", "input": "integer", "key": "name" },
        { "question": "Which?", "header": "Other", "custom": false, "options": ["v\u{9b}31m\u{202e}", "w"] }] });
    let id = ask(&hub, two);
    let shown = hub.run(["show", &id]).unwrap().stdout;
    assert!(shown.contains("1. Name\n") && shown.contains("; key name)"), "{shown}");
    let ran = hub.run(["answer", &id, "-i", "Name=Bob", "-i", "Which?=x"]).unwrap();
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(
        ran.stderr.contains("askd: 1. Name: \"Bob\" is not an integer; 2. Other: \"x\" is not"),
        "{ran:?}"
    );
    let ran = hub.run(["answer", &id, "1", "x", "--json"]).unwrap();
    let bad = ran.stderr.chars().find(|c| *c != '\n' && (c.is_control() || *c == '\u{202e}'));
    assert_eq!((ran.code, bad), (7, None), "{ran:?}");
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["problem"]["errors"][0]["field"], "answers[1].words[0]", "the API's own words: {error}");
}

#[test]
fn a_secret_is_warned_of_where_others_can_see_it_and_not_on_stdin() {
    let hub = hub();
    let question = json!({ "questions": [{ "question": "Key?", "secret": true }] });
    let json = r#"[["hunter2"]]"#;
    for (arg, warned) in [(json, true), ("-", false)] {
        let id = ask(&hub, question.clone());
        let ran = run(&mut hub.command(["answer", &id, "--answers", arg]), json).unwrap();
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.stderr.contains("secret on the command line"), warned, "{arg}: {ran:?}");
    }
}

#[test]
fn a_secret_that_is_skipped_is_not_warned_of() {
    let hub = hub();
    let question = json!({ "questions": [{ "question": "Why?" }, { "question": "Key?", "secret": true }] });
    for (secret, warned) in [("2=", false), ("2=hunter2", true)] {
        let id = ask(&hub, question.clone());
        let ran = hub.run(["answer", &id, "-i", "1=so", "-i", secret]).unwrap();
        assert_eq!((ran.code, ran.stderr.contains("can be seen by others")), (0, warned), "{ran:?}");
    }
}

#[test]
fn a_conflict_does_not_tell_the_secret_that_won() {
    let hub = hub();
    let id = ask(&hub, json!({ "questions": [{ "question": "Key?", "secret": true }] }));
    assert_eq!(hub.run(["answer", &id, "hunter2"]).unwrap().code, 0);
    for words in [&["answer", &id][..], &["answer", &id, "other"], &["reject", &id]] {
        let ran = hub.run(words).unwrap();
        assert!(
            ran.code == 5 && ran.stderr.contains("(secret)") && !ran.stderr.contains("hunter2"),
            "{ran:?}"
        );
    }
}

#[test]
fn a_rejection_says_what_it_does_before_it_does_it() {
    let hub = hub();
    let plan = json!({ "kind": "plan", "questions": [{ "question": "Right?" }], "rejectModes": ["decline", "interrupt"],
        "body": { "format": "markdown", "text": "# Plan\n\u{1b}[2Jhostile\n" } });
    let id = ask(&hub, plan.clone());
    let ran = hub.run(["reject", &id, "--reason", "smaller steps"]).unwrap();
    assert!(ran.stderr.contains("(decline): the plan goes back to the agent with your feedback."), "{ran:?}");
    assert!(ran.code == 0 && ran.stdout.contains("Declined on cli by owner"), "{ran:?}");
    let id = ask(&hub, plan.clone());
    let ran = hub.run(["reject", "--oldest", "--mode", "interrupt"]).unwrap();
    assert!(ran.stderr.contains("the agent's turn is stopped"), "{ran:?}");
    let shown = hub.run(["show", &id, "--json"]).unwrap().json().unwrap();
    assert_eq!(shown["outcome"]["mode"], json!("interrupt"));

    let id = ask(&hub, plan);
    let body = hub.run(["show", &id, "--body"]).unwrap();
    assert_eq!(body.stdout, "# Plan\n\u{1b}[2Jhostile\n", "a file gets the very text");
    let file = hub.data.join("plan.md");
    std::fs::write(&file, "# Mine\n").unwrap();
    let ran = hub.run(["answer", &id, "--edited-plan", file.to_str().unwrap(), "--json"]).unwrap();
    assert_eq!(answers(&ran), json!([["approve"]]));
    assert_eq!(ran.json().unwrap()["outcome"]["editedPlan"], json!("# Mine\n"));
}

#[test]
fn ids_can_be_short_and_are_never_guessed() {
    let hub = hub();
    let ids = [ask(&hub, single()), ask(&hub, single())];
    let common = &ids[0][..8];
    let ran = hub.run(["answer", common, "JWT"]).unwrap();
    assert!(ran.code == 4 && ran.stderr.contains("can mean 2 questions"), "{ran:?}");
    assert!(ids.iter().all(|id| ran.stderr.contains(id)), "{ran:?}");
    for unknown in ["ZZZZZZZZ", "que_00000000000000000000000000", "x/../y", "abc"] {
        assert_eq!(hub.run(["show", unknown]).unwrap().code, 4, "{unknown}");
    }
    let lower = ids[1][ids[1].len() - 8..].to_lowercase();
    assert_eq!(hub.run(["answer", &lower, "JWT"]).unwrap().code, 0);
    assert_eq!(hub.run(["answer", common, "JWT"]).unwrap().code, 0, "only one is still open");
    assert_eq!(hub.run(["show", "--oldest"]).unwrap().code, 4, "none is open");
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    let hub = hub();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}2J\u{202e}";
    let option = json!({ "label": evil, "value": "v", "description": evil, "preview": evil });
    ask(
        &hub,
        json!({ "context": { "cwd": evil, "title": evil, "excerpt": evil },
            "questions": [{ "question": evil, "header": evil, "options": [option] }] }),
    );
    for args in [&["list"][..], &["list", "--json"], &["show", "--oldest"], &["show", "--oldest", "--json"]] {
        let ran = hub.run(args).unwrap();
        assert!(ran.code == 0 && ran.stdout.contains("red"), "{args:?} gave {ran:?}");
        let bad = ran.stdout.chars().find(|c| *c != '\n' && (c.is_control() || *c == '\u{202e}'));
        assert_eq!(bad, None, "{args:?} gave {:?}", ran.stdout);
    }
    let (_, api) = hub.http("GET", "/v1/questions", None).unwrap();
    assert_eq!(hub.run(["list", "--all", "--json"]).unwrap().json().unwrap(), api, "and JSON loses nothing");
}

#[test]
fn long_lists_are_read_page_by_page() {
    let hub = hub();
    for n in 0..7 {
        ask(&hub, json!({ "questions": [{ "question": format!("Question {n}?") }] }));
    }
    let some = hub.run(["list", "--limit", "3"]).unwrap();
    assert_eq!(some.stdout.lines().count(), 4);
    assert!(some.stdout.contains("Question 0?") && some.stderr.contains("There are more"), "{some:?}");
    let all = hub.run(["list", "--json"]).unwrap().json().unwrap();
    assert_eq!((all["questions"].as_array().unwrap().len(), &all["nextCursor"]), (7, &Value::Null));
}

/// Runs a command again and again until its JSON is as wanted.
fn until(hub: &Hub, args: &[&str], wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let ran = hub.run(args).unwrap();
        if let Some(json) = ran.json().ok().filter(&wanted) {
            return json;
        }
        assert!(Instant::now() < end, "{args:?} still gives {ran:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_agent_gets_the_answer_and_the_receipt_says_so() {
    let hub = hub();
    let started = json!({ "agent": "mock", "cwd": hub.data, "prompt": "question" });
    let (status, session) = hub.http("POST", "/v1/sessions", Some(&started)).unwrap();
    assert_eq!(status, 201, "{session}");
    let asked = until(&hub, &["show", "--oldest", "--json"], |question| question["agent"] == "mock");
    let id = asked["id"].as_str().unwrap();
    assert_eq!(hub.run(["answer", id, "--pick", "1"]).unwrap().code, 0);
    until(&hub, &["show", id, "--json"], |question| question["delivery"]["state"] == "confirmed");
    let shown = hub.run(["show", id]).unwrap();
    assert!(shown.stdout.contains("confirmed: the agent went on with it"), "{shown:?}");
    let doctor = hub.run(["doctor"]).unwrap();
    assert!(doctor.stdout.contains("1 live, 1 of them started by askd"), "{doctor:?}");
}
