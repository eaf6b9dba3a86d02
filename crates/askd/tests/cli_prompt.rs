//! Answering by hand at a real terminal.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure here is a failed test")]

mod cli_terminal;

use std::io::{Read, Write};

use askd_testkit::hub::Hub;
use cli_terminal::{ASKD, Terminal, outcome};
use serde_json::{Value, json};

/// Says whether the terminal shows what is typed.
const ECHO: &str = "stty -a | grep -o -- '-*echo ' | head -1";

fn ask(hub: &Hub, question: Value) -> String {
    hub.ask(&question).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_person_is_shown_the_options_and_reviews_several_answers() {
    let hub = Hub::start(ASKD).unwrap();
    let question = json!({ "questions": [
        { "question": "Which auth method?", "options": [{ "label": "JWT", "description": "Stateless" }, "Session"] },
        { "question": "Extras?", "multiple": true, "options": ["Logging", "Metrics", "Tracing"] }] });
    let id = ask(&hub, question);
    let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}"));
    terminal.see("1) JWT");
    terminal.see("Stateless");
    terminal.see("number or own words; empty skips> ");
    terminal.keys("9\n");
    terminal.see("There is no option 9");
    terminal.keys("2\n");
    terminal.see("3) Tracing");
    terminal.keys("1,3 + own, words\n");
    terminal.see("2. Extras?: Logging, Tracing, \"own, words\"");
    assert_eq!(outcome(&hub, &id), Value::Null, "nothing is sent before the review");
    terminal.keys("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("Answered on cli by owner"), "{screen}");
    assert_eq!(outcome(&hub, &id)["answers"], json!([["Session"], ["Logging", "Tracing", "own, words"]]));
}

#[test]
fn a_secret_is_not_shown_and_the_terminal_is_as_before() {
    let hub = Hub::start(ASKD).unwrap();
    // Asked by another, because whoever asked may read the secret.
    let question = json!({ "questions": [{ "question": "API key?", "secret": true }] });
    let (_, asked) =
        hub.http_as(&hub.ask_token().unwrap(), "POST", "/v1/questions", Some(&question)).unwrap();
    let id = asked["id"].as_str().unwrap().to_owned();
    let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}; {ECHO}"));
    terminal.see("answer; empty skips> ");
    terminal.keys("hunter2\n");
    let (_, screen) = terminal.end();
    assert!(screen.contains("(secret)") && !screen.contains("hunter2"), "{screen}");
    assert!(screen.trim_end().ends_with("\necho"), "{screen:?}");
    assert_eq!(outcome(&hub, &id)["withheld"], json!([0]));
    let asker =
        hub.http_as(&hub.ask_token().unwrap(), "GET", &format!("/v1/questions/{id}"), None).unwrap().1;
    assert_eq!(asker["outcome"]["answers"], json!([["hunter2"]]));
}

#[test]
fn ctrl_c_sends_nothing_also_in_a_secret() {
    let hub = Hub::start(ASKD).unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Token?", "secret": true }] }));
    let mut terminal = Terminal::start(&hub, &format!("trap : INT; $ASKD answer {id}; echo code=$?; {ECHO}"));
    terminal.see("answer; empty skips> ");
    terminal.keys("half\u{3}");
    terminal.see("nothing was sent; the question is still open");
    let (_, screen) = terminal.end();
    assert!(screen.contains("code=130") && screen.trim_end().ends_with("\necho"), "{screen:?}");
    assert_eq!(outcome(&hub, &id), Value::Null);
}

#[test]
fn a_person_who_types_is_told_when_somebody_else_was_first() {
    let hub = Hub::start(ASKD).unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Which?" }] }));
    let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}"));
    terminal.see("answer; empty skips> ");
    terminal.keys("half an ans");
    let other = json!({ "answers": [["the other"]] });
    hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(&other)).unwrap();
    let (code, screen) = terminal.end();
    assert_eq!(code, 5, "{screen}");
    assert!(screen.contains("was already answered on api by owner"), "{screen}");
    assert!(screen.contains(": the other"), "{screen}");
}

/// What a shell reads when the command before it is over: `sh` runs it, here it is only shown.
const SHELL: &str = r#"read -r rest; echo "shell=[$rest]""#;

#[test]
fn what_was_typed_at_a_question_that_is_over_does_not_reach_the_shell() {
    let hub = Hub::start(ASKD).unwrap();
    for secret in [false, true] {
        let id = ask(&hub, json!({ "questions": [{ "question": "Which?", "secret": secret }] }));
        let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}; {ECHO}; {SHELL}"));
        terminal.see("answer; empty skips> ");
        terminal.keys("touch pwned");
        // The keys must have reached the terminal; those of a secret cannot be seen to do so.
        if secret {
            std::thread::sleep(std::time::Duration::from_millis(300));
        } else {
            terminal.see("touch pwned");
        }
        let other = json!({ "answers": [["the other"]] });
        hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(&other)).unwrap();
        terminal.see("\necho");
        terminal.keys("\n");
        let (_, screen) = terminal.end();
        let told = format!("\naskd: {} was already answered", &id[id.len() - 6..]);
        assert!(screen.contains(&told) && screen.contains("shell=[]"), "{screen}");
        assert_eq!(screen.contains("touch pwned"), !secret, "{screen}");
    }
}

