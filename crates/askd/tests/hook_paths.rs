//! A path that a hook names is looked at, not trusted: what lies there can hold up no other hook, no other
//! transcript and no thread.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::{Hub, PATIENCE, run};
use serde_json::{Value, json};

/// Hooks that name the same odd file one after the other.
const HOOKS: usize = 24;

struct Stage {
    hub: Hub,
    config: PathBuf,
    _folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let config = folder.path().join("config");
        std::fs::create_dir_all(config.join("projects/-w"))?;
        let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("CLAUDE_CONFIG_DIR", &config).start()?;
        Ok(Self { hub, config, _folder: folder })
    }

    /// The transcript of the session with this number.
    fn transcript(&self, n: u32) -> PathBuf {
        transcript(&self.config, n)
    }

    fn asks(&self, n: u32) -> Result<Value> {
        hook_asks(&self.hub, n, &self.transcript(n))
    }

    /// The name that the question of a session has in the transcript, once the hub has read it there.
    fn reads(&self, n: u32) -> Result<()> {
        append(&self.transcript(n), &asked_line(n))?;
        until(&format!("question of {n}"), || {
            let open = open(&self.hub)?;
            Ok(open.iter().any(|asked| asked["tool"]["callId"] == json!(call(n))).then_some(()))
        })
    }
}

fn session(n: u32) -> String {
    format!("3337aed3-e7c1-49cf-a370-{n:012}")
}

fn call(n: u32) -> String {
    format!("toolu_{n}")
}

fn transcript(config: &Path, n: u32) -> PathBuf {
    config.join("projects/-w").join(format!("{}.jsonl", session(n)))
}

