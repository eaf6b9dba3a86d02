//! `askd run` under every signal and every end of its output, in each phase: what it has started does not stay behind unsaid.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure here is a failed test")]

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
mod cli_terminal;

use std::fs::File;
use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, PATIENCE, signal, wait};
use cli_terminal::{ASKD, Terminal};
use serde_json::Value;

/// An agent that takes its time to start.
const SLOW: &str = r#"while IFS= read -r line; do
  id=$(printf '%s\n' "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) sleep 2; printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{}}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id" ;;
  esac
done"#;

fn live(hub: &Hub) -> usize {
    let list = hub.http("GET", "/v1/sessions", None).unwrap().1;
    list["sessions"].as_array().unwrap().iter().filter(|session| session["live"] == true).count()
}

fn open(hub: &Hub) -> usize {
    let list: Value = hub.http("GET", "/v1/questions?status=requested", None).unwrap().1;
    list["questions"].as_array().unwrap().len()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn start(hub: &Hub, agent: &str, prompt: &str, stdout: Stdio) -> Child {
    let mut command = hub.command(["run", agent, "--prompt", prompt, "--no-inline"]);
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap()
}

/// The exit code and what was said on the standard error.
fn end(mut child: Child) -> (i32, String) {
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("no stderr");
    let reader = std::thread::spawn(move || stderr.read_to_string(&mut said).map(|_| said));
    let status = wait(&mut child, PATIENCE).unwrap();
    (status.code().unwrap_or(-1), reader.join().unwrap().unwrap())
}

#[test]
fn a_signal_ends_the_session_in_each_phase() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("slow.sh");
    std::fs::write(&script, SLOW).unwrap();
    let hub = Hub::builder(ASKD).arg(format!("--agent=slow=sh {}", script.display())).start().unwrap();
    type Phase = fn(&Hub) -> bool;
    let phases: [(&str, &str, Phase); 3] = [
        ("slow", "starting", |hub| !hub.holders().is_empty()),
        ("mock", "hang", |hub| live(hub) == 1),
        ("mock", "question", |hub| open(hub) == 1),
    ];
    for (agent, prompt, is_there) in phases {
        for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131)] {
            if agent == "slow" && !["INT", "TERM"].contains(&name) {
                continue;
            }
            let child = start(&hub, agent, prompt, Stdio::null());
            until(prompt, || is_there(&hub));
            signal(child.id(), name).unwrap();
            let (ended, said) = end(child);
            assert_eq!(ended, code, "{prompt}, {name}: {said}");
            assert!(said.contains("the session is ended"), "{prompt}, {name}: {said}");
            assert_eq!((live(&hub), open(&hub)), (0, 0), "{prompt}, {name}: {said}");
            until("the holder is gone", || hub.holders().is_empty());
        }
    }
}

#[test]
fn an_output_that_is_closed_or_full_ends_the_session() {
    let hub = Hub::start(ASKD).unwrap();
    // Nothing is said: the closed pipe is noticed all the same.
    let mut child = start(&hub, "mock", "hang", Stdio::piped());
    until("the session", || live(&hub) == 1);
    drop(child.stdout.take());
    let (code, said) = end(child);
    assert!(code == 0 && said.contains("the session is ended"), "{code}: {said}");
    assert_eq!(live(&hub), 0);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = hub.command(["run", "mock", "--prompt", "hang", "--json"]);
    let child = command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let (code, said) = end(child);
    assert!(code == 1 && said.contains("the session is ended"), "{code}: {said}");
    assert_eq!(live(&hub), 0);
    // A terminal that is closed.
    for _ in 0..4 {
        let terminal = Terminal::start(&hub, "exec $ASKD run mock --prompt question");
        terminal.see("? helps> ");
        drop(terminal);
        until("the end of the session", || live(&hub) == 0);
    }
}

#[test]
fn without_the_hub_it_says_what_goes_on_and_how_to_end_it() {
    let mut hub = Hub::start(ASKD).unwrap();
    let child = start(&hub, "mock", "hang", Stdio::null());
    until("the session", || live(&hub) == 1);
    hub.kill().unwrap();
    signal(child.id(), "INT").unwrap();
    let (code, said) = end(child);
    assert!(
        code == 3 && said.contains("mock may go on as ses_") && said.contains("DELETE /v1/sessions/ses_"),
        "{code}: {said}"
    );
}
