//! `askd run` at a real terminal: its questions, what it does with refused answers, and how it is left.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure here is a failed test")]

mod cli_terminal;

use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, PATIENCE};
use askd_testkit::lossy::Lossy;
use cli_terminal::{ASKD, Terminal, outcome};
use serde_json::{Value, json};

/// An agent that asks in a way that askd cannot show, so that the answer must be its raw result.
const ODD: &str = r#"while IFS= read -r line; do
  id=$(printf '%s\n' "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{}}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id" ;;
    *'"session/prompt"'*) turn=$id
      printf '{"jsonrpc":"2.0","id":"odd","method":"_sandboxagent/session/request_question","params":{"sessionId":"s","options":[["a","A"]]}}\n' ;;
    *'"id":"odd"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$turn" ;;
  esac
done"#;

/// The questions of the agents, in the order in which they came.
fn questions(hub: &Hub) -> Vec<Value> {
    let list = hub.http("GET", "/v1/questions?order=asc", None).unwrap().1;
    list["questions"].as_array().unwrap().clone()
}

fn live_sessions(hub: &Hub) -> usize {
    let list = hub.http("GET", "/v1/sessions", None).unwrap().1;
    list["sessions"].as_array().unwrap().iter().filter(|session| session["live"] == true).count()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_half_typed_answer_is_not_the_answer_to_the_next_question() {
    let hub = Hub::start(ASKD).unwrap();
    let mut terminal = Terminal::start(&hub, "$ASKD run mock --prompt both");
    terminal.see("Which option?");
    terminal.see("number or own words; ? helps> ");
    until("both questions are there", || questions(&hub).len() == 2);
    terminal.keys("drop the database");
    terminal.see("drop the database");
    let id = questions(&hub)[0]["id"].as_str().unwrap().to_owned();
    let other = json!({ "answers": [["option-a"]] });
    hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(&other)).unwrap();
    terminal.see("Which features do you want?");
    terminal.see("numbers such as 1,3, or 1,3 + own words, or own words; ? helps> ");
    terminal.keys("\n");
    terminal.see("Nothing was sent");
    terminal.keys("\u{4}");
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("nothing was sent; the session is ended, with all that it asked"), "{screen}");
    let second = questions(&hub).pop().unwrap();
    assert_eq!(second["status"], "cancelled", "{second}");
}

#[test]
fn a_refused_answer_is_told_and_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("agent.sh");
    std::fs::write(&script, ODD).unwrap();
    let agent = format!("--agent=odd=sh {}", script.display());
    let hub = Hub::builder(ASKD).arg(agent).start().unwrap();
    let mut terminal = Terminal::start(&hub, "$ASKD run odd --prompt go");
    terminal.see("answer; /help> ");
    terminal.keys("no result\n");
    terminal.see("the question is still open");
    let id = questions(&hub)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(outcome(&hub, &id), Value::Null);
    let refused = hub.run(["answer", &id, "no result"]).unwrap();
    assert_eq!(refused.code, 7, "{refused:?}");
    terminal.see_times("answer; /help> ", 2);
    terminal.keys("{\"status\":\"answered\",\"answers\":[[\"a\"]]}\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(outcome(&hub, &id)["status"], "answered");
}

#[test]
fn ctrl_c_ends_the_session_wherever_it_is_pressed() {
    let hub = Hub::start(ASKD).unwrap();
    for (run, seen) in [
        ("run mock", "> "),
        ("run mock --prompt hang", "askd: session "),
        ("run mock --prompt question", "? helps> "),
        ("run mock --prompt form", "> "),
        ("run mock --prompt secret", "/help> "),
        ("run mock --prompt question --no-inline", "waiting for an answer"),
    ] {
        let mut terminal = Terminal::start(&hub, &format!("trap : INT; $ASKD {run}; echo code=$?"));
        terminal.see(seen);
        assert_eq!(live_sessions(&hub), 1, "{run}");
        terminal.keys("\u{3}");
        terminal.see("the session is ended");
        let (_, screen) = terminal.end();
        assert!(screen.contains("code=130"), "{run}: {screen}");
        assert_eq!(live_sessions(&hub), 0, "{run}: {screen}");
    }
    let mut terminal =
        Terminal::start(&hub, "trap : INT; $ASKD run mock --prompt question --keep; echo code=$?");
    terminal.see("? helps> ");
    terminal.keys("\u{3}");
    terminal.see("nothing was sent; mock goes on as ses_");
    terminal.see("code=130");
    assert_eq!(live_sessions(&hub), 1);
    assert_eq!(questions(&hub).pop().unwrap()["status"], "requested");
}

#[test]
fn a_question_that_is_left_stays_open_and_the_session_goes_on() {
    let hub = Hub::start(ASKD).unwrap();
    let mut terminal = Terminal::start(&hub, "$ASKD run mock --prompt question");
    terminal.see("? helps> ");
    terminal.keys("q\n");
    terminal.see("the session goes on; Ctrl-C ends it");
    assert_eq!(live_sessions(&hub), 1);
    let question = questions(&hub).pop().unwrap();
    assert_eq!(question["status"], "requested");
    let id = question["id"].as_str().unwrap();
    let ran = hub.run(["answer", id, "--pick", "1"]).unwrap();
    assert_eq!(ran.code, 0, "{ran:?}");
    let (code, screen) = terminal.end();
    assert!(code == 0 && screen.contains("received: "), "{screen}");
}

#[test]
fn a_prompt_that_may_have_been_said_is_not_called_safe_to_say_again() {
    let hub = Hub::start(ASKD).unwrap();
    let way = Lossy::before(&hub, &["POST /v1/sessions/"]).unwrap();
    let run = format!("$ASKD --url {} --token {} run mock", way.url, hub.token().unwrap());
    let mut terminal = Terminal::start(&hub, &run);
    terminal.see("> ");
    terminal.keys("hello\n");
    let (code, screen) = terminal.end();
    assert!(code == 1 && screen.contains("it may have been done: see what the session says"), "{screen}");
    assert!(!screen.contains("again is safe"), "{screen}");
}