fn questions() -> Value {
    json!({ "questions": [{ "question": "Which?", "header": "H", "multiSelect": false,
        "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }] }] })
}

fn asked_line(n: u32) -> Value {
    let block = json!({ "type": "tool_use", "id": call(n), "name": "AskUserQuestion", "input": questions() });
    json!({ "type": "assistant", "isSidechain": false, "sessionId": session(n), "cwd": "/w",
        "message": { "id": "msg_1", "role": "assistant", "content": [block] } })
}

fn answered_line(n: u32) -> Value {
    let block = json!({ "type": "tool_result", "tool_use_id": call(n), "content": "told" });
    json!({ "type": "user", "sessionId": session(n), "message": { "role": "user", "content": [block] },
        "toolUseResult": { "answers": { "Which?": "A" } } })
}

fn append(path: &Path, line: &Value) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.write_all(format!("{line}\n").as_bytes())?)
}

/// A hook asks; its question is stored when this returns.
fn hook_asks(hub: &Hub, n: u32, path: &Path) -> Result<Value> {
    let input = json!({ "session_id": session(n), "transcript_path": path, "cwd": "/w",
        "hook_event_name": "PermissionRequest", "tool_name": "AskUserQuestion", "tool_input": questions() });
    let body = json!({ "hook": format!("{n:032}"), "pid": std::process::id(), "input": input });
    let (status, word) = hub.http_as(&hub.ask_token()?, "POST", "/v1/hooks/claude", Some(&body))?;
    ensure!(status == 200 && word["state"] == "open", "{status}: {word}");
    Ok(word)
}

fn open(hub: &Hub) -> Result<Vec<Value>> {
    let (_, list) = hub.http("GET", "/v1/questions?status=requested&order=asc&limit=200", None)?;
    Ok(list["questions"].as_array().cloned().unwrap_or_default())
}

fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(Instant::now() < end, "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn threads(hub: &Hub) -> Result<usize> {
    let pid = hub.pid().context("no hub")?;
    Ok(std::fs::read_dir(format!("/proc/{pid}/task"))?.count())
}

/// Bytes that the hub has read so far.
fn bytes_read(hub: &Hub) -> Result<u64> {
    let pid = hub.pid().context("no hub")?;
    let io = std::fs::read_to_string(format!("/proc/{pid}/io"))?;
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: ")).context("no rchar")?;
    Ok(line.trim().parse()?)
}

fn mkfifo(path: &Path) -> Result<()> {
    ensure!(std::process::Command::new("mkfifo").arg(path).status()?.success());
    Ok(())
}

/// Many hooks name the odd thing, then others come: all are answered, no thread is left behind, other
/// transcripts are read.
fn holds_up_nobody(make: impl Fn(&Path) -> Result<()>) -> Result<()> {
    let stage = Stage::new()?;
    stage.reads(1)?;
    // The threads that the hub needs for its work are there after some of it.
    for n in 100..110 {
        stage.asks(n)?;
    }
    let before = threads(&stage.hub)?;
    for n in 0..HOOKS {
        let n = 1000 + u32::try_from(n)?;
        make(&stage.transcript(n))?;
        stage.asks(n)?;
    }
    stage.asks(2)?;
    stage.reads(3)?;
    let after = threads(&stage.hub)?;
    ensure!(after < before + HOOKS / 2, "{before} threads before, {after} after {HOOKS} hooks");
    Ok(())
}

#[test]
fn a_fifo_in_the_place_of_a_transcript_holds_up_nobody() -> Result<()> {
    holds_up_nobody(mkfifo)
}

#[test]
fn a_device_behind_a_link_is_not_read() -> Result<()> {
    holds_up_nobody(|path| Ok(symlink("/dev/zero", path)?))
}

#[test]
fn a_loop_of_links_holds_up_nobody() -> Result<()> {
    holds_up_nobody(|path| Ok(symlink(path, path)?))
}

#[test]
fn a_fifo_outside_of_every_known_folder_is_not_touched() -> Result<()> {
    let stage = Stage::new()?;
    let elsewhere = tempfile::tempdir()?;
    let path = transcript(elsewhere.path(), 7);
    std::fs::create_dir_all(path.parent().context("no folder")?)?;
    mkfifo(&path)?;
    for path in [&path, &elsewhere.path().join("x.jsonl"), Path::new("/dev/zero"), Path::new("x.jsonl")] {
        hook_asks(&stage.hub, 7, path)?;
    }
    stage.asks(8)?;
    stage.reads(9)
}

#[test]
fn a_file_that_claims_200_gib_is_read_at_its_end_while_other_transcripts_are_seen() -> Result<()> {
    let stage = Stage::new()?;
    stage.reads(1)?;
    let before = bytes_read(&stage.hub)?;
    for n in [4, 5] {
        File::create(stage.transcript(n))?.set_len(200 << 30)?;
    }
    append(&stage.transcript(4), &json!("the end of the line of zeros"))?;
    append(&stage.transcript(4), &asked_line(4))?;
    let word = stage.asks(4)?;
    stage.asks(5)?;
    stage.reads(2)?;
    // Behind the zeros it is followed as any other: the question of its hook ends with the call.
    append(&stage.transcript(4), &answered_line(4))?;
    let path = format!("/v1/questions/{}", word["questionId"].as_str().context("no id")?);
    until("end of the question", || {
        let question = stage.hub.http("GET", &path, None)?.1;
        Ok((question["status"] == "answered").then_some(()))
    })?;
    let read = bytes_read(&stage.hub)? - before;
    ensure!(read < 4 << 30, "{read} bytes were read");
    Ok(())
}

#[test]
fn a_folder_counts_once_its_user_has_told_of_it_and_doctor_shows_it() -> Result<()> {
    let stage = Stage::new()?;
    let place = tempfile::tempdir()?;
    let other = place.path().join("it's a $HOME");
    std::fs::create_dir_all(other.join("projects/-w"))?;
    let named = |n: u32| -> Result<Value> {
        append(&transcript(&other, n), &asked_line(n))?;
        let word = hook_asks(&stage.hub, n, &transcript(&other, n))?;
        let path = format!("/v1/questions/{}", word["questionId"].as_str().context("no id")?);
        Ok(stage.hub.http("GET", &path, None)?.1["tool"]["callId"].clone())
    };
    let folders = || -> Result<Vec<Value>> {
        let doctor = run(&mut stage.hub.command(["doctor", "--json"]), "")?.json()?;
        let checks = doctor["checks"].as_array().cloned().unwrap_or_default();
        Ok(checks.into_iter().filter(|check| check["name"] == "claude folder").collect())
    };
    assert_eq!(named(1)?, Value::Null, "it is not read");
    let folder = other.display().to_string();
    let warned = until("word of the doctor", || Ok(folders()?.pop()))?;
    assert_eq!(warned["state"], "warn");
    let remedy = warned["remedy"].as_str().unwrap_or_default();
    assert!(warned["detail"].as_str().unwrap_or_default().contains(&folder), "{warned}");
    let script = remedy.strip_prefix("if it is yours: ").context("no command")?;
    // As it stands, in a shell of the user, which knows nothing of where this hub is.
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().env("HOME", place.path()).env("PATH", "/usr/bin:/bin").args(["-c", script]);
    let ran = run(&mut shell, "")?;
    assert_eq!(ran.code, 0, "{script}: {ran:?}");
    assert!(other.join("settings.json").exists());
    assert_eq!(folders()?.iter().map(|check| check["state"].clone()).collect::<Vec<_>>(), ["ok"]);
    assert_eq!(named(2)?, json!(call(2)), "the hub that runs reads it from now on");
    let ran = run(stage.hub.command(["uninstall", "claude", "--config-dir"]).arg(&other), "")?;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(folders()?.is_empty());
    assert_eq!(named(3)?, Value::Null);
    Ok(())
}

#[test]
fn a_home_behind_a_link_works_by_both_of_its_names() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    std::fs::create_dir(&real)?;
    symlink(&real, &link)?;
    // The folder is made after the hub has started, as by a first `claude`.
    let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("HOME", &link).start()?;
    std::fs::create_dir_all(real.join(".claude/projects/-w"))?;
    for (n, home) in [(1, &link), (2, &real)] {
        let path = transcript(&home.join(".claude"), n);
        append(&path, &asked_line(n))?;
        let word = hook_asks(&hub, n, &path)?;
        let named = until("name of the call", || {
            let path = format!("/v1/questions/{}", word["questionId"].as_str().context("no id")?);
            Ok(Some(hub.http("GET", &path, None)?.1["tool"]["callId"].clone()).filter(|id| !id.is_null()))
        })?;
        assert_eq!(named, json!(call(n)));
    }
    assert_eq!(open(&hub)?.len(), 2, "each is one question");
    Ok(())
}
