//! `askd watch` with the real binary: open questions first, then everything once, also across a crash of the
//! hub.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure here is a failed test")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use askd_testkit::hub::{Hub, PATIENCE, signal, wait};
use serde_json::{Value, json};

/// A running `askd watch`, killed at the end.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(hub: &Hub, args: &[&str]) -> Self {
        let mut command = hub.command(["watch"].iter().chain(args));
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("another line")
    }

    /// Type, number and text of the next event.
    fn event(&self) -> (String, u64, String) {
        let event: Value = serde_json::from_str(&self.line()).unwrap();
        let text = event["question"]["questions"][0]["question"].as_str().unwrap_or("").to_owned();
        (event["type"].as_str().unwrap().to_owned(), event["seq"].as_u64().unwrap(), text)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn ask(hub: &Hub, text: &str) -> String {
    hub.ask(&json!({ "questions": [{ "question": text }] })).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn open_questions_come_first_and_then_what_happens() {
    let hub = Hub::start(env!("CARGO_BIN_EXE_askd")).unwrap();
    let id = ask(&hub, "First?");
    let watch = Watch::start(&hub, &[]);
    let line = watch.line();
    assert!(line.contains("asked") && line.contains("First?"), "{line}");
    hub.run(["answer", &id, "yes"]).unwrap();
    let line = watch.line();
    assert!(line.contains("answered") && line.contains("yes  (on cli by owner)"), "{line}");
    ask(&hub, "Second?");
    assert!(watch.line().contains("Second?"));
}

#[test]
fn no_event_is_lost_or_repeated_when_the_hub_is_killed_and_comes_back() {
    let mut hub = Hub::start(env!("CARGO_BIN_EXE_askd")).unwrap();
    ask(&hub, "0");
    let watch = Watch::start(&hub, &["--json"]);
    let mut seen = vec![watch.event()];
    for round in 1..4 {
        ask(&hub, &format!("{round} before"));
        seen.push(watch.event());
        hub.kill().unwrap();
        hub.restart().unwrap();
        ask(&hub, &format!("{round} after"));
        seen.push(watch.event());
    }
    let texts: Vec<&str> = seen.iter().map(|(_, _, text)| text.as_str()).collect();
    assert_eq!(texts, ["0", "1 before", "1 after", "2 before", "2 after", "3 before", "3 after"]);
    assert!(seen.windows(2).all(|pair| pair[0].1 < pair[1].1), "{seen:?}");
    assert!(seen.iter().all(|(kind, ..)| kind == "question.requested"));

    let again = Watch::start(&hub, &["--json", "--after", &seen[4].1.to_string()]);
    assert_eq!([again.event().1, again.event().1], [seen[5].1, seen[6].1]);
}

#[test]
fn a_hub_that_comes_back_elsewhere_is_found_and_its_old_port_learns_nothing() {
    let mut hub = Hub::start(env!("CARGO_BIN_EXE_askd")).unwrap();
    ask(&hub, "before");
    let watch = Watch::start(&hub, &["--json"]);
    assert_eq!(watch.event().2, "before");
    let old = hub.url.trim_start_matches("http://").to_owned();
    hub.kill().unwrap();
    let thief = std::net::TcpListener::bind(old).unwrap();
    thief.set_nonblocking(true).unwrap();
    hub.restart_elsewhere().unwrap();
    ask(&hub, "after");
    assert_eq!(watch.event().2, "after");
    let tried = thief.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(tried, Err(std::io::ErrorKind::WouldBlock));
}

#[test]
fn ctrl_c_ends_it_and_a_reader_that_leaves_does_no_harm() {
    let hub = Hub::start(env!("CARGO_BIN_EXE_askd")).unwrap();
    ask(&hub, "Open?");
    let mut watch = Watch::start(&hub, &[]);
    watch.line();
    signal(watch.child.id(), "INT").unwrap();
    assert_eq!(wait(&mut watch.child, PATIENCE).unwrap().code(), Some(130));

    // As in `askd watch | head -1`: nothing more happens, and it ends.
    let mut watch = hub.command(["watch"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(watch.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let status = wait(&mut watch, PATIENCE);
    drop(watch.kill());
    assert_eq!(status.unwrap().code(), Some(0));

    // More than a pipe holds, so that the command is still writing when its reader leaves.
    for _ in 0..100 {
        ask(&hub, &"long ".repeat(400));
    }
    let mut command = hub.command(["list", "--limit", "500"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let status = wait(&mut child, PATIENCE).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}
