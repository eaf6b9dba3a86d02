//! The whole loop in one command, and an agent in this terminal: `askd demo` and `askd run` with the scripted
//! agent.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use askd_testkit::hub::{Hub, PATIENCE, Ran, run, signal, wait};

const ASKD: &str = env!("CARGO_BIN_EXE_askd");

/// A command that runs on, with its lines as they come; killed at the end.
#[derive(Debug)]
struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        read(child.stdout.take().unwrap(), sender.clone());
        read(child.stderr.take().unwrap(), sender);
        Self { child, lines, seen: Vec::new() }
    }

    /// The first line, seen before or to come, that holds `text`.
    fn see(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.seen.iter().find(|line| line.contains(text)) {
                return line.clone();
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push(line),
                Err(_) => panic!("no {text:?} in {:#?}", self.seen),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(from: impl Read + Send + 'static, to: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}

fn askd(data: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(ASKD);
    command.args(args).env("ASKD_DATA", data).env("ASKD_ALLOW_INSIDE_AGENT", "1");
    command.env_remove("ASKD_SESSION").env_remove("ASKD_URL").env_remove("ASKD_TOKEN");
    run(&mut command, "").unwrap()
}

/// Answers the oldest question as soon as there is one.
fn answer(data: &Path, answer: &[&str]) {
    let end = Instant::now() + PATIENCE;
    loop {
        let ran = askd(data, &[&["answer", "--oldest"], answer].concat());
        if ran.code == 0 {
            return;
        }
        assert!(ran.code == 4 && Instant::now() < end, "{answer:?} gave {ran:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_demo_asks_and_goes_on_with_each_answer_and_leaves_nothing_behind() {
    let mut command = Command::new(ASKD);
    command.args(["demo", "--no-inline", "--listen", "127.0.0.1:0"]).env_remove("ASKD_DATA");
    let mut demo = Running::start(&mut command);
    assert!(demo.see("inbox: http://127.0.0.1:").contains("/#login="));
    let data = demo.see("export ASKD_DATA=").split_once('=').unwrap().1.to_owned();
    let data = Path::new(&data);
    assert_eq!(std::fs::metadata(data).unwrap().permissions().mode() & 0o777, 0o700);
    answer(data, &["JWT"]);
    demo.see(r#"received: {"status":"answered","answers":[["jwt"]]}"#);
    answer(data, &["Logging", "Metrics, traces"]);
    demo.see(r#"[["Logging","Metrics, traces"]]"#);
    answer(data, &["askd"]);
    demo.see(r#"[["askd"]]"#);
    answer(data, &["-i", "1=One server", "-i", "2=Lints", "-i", "2=own words"]);
    demo.see(r#"[["One server"],["Lints","own words"]]"#);
    answer(data, &["approve"]);
    demo.see("the agent is done");
    assert_eq!(
        askd(data, &["list", "--all", "--json"]).json().unwrap()["questions"].as_array().unwrap().len(),
        5
    );

    signal(demo.child.id(), "INT").unwrap();
    assert!(wait(&mut demo.child, PATIENCE).unwrap().success());
    assert!(!data.exists(), "the throw-away folder is thrown away");
}

#[test]
fn the_demo_keeps_its_data_nowhere_else() {
    let refused = askd(Path::new("/"), &["demo", "--data", "here"]);
    assert!(refused.code == 2 && refused.stderr.contains("askd up --data"), "{refused:?}");
}

#[test]
fn the_demo_can_be_left_in_the_middle() {
    let mut command = Command::new(ASKD);
    command.args(["demo", "--no-inline", "--listen", "127.0.0.1:0"]).env_remove("ASKD_DATA");
    let mut demo = Running::start(&mut command);
    let data = demo.see("export ASKD_DATA=").split_once('=').unwrap().1.to_owned();
    demo.see("waiting for an answer");
    signal(demo.child.id(), "INT").unwrap();
    assert!(wait(&mut demo.child, PATIENCE).unwrap().success());
    assert!(!Path::new(&data).exists());
}

#[test]
fn an_agent_that_is_run_shows_what_it_says_and_takes_an_answer_from_elsewhere() {
    let hub = Hub::start(ASKD).unwrap();
    let mut running =
        Running::start(&mut hub.command(["run", "mock", "--prompt", "question", "--no-inline"]));
    running.see("waiting for an answer: askd answer");
    answer(&hub.data, &["--pick", "1"]);
    running.see("received: ");
    assert_eq!(wait(&mut running.child, PATIENCE).unwrap().code(), Some(0), "{:#?}", running.seen);
    assert!(
        !running.seen.iter().any(|line| line.contains('\u{1b}')),
        "colours are for terminals: {running:#?}"
    );
    let unknown = hub.run(["run", "nobody", "--prompt", "x"]).unwrap();
    assert!(unknown.code != 0 && unknown.stderr.contains("nobody"), "{unknown:?}");
}

#[test]
fn an_agent_that_is_run_goes_on_when_the_hub_comes_back_elsewhere() {
    let mut hub = Hub::start(ASKD).unwrap();
    let mut running =
        Running::start(&mut hub.command(["run", "mock", "--prompt", "question", "--no-inline"]));
    running.see("waiting for an answer: askd answer");
    hub.kill().unwrap();
    running.see("the hub is gone");
    hub.restart_elsewhere().unwrap();
    running.see("connected again");
    answer(&hub.data, &["--pick", "1"]);
    running.see("received: ");
    assert_eq!(wait(&mut running.child, PATIENCE).unwrap().code(), Some(0), "{:#?}", running.seen);
}