#[test]
fn a_hub_that_is_away_when_a_form_is_sent_loses_nothing_of_it() {
    let mut hub = Hub::start(ASKD).unwrap();
    let question = json!({ "questions": [{ "question": "First?" }, { "question": "Second?" }] });
    let id = ask(&hub, question);
    let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id} --note 1=why"));
    terminal.see("1. First?");
    terminal.see("answer; empty skips> ");
    terminal.keys("one\n");
    terminal.see("2. Second?");
    terminal.keys("two\n");
    terminal.see("Enter sends it");
    hub.kill().unwrap();
    terminal.keys("\n");
    terminal.see("your answer is kept");
    hub.restart().unwrap();
    terminal.keys("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(outcome(&hub, &id)["answers"], json!([["one"], ["two"]]));
    assert_eq!(outcome(&hub, &id)["notes"], json!(["why", null]));
}

#[test]
fn a_list_takes_one_value_a_line() {
    let hub = Hub::start(ASKD).unwrap();
    let ports = json!({ "questions": [{ "question": "Which ports?", "multiple": true, "input": "integer",
        "bounds": { "minItems": 2 }, "required": true }] });
    let id = ask(&hub, ports);
    let shown = hub.run(["show", &id]).unwrap().stdout;
    let short = &id[id.len() - 6..];
    assert!(shown.contains("(a whole number; several values; picks at least 2; required)"), "{shown}");
    assert!(
        shown.contains(&format!("Several values for Which ports?: askd answer {short} ONE TWO")),
        "{shown}"
    );
    let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}"));
    terminal.see("several values, one a line, an empty line ends> ");
    terminal.keys("80,443\n");
    terminal.see("is not an integer");
    terminal.keys("80\n\n");
    terminal.see("at least 2 must be picked");
    terminal.keys("443\n\n");
    let (code, screen) = terminal.end();
    assert!(code == 0 && screen.contains(": 80, 443"), "{screen}");
    assert_eq!(outcome(&hub, &id)["answers"], json!([["80", "443"]]));
    let id = ask(&hub, json!({ "questions": [{ "question": "Which files?", "multiple": true }] }));
    let ran = hub.run(["answer", &id, "a.txt, b.txt", "c.txt"]).unwrap();
    assert!(ran.stdout.contains(r#": "a.txt, b.txt", c.txt"#), "{ran:?}");
}

#[test]
fn an_empty_line_does_not_answer() {
    let hub = Hub::start(ASKD).unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Which?", "options": ["A", "B"] }] }));
    let mut terminal = Terminal::start(&hub, "$ASKD answer --oldest");
    terminal.see("empty skips> ");
    terminal.keys("\n");
    terminal.see("(skipped)");
    terminal.keys("\n");
    terminal.see("Type yes to send that");
    terminal.keys("q\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert_eq!(outcome(&hub, &id), Value::Null);
}

#[test]
fn a_demo_is_answered_in_its_own_terminal_and_left_at_any_question() {
    let hub = Hub::start(ASKD).unwrap();
    let script = "trap : INT; $ASKD demo --listen 127.0.0.1:0; echo code=$?";
    let mut terminal = Terminal::start(&hub, script);
    terminal.see("Which auth method should we use?");
    terminal.see("empty skips> ");
    terminal.keys("2\n");
    terminal.see(r#"received: {"status":"answered","answers":[["sessions"]]}"#);
    terminal.see("numbers such as 1,3");
    terminal.keys("\u{3}");
    let (_, screen) = terminal.end();
    assert!(screen.trim_end().ends_with("code=0"), "{screen}");
}

#[test]
fn the_password_of_a_server_is_asked_for_and_not_shown() {
    let hub = Hub::start(ASKD).unwrap();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let mut terminal = Terminal::start(&hub, &format!("$ASKD attach opencode {url}; {ECHO}"));
    terminal.see("Password of the server (Enter if it has none): ");
    terminal.keys("hunter2\n");
    let mut head = [0; 4096];
    let (mut connection, _) = server.accept().unwrap();
    let count = connection.read(&mut head).unwrap();
    let head = String::from_utf8_lossy(&head[..count]).to_lowercase();
    // opencode:hunter2
    assert!(head.contains("authorization: basic b3blbmnvzgu6ahvudgvymg=="), "{head}");
    connection.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").unwrap();
    terminal.see("the server refuses the user name or password");
    let (_, screen) = terminal.end();
    assert!(!screen.contains("hunter2") && screen.trim_end().ends_with("\necho"), "{screen:?}");
}
