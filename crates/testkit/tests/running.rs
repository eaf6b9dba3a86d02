//! A program that a test has started: it is heard, every wait ends, and nothing of it outlives the test.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise, its helpers too")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use askd_testkit::programs::{AgentEnv, CodexEnv, RunError, Running};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(60);

fn shell(script: &str) -> Running {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    Running::start(command).unwrap()
}

#[tokio::test]
async fn lines_go_in_and_come_out() {
    let mut cat = shell("echo not json; cat");
    cat.send(&json!({ "a": 1 })).await.unwrap();
    cat.send(&json!({ "a": 2 })).await.unwrap();
    let second = cat.message("the second", LIMIT, |message| message["a"] == 2).await.unwrap();
    assert_eq!(second, json!({ "a": 2 }));
    assert!(cat.end(LIMIT).await.unwrap().success());
}

#[tokio::test]
async fn a_wait_ends_with_what_the_program_said() {
    let mut silent = shell("echo trouble >&2; echo hello; sleep 600");
    let end = Instant::now() + LIMIT;
    loop {
        let error = silent.message("an answer", Duration::from_millis(300), |_| true).await.unwrap_err();
        assert!(matches!(error, RunError::Late { .. }));
        let text = error.to_string();
        assert!(text.starts_with("see an answer from `/bin/sh` within 300ms"), "{text}");
        if text.contains("out: hello") && text.contains("err: trouble") {
            break;
        }
        assert!(Instant::now() < end, "{text}");
    }
    let error = shell("exit 3").message("an answer", LIMIT, |_| true).await.unwrap_err();
    assert!(matches!(error, RunError::Closed { .. }));
}

#[tokio::test]
async fn the_children_of_a_dropped_program_are_gone_too() {
    let mut parent = shell("sleep 600 & echo $!; wait");
    let child: u32 = parent.line("a pid", LIMIT, |line| line.parse().ok()).await.unwrap();
    let alive = || Path::new(&format!("/proc/{child}/cmdline")).metadata().is_ok() && !is_dead(child);
    assert!(alive());
    drop(parent);
    let gone = async {
        while alive() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, gone).await.expect("the child outlives its parent");
}

/// A killed orphan is a zombie until init reaps it.
fn is_dead(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[tokio::test]
async fn an_agent_sees_nothing_of_our_environment() {
    let env = CodexEnv::new("http://127.0.0.1:1/v1").unwrap();
    let mut names: Vec<_> = env.env().into_iter().map(|(name, _)| name).collect();
    names.sort();
    let mut command = env.command(Path::new("/usr/bin/env"));
    command.arg("-0");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut seen: Vec<_> =
        text.split('\0').filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
    seen.sort();
    assert_eq!(seen, names);
    let home = env.place().home().to_owned();
    assert!(home.join(".codex/config.toml").is_file());
    drop(env);
    assert!(!home.exists());
}
