//! `askd run` under every signal and every end of its output, in each phase: what it has started does not
//! stay behind unsaid.

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

/// Whether a process has taken the signals for itself and now waits for something.
fn waits(pid: u32) -> bool {
    const INT: u64 = 1 << 1;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut states = threads.map(|thread| std::fs::read_to_string(thread.path().join("stat")));
    let sleeps = |stat: String| stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('S'));
    caught & INT != 0 && states.all(|stat| stat.is_ok_and(sleeps))
}

#[test]
fn a_second_signal_leaves_an_agent_that_is_starting_and_names_its_session() {
    let hub = Hub::start(ASKD).unwrap();
    // A hub that stands still keeps the start under way.
    signal(hub.pid().unwrap(), "STOP").unwrap();
    let mut child = start(&hub, "mock", "hang", Stdio::null());
    until("the start to be waited for", || waits(child.id()));
    signal(child.id(), "INT").unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut first).unwrap();
    assert!(first.contains("mock is ended as soon as it has started; again to leave it"), "{first}");
    signal(child.id(), "TERM").unwrap();
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(wait(&mut child, PATIENCE).unwrap().code(), Some(130), "by the first: {said}");
    assert!(said.contains("mock may go on as ses_") && said.contains("askd open"), "{said}");
    let (_, path) = said.trim().rsplit_once("DELETE ").unwrap();
    signal(hub.pid().unwrap(), "CONT").unwrap();
    until("the session that was left", || hub.http("GET", path, None).unwrap().0 == 200);
    assert_eq!(live(&hub), 1);
    assert_eq!(hub.http("DELETE", path, None).unwrap().0, 204);
    until("the end of its agent", || live(&hub) == 0 && hub.holders().is_empty());
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
