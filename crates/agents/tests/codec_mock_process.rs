//! The mock as a real process: what cannot be had without one (exit codes, signals, standard error, the end
//! of input).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// No step of these tests takes longer; a test that hangs must end.
const HARD_END: Duration = Duration::from_secs(60);

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn start(prompt: &str) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_askd-mock-agent"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut process = Self(child);
        process.write(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#);
        process
            .write(r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#);
        process.write(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{{"sessionId":"mock-1","prompt":[{{"type":"text","text":"{prompt}"}}]}}}}"#
        ));
        process
    }

    fn write(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn lines(&mut self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(self.0.stdout.take().unwrap()).lines().map(Result::unwrap)
    }

    fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + HARD_END;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the process does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

#[test]
fn a_crash_has_a_code_and_last_words() {
    for word in ["crash", "crash-while-asking"] {
        let mut process = Process::start(word);
        assert_eq!(process.wait().code(), Some(3));
        let mut errors = String::new();
        process.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(errors, "mock: something is wrong\nmock: panicked at 'asked to crash'\n");
        let asked = process.lines().any(|line| line.contains("request_question"));
        assert_eq!(asked, word == "crash-while-asking");
    }
}

#[test]
fn it_ends_with_its_input() {
    let mut process = Process::start("question");
    let mut lines = process.lines();
    assert!(lines.any(|line| line.contains("request_question")));
    drop(process.0.stdin.take());
    assert_eq!(process.wait().code(), Some(0));
}

#[test]
fn it_ignores_sigterm_on_demand_and_then_only_sigkill_ends_it() {
    let mut process = Process::start("ignore-term question");
    let mut lines = process.lines();
    assert!(lines.any(|line| line.contains("request_question")));
    process.signal(rustix::process::Signal::TERM);
    drop(process.0.stdin.take());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(process.0.try_wait().unwrap(), None);
    process.signal(rustix::process::Signal::KILL);
    assert_eq!(process.wait().code(), None);
}

#[test]
fn a_flood_is_whole_and_a_turn_can_be_stopped_while_it_asks() {
    let mut process = Process::start("flood=20000 withdraw=20 slow=20 question");
    let lines = process.lines();
    let mut floods = 0;
    let mut withdrawn = false;
    for line in lines {
        floods += usize::from(line.contains("flood "));
        withdrawn |= line.contains("$/cancel_request") && line.contains("q-1");
        if line.contains("question-2") {
            process.write(r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"mock-1"}}"#);
        }
        if line.contains("stopReason") {
            assert!(line.contains("cancelled"));
            break;
        }
    }
    assert_eq!((floods, withdrawn), (20000, true));
}

#[test]
fn it_tells_its_environment_and_starts_children() {
    let mut process = Process::start("env=ASKD_NO_SUCH_NAME child");
    let lines: Vec<String> = process.lines().take_while(|line| !line.contains("stopReason")).collect();
    assert!(lines.iter().any(|line| line.contains("env ASKD_NO_SUCH_NAME is not set")));
    let child =
        lines.iter().find_map(|line| line.split("child ").nth(1)?.split('\\').next()?.parse::<i32>().ok());
    let child = rustix::process::Pid::from_raw(child.unwrap()).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
}
