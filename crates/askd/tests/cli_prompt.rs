//! Answering by hand at a real terminal.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure here is a failed test")]

mod cli_terminal;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use askd_testkit::hub::{Hub, PATIENCE};
use cli_terminal::{ASKD, Terminal, outcome};
use serde_json::{Value, json};

/// Says whether the terminal shows what is typed.
const ECHO: &str = "stty -a | grep -o -- '-*echo ' | head -1";

fn ask(hub: &Hub, question: Value) -> String {
    hub.ask(&question).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_prompt_whose_terminal_is_closed_ends_with_the_code_for_that() {
    let hub = Hub::start(ASKD).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Which?", "options": ["JWT"] }] }));
    for round in 0..4 {
        let code = folder.path().join(round.to_string());
        let script = format!("trap '' HUP; $ASKD answer {id}; echo $? > '{}'", code.display());
        let terminal = Terminal::start(&hub, &script);
        terminal.see("? helps> ");
        drop(terminal);
        let end = std::time::Instant::now() + PATIENCE;
        let said = loop {
            match std::fs::read_to_string(&code) {
                Ok(said) if said.ends_with('\n') => break said,
                _ => assert!(std::time::Instant::now() < end, "the command has not ended"),
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        assert_eq!(said, "129\n");
    }
    assert_eq!(outcome(&hub, &id), Value::Null);
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
    terminal.see("number or own words; ? helps> ");
    terminal.keys("9\n");
    terminal.see("There is no option 9");
    terminal.keys("2\n");
    terminal.see("3) Tracing");
    terminal.see("or own words; ? helps> ");
    terminal.see("numbers such as 1,3");
    terminal.keys("1,3 + own, words\n");
    terminal.see("2. Extras?: Logging, Tracing, \"own, words\"");
    terminal.see("Enter sends it");
    assert_eq!(outcome(&hub, &id), Value::Null, "nothing is sent before the review");
    terminal.keys("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("Answered on cli by owner"), "{screen}");
    assert_eq!(
        askd_testkit::given(&outcome(&hub, &id)["answers"]),
        json!([["Session"], ["Logging", "Tracing", "own, words"]])
    );
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
    terminal.see("answer; /help> ");
    terminal.keys("hunter2\n");
    let (_, screen) = terminal.end();
    assert!(screen.contains("(secret)") && !screen.contains("hunter2"), "{screen}");
    assert!(screen.trim_end().ends_with("\necho"), "{screen:?}");
    assert_eq!(outcome(&hub, &id)["withheld"], json!([0]));
    let asker =
        hub.http_as(&hub.ask_token().unwrap(), "GET", &format!("/v1/questions/{id}"), None).unwrap().1;
    assert_eq!(askd_testkit::given(&asker["outcome"]["answers"]), json!([["hunter2"]]));
}

#[test]
fn ctrl_c_sends_nothing_also_in_a_secret() {
    let hub = Hub::start(ASKD).unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Token?", "secret": true }] }));
    let mut terminal = Terminal::start(&hub, &format!("trap : INT; $ASKD answer {id}; echo code=$?; {ECHO}"));
    terminal.see("answer; /help> ");
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
    terminal.see("answer; /help> ");
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
        terminal.see("answer; /help> ");
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
    terminal.see("answer; /help> ");
    terminal.keys("one\n");
    terminal.see("2. Second?");
    terminal.see_times("answer; /help> ", 2);
    terminal.keys("two\n");
    terminal.see("Enter sends it");
    hub.kill().unwrap();
    terminal.keys("\n");
    terminal.see("your answer is kept");
    hub.restart().unwrap();
    terminal.see_times("Enter sends it", 2);
    terminal.keys("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([["one"], ["two"]]));
    assert_eq!(outcome(&hub, &id)["notes"], json!(["why", null]));
}

/// A way to the hub that passes on each connection's requests, and loses the response to the first answer.
fn way_that_loses_a_response(hub: &Hub) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let target = hub.url.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        let has_lost = Arc::new(AtomicBool::new(false));
        for client in listener.incoming() {
            let (client, hub) = (client.unwrap(), TcpStream::connect(&target).unwrap());
            let loses = Arc::new(AtomicBool::new(false));
            let (mut requests, mut to_hub) = (client.try_clone().unwrap(), hub.try_clone().unwrap());
            let (has_lost, now_loses) = (has_lost.clone(), loses.clone());
            std::thread::spawn(move || {
                let mut bytes = [0; 65536];
                while let Ok(count @ 1..) = requests.read(&mut bytes) {
                    if String::from_utf8_lossy(&bytes[..count]).contains("/reply HTTP/1.1") {
                        now_loses.store(!has_lost.swap(true, Ordering::SeqCst), Ordering::SeqCst);
                    }
                    if to_hub.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = to_hub.shutdown(Shutdown::Both);
            });
            let (mut responses, mut to_client) = (hub, client);
            std::thread::spawn(move || {
                let mut bytes = [0; 65536];
                while let Ok(count @ 1..) = responses.read(&mut bytes) {
                    if loses.load(Ordering::SeqCst) || to_client.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = to_client.shutdown(Shutdown::Both);
            });
        }
    });
    url
}

#[test]
fn an_answer_that_was_taken_is_told_where_its_response_was_lost() {
    let hub = Hub::start(ASKD).unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Which?", "options": ["A", "B"] }] }));
    let (url, token) = (way_that_loses_a_response(&hub), hub.token().unwrap());
    let mut terminal = Terminal::start(&hub, &format!("ASKD_URL={url} ASKD_TOKEN={token} $ASKD answer {id}"));
    terminal.see("number or own words; ? helps> ");
    terminal.keys("2\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("your answer is kept"), "its response was lost: {screen}");
    assert!(screen.contains("Answered on cli by owner"), "{screen}");
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([["B"]]));
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
    terminal.see("several values, one a line, an empty line ends; /help> ");
    terminal.keys("80,443\n");
    terminal.see("is not an integer");
    terminal.keys("80\n");
    terminal.see("value 2; an empty line ends> ");
    terminal.keys("\n");
    terminal.see("at least 2 must be picked");
    terminal.keys("443\n");
    terminal.see("value 3; an empty line ends> ");
    terminal.keys("\n");
    let (code, screen) = terminal.end();
    assert!(code == 0 && screen.contains(": 80, 443"), "{screen}");
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([["80", "443"]]));
    let id = ask(&hub, json!({ "questions": [{ "question": "Which files?", "multiple": true }] }));
    let ran = hub.run(["answer", &id, "a.txt, b.txt", "c.txt"]).unwrap();
    assert!(ran.stdout.contains(r#": "a.txt, b.txt", c.txt"#), "{ran:?}");
}

/// What is typed by mistake: arrows, Home, Tab, Escape, Ctrl-A, nothing.
const STRAY: [&str; 8] = ["\u{1b}[B", "\u{1b}[A", "\u{1b}OA", "\u{1b}[H", "\t", "\u{1b}", "\u{1}", ""];

#[test]
fn no_stray_key_is_an_answer_where_there_are_options() {
    let hub = Hub::start(ASKD).unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Which?", "options": ["JWT", "Sessions"] }] }));
    let mut terminal = Terminal::start(&hub, "$ASKD answer --oldest");
    let pasted =
        ["\u{1b}[200~Sessions\nyes\n\u{1b}[201~", "\u{1b}[200~Sessions\nyes\u{1b}[201~", "Sessions\nyes"];
    let mut prompts = 0;
    for keys in STRAY.into_iter().chain(["?"]).chain(pasted) {
        prompts += 1;
        terminal.see_times("number or own words; ? helps> ", prompts);
        terminal.keys(&format!("{keys}\n"));
    }
    terminal.see_times("number or own words; ? helps> ", prompts + 1);
    terminal.keys("q\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert_eq!(outcome(&hub, &id), Value::Null, "{screen}");
    for said in [
        "arrows, Tab, Escape and such keys do not answer. Type an option's number or label, or own words",
        "Enter alone does not answer",
        "leave the question open",
        "several lines were pasted",
        "several lines came at once",
        "nothing was sent; the question is still open",
    ] {
        assert!(screen.contains(said), "no {said:?} in:\n{screen}");
    }
    let (on, off) = (screen.rfind("\u{1b}[?2004h"), screen.rfind("\u{1b}[?2004l"));
    assert!(on.is_some() && off > on, "the terminal goes on marking pastes: {screen:?}");
}

#[test]
fn a_paste_whose_last_line_has_no_end_is_not_taken() {
    let hub = Hub::start(ASKD).unwrap();
    for question in
        [json!({ "question": "Which?", "options": ["JWT", "Sessions"] }), json!({ "question": "Why?" })]
    {
        let id = ask(&hub, json!({ "questions": [question] }));
        let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}"));
        terminal.see("\u{1b}[?2004h");
        terminal.keys("Sessions\nyes");
        terminal.see("Nothing was sent: several lines came at once");
        terminal.see_times("\u{1b}[?2004h", 2);
        terminal.keys("/quit\n");
        let (code, screen) = terminal.end();
        assert_eq!((code, outcome(&hub, &id)), (130, Value::Null), "{screen}");
    }
}

#[test]
fn no_stray_key_is_an_answer_in_own_words_and_a_paste_is_sent_by_enter_only() {
    let hub = Hub::start(ASKD).unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Why?" }] }));
    let mut terminal = Terminal::start(&hub, "$ASKD answer --oldest");
    let mut prompts = 0;
    for keys in STRAY.into_iter().chain(["/help", "one\ntwo"]) {
        prompts += 1;
        terminal.see_times("answer; /help> ", prompts);
        terminal.keys(&format!("{keys}\n"));
    }
    terminal.see_times("answer; /help> ", prompts + 1);
    terminal.keys("\u{1b}[200~one\ntwo\n\u{1b}[201~");
    terminal.see("two\r\n^[[201~");
    assert_eq!(outcome(&hub, &id), Value::Null);
    terminal.keys("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([["one\ntwo"]]));
    let id = ask(&hub, json!({ "questions": [{ "question": "Why?" }] }));
    let mut terminal = Terminal::start(&hub, "$ASKD answer --oldest");
    terminal.see("answer; /help> ");
    terminal.keys("/quit\n");
    assert_eq!(terminal.end().0, 130);
    assert_eq!(outcome(&hub, &id), Value::Null);
}

#[test]
fn a_near_miss_is_refused_on_the_command_line_and_asked_about_at_the_prompt() {
    let hub = Hub::start(ASKD).unwrap();
    let question = json!({ "questions": [{ "question": "Which?", "options": ["JWT", "Sessions"] }] });
    let id = ask(&hub, question.clone());
    let refused = hub.run(["answer", &id, "Sesions"]).unwrap();
    assert!(refused.code == 7 && refused.stderr.contains("did you mean Sessions?"), "{refused:?}");
    assert_eq!(outcome(&hub, &id), Value::Null);
    let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}"));
    terminal.see("? helps> ");
    terminal.keys("Sesions\n");
    terminal.see("Did you mean Sessions? `y` sends Sessions, `o` sends your own words, Enter asks again: ");
    terminal.keys("\n");
    terminal.see_times("? helps> ", 2);
    assert_eq!(outcome(&hub, &id), Value::Null);
    terminal.keys("sesions\n");
    terminal.see_times("Enter asks again: ", 2);
    terminal.keys("y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([["Sessions"]]));
    let id = ask(&hub, question);
    let ran = hub.run(["answer", &id, "Sesions", "--own-words"]).unwrap();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([["Sesions"]]));
}

#[test]
fn a_plan_is_approved_by_its_own_pick_only() {
    let hub = Hub::start(ASKD).unwrap();
    let plan = json!({ "kind": "plan", "questions": [{ "question": "Is this plan right?" }],
        "body": { "format": "markdown", "text": "1. Do it." } });
    let id = ask(&hub, plan.clone());
    let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}"));
    terminal.see("send it back; ? helps> ");
    terminal.keys("\n");
    terminal.see("Enter alone does not answer");
    terminal.see_times("send it back; ? helps> ", 2);
    assert_eq!(outcome(&hub, &id), Value::Null);
    terminal.keys("1\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([["approve"]]));
    let id = ask(&hub, plan);
    assert_eq!(hub.run(["answer", &id, "approve"]).unwrap().code, 0);
}

#[test]
fn what_is_typed_in_the_first_moment_of_a_question_is_dropped() {
    let hub = Hub::start(ASKD).unwrap();
    // A machine that is too busy types too late: then it is an answer, and another try is made.
    let dropped = (0..10).any(|_| {
        let id = ask(&hub, json!({ "questions": [{ "question": "Which?", "options": ["A", "B"] }] }));
        let mut terminal = Terminal::start(&hub, &format!("$ASKD answer {id}"));
        terminal.see("2) B");
        terminal.keys("2\n");
        terminal.see("? helps> ");
        // Where it is an answer nothing reads this.
        terminal.keys("q\n");
        let (code, _) = terminal.end();
        code == 130 && outcome(&hub, &id) == Value::Null
    });
    assert!(dropped);
}

#[test]
fn a_signal_that_ends_a_prompt_leaves_the_terminal_as_it_was() {
    let hub = Hub::start(ASKD).unwrap();
    for (name, number) in [("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
        let id = ask(&hub, json!({ "questions": [{ "question": "Key?", "secret": true }] }));
        let run = format!(r#"sh -c 'echo "pid=$$;"; exec "$ASKD" answer {id}'; echo code=$?; {ECHO}"#);
        let terminal = Terminal::start(&hub, &run);
        terminal.see("answer; /help> ");
        let screen = terminal.screen();
        let pid = screen.split_once("pid=").unwrap().1.split_once(';').unwrap().0.parse().unwrap();
        askd_testkit::hub::signal(pid, name).unwrap();
        let (_, screen) = terminal.end();
        assert!(screen.contains(&format!("code={}", 128 + number)), "{name}: {screen}");
        assert!(screen.trim_end().ends_with("\necho"), "{name}: {screen:?}");
        assert!(screen.rfind("\u{1b}[?2004l") > screen.rfind("\u{1b}[?2004h"), "{name}: {screen:?}");
        assert_eq!(outcome(&hub, &id), Value::Null);
    }
}

#[test]
fn the_terminal_is_as_it_was_while_a_secret_prompt_is_stopped() {
    let hub = Hub::start(ASKD).unwrap();
    let id = ask(&hub, json!({ "questions": [{ "question": "Key?", "secret": true }] }));
    let run = format!("set -m; $ASKD answer {id}; echo stopped; {ECHO}; fg; echo code=$?; {ECHO}");
    let mut terminal = Terminal::start(&hub, &run);
    terminal.see("answer; /help> ");
    terminal.keys("half\u{1a}");
    terminal.see("stopped");
    terminal.see_times("answer; /help> ", 2);
    terminal.keys("hunter2\n");
    let (_, screen) = terminal.end();
    let stopped = screen.split_once("stopped").unwrap().1;
    assert!(stopped.starts_with("\r\necho"), "{screen:?}");
    assert!(screen.contains("code=0") && screen.trim_end().ends_with("\necho"), "{screen:?}");
    assert!(!screen.contains("half") && !screen.contains("hunter2"), "{screen}");
    assert_eq!(askd_testkit::given(&outcome(&hub, &id)["answers"]), json!([["hunter2"]]));
}

#[test]
fn a_demo_is_answered_in_its_own_terminal_and_left_at_any_question() {
    let hub = Hub::start(ASKD).unwrap();
    let script = "trap : INT; $ASKD demo --listen 127.0.0.1:0; echo code=$?";
    let mut terminal = Terminal::start(&hub, script);
    terminal.see("Which auth method should we use?");
    terminal.see("? helps> ");
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
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
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
