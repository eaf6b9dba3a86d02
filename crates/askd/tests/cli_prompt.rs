//! Answering by hand at a real terminal (a pseudo-terminal made by util-linux's `script`).

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure here is a failed test")]

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, PATIENCE, wait};
use serde_json::{Value, json};

const ASKD: &str = env!("CARGO_BIN_EXE_askd");
/// Says whether the terminal shows what is typed.
const ECHO: &str = "stty -a | grep -o -- '-*echo ' | head -1";

/// A command at a terminal, killed at the end.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Terminal {
    /// Starts a shell's command, in which `$ASKD` is the binary.
    fn start(hub: &Hub, script: &str) -> Self {
        let mut command = Command::new("script");
        command.args(["-qec", script, "/dev/null"]).env("ASKD", ASKD);
        command.env("ASKD_DATA", &hub.data).env("ASKD_ALLOW_INSIDE_AGENT", "1");
        command.env("TERM", "xterm").env("NO_COLOR", "1").env("SHELL", "/bin/sh");
        command.env_remove("ASKD_SESSION").env_remove("ASKD_URL").env_remove("ASKD_TOKEN");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux (Debian: bsdutils) is needed for this test");
        let keys = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let screen = Arc::new(Mutex::new(String::new()));
        let shared = screen.clone();
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = output.read(&mut bytes)
                && count > 0
            {
                shared.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, screen, reader: Some(reader) }
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Waits until the screen shows `text`.
    fn see(&self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.screen().contains(text) {
            assert!(Instant::now() < end, "no {text:?} on the screen:\n{}", self.screen());
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn keys(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// The exit code and everything that was on the screen.
    fn end(mut self) -> (i32, String) {
        let status = wait(&mut self.child, PATIENCE).unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status.code().unwrap_or(-1), self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn ask(hub: &Hub, question: Value) -> String {
    hub.ask(&question).unwrap()["id"].as_str().unwrap().to_owned()
}

fn outcome(hub: &Hub, id: &str) -> Value {
    hub.http("GET", &format!("/v1/questions/{id}"), None).unwrap().1["outcome"].clone()
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
    terminal.see("2. Extras?: Logging, Tracing, own, words");
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
