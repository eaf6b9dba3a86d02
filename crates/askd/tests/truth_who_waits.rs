//! Who waits: sessions of terminals that have asked nothing are listed with what they do, also where inotify
//! has nothing to give.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "truth/stage.rs"]
mod stage;
#[path = "truth/without_inotify.rs"]
mod without_inotify;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::{Hub, run};
use serde_json::{Value, json};

use stage::{Claude, SESSION, Stage, questions, until};
use without_inotify::without_inotify;

fn sessions(hub: &Hub) -> Result<Vec<Value>> {
    let (status, list) = hub.http("GET", "/v1/sessions?live=true", None)?;
    ensure!(status == 200, "{list}");
    Ok(list["sessions"].as_array().cloned().unwrap_or_default())
}

/// An entry as Claude Code 2.1.328 writes it.
fn entry(pid: u32, session: &str, more: Value) -> Value {
    let mut entry = json!({ "pid": pid, "sessionId": session, "cwd": "/w/app", "startedAt": 1_763_000_000_000_i64,
        "version": "2.1.328", "kind": "interactive", "entrypoint": "cli", "updatedAt": 1_763_000_000_000_i64,
        "statusUpdatedAt": 1_763_000_000_000_i64 });
    for (name, value) in more.as_object().into_iter().flatten() {
        entry[name] = value.clone();
    }
    entry
}

fn write(config: &Path, entry: &Value) -> Result<()> {
    let folder = config.join("sessions");
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::write(folder.join(format!("{}.json", entry["pid"])), entry.to_string())?)
}

fn activity(hub: &Hub, session: &str) -> Result<Option<Value>> {
    let found = sessions(hub)?.into_iter().find(|known| known["nativeId"] == session);
    Ok(found.map(|session| session["activity"].clone()))
}

#[test]
fn sessions_are_listed_with_what_they_do_before_they_have_asked() -> Result<()> {
    let stage = Stage::new()?;
    let (mut claude, other) = (Claude::start()?, Claude::start()?);
    write(&stage.config, &entry(claude.pid(), SESSION, json!({ "status": "busy" })))?;
    // What a program runs has no terminal in which it could wait.
    let run_by_program = json!({ "status": "busy", "entrypoint": "sdk-cli" });
    write(&stage.config, &entry(other.pid(), "00000000-0000-4000-8000-000000000002", run_by_program))?;
    let working = json!({ "state": "working", "since": "2025-11-13T02:13:20.000Z" });
    until("the session that works", || Ok(activity(&stage.hub, SESSION)?.filter(|now| *now == working)))?;
    let listed = sessions(&stage.hub)?;
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!((&listed[0]["pid"], &listed[0]["cwd"]), (&json!(claude.pid()), &json!("/w/app")));

    let waiting = json!({ "status": "waiting", "waitingFor": "permission prompt" });
    write(&stage.config, &entry(claude.pid(), SESSION, waiting))?;
    until("the session that waits", || {
        Ok(activity(&stage.hub, SESSION)?.filter(|now| now["waitingFor"] == "permission prompt"))
    })?;
    let inbox = stage.hub.run(["list"])?;
    ensure!(inbox.stderr.contains("No question is open."), "{inbox:?}");
    ensure!(
        inbox.stderr.contains("claude in /w/app waits in its own terminal for: permission prompt"),
        "{inbox:?}"
    );

    claude.kill()?;
    until("the end of the session", || Ok(sessions(&stage.hub)?.is_empty().then_some(())))
}

fn inotify_instances(pid: u32) -> Result<usize> {
    let held = std::fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
    let is_one = |fd: &std::fs::DirEntry| {
        std::fs::read_link(fd.path()).is_ok_and(|target| target.ends_with("anon_inode:inotify"))
    };
    Ok(held.filter(is_one).count())
}

#[test]
fn the_hub_takes_one_inotify_instance_when_it_starts_and_keeps_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().canonicalize()?.join("config");
    std::fs::create_dir(&config)?;
    let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("CLAUDE_CONFIG_DIR", &config).start()?;
    let pid = hub.pid().context("the hub does not run")?;
    // Nothing of Claude Code is there yet.
    assert_eq!(inotify_instances(pid)?, 1);
    let claude = Claude::start()?;
    write(&config, &entry(claude.pid(), SESSION, json!({ "status": "idle" })))?;
    until("the session", || activity(&hub, SESSION))?;
    assert_eq!(inotify_instances(pid)?, 1);
    Ok(())
}

#[test]
fn questions_are_seen_without_inotify_and_doctor_says_why_they_come_later() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().canonicalize()?.join("config");
    let project = config.join("projects/-w-app");
    std::fs::create_dir_all(&project)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = without_inotify(folder.path())?;
    let hub = Hub::builder(program).env("PATH", path).env("CLAUDE_CONFIG_DIR", &config).start()?;
    assert_eq!(inotify_instances(hub.pid().context("the hub does not run")?)?, 0);
    let claude = Claude::start()?;
    write(
        &config,
        &entry(claude.pid(), SESSION, json!({ "status": "waiting", "waitingFor": "input needed" })),
    )?;
    until("the session", || activity(&hub, SESSION))?;
    let block =
        json!({ "type": "tool_use", "id": "toolu_1", "name": "AskUserQuestion", "input": questions() });
    let line = json!({ "type": "assistant", "isSidechain": false, "sessionId": SESSION, "cwd": "/w/app",
        "message": { "id": "msg_1", "role": "assistant", "content": [block] } });
    std::fs::write(project.join(format!("{SESSION}.jsonl")), format!("{line}\n"))?;
    until("the question", || {
        let (_, list) = hub.http("GET", "/v1/questions?status=requested", None)?;
        Ok(list["questions"].as_array().filter(|open| !open.is_empty()).cloned())
    })?;
    let mut doctor = hub.command(["doctor", "--json"]);
    let checks = run(&mut doctor, "")?.json()?["checks"].as_array().cloned().unwrap_or_default();
    let told = checks.iter().find(|check| check["name"] == "source claude").context("no source")?;
    let detail = told["detail"].as_str().unwrap_or_default();
    ensure!(told["state"] == "warn", "{told}");
    ensure!(
        detail.contains("no inotify instance is free") && detail.contains("max_user_instances"),
        "{told}"
    );
    // Looked at many times by now, and said once.
    let log = hub.log();
    assert_eq!(log.matches("cannot watch Claude Code's transcripts").count(), 1, "{log}");
    Ok(())
}

/// `/clear` and `/resume` let one process go on with another conversation: the first is over, and comes back
/// when it is taken up.
#[test]
fn a_terminal_that_goes_on_with_another_conversation_leaves_the_first_one() -> Result<()> {
    const NEXT: &str = "00000000-0000-4000-8000-000000000002";
    let folder = tempfile::tempdir()?;
    let config = folder.path().canonicalize()?.join("config");
    let mut hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("CLAUDE_CONFIG_DIR", &config).start()?;
    let claude = Claude::start()?;
    let live = |hub: &Hub| -> Result<Vec<String>> {
        let (_, list) = hub.http("GET", "/v1/sessions?live=true", None)?;
        let all = list["sessions"].as_array().cloned().unwrap_or_default();
        Ok(all.iter().filter_map(|session| session["nativeId"].as_str().map(str::to_owned)).collect())
    };
    let only =
        |hub: &Hub, native: &str| until("the only session", || Ok((live(hub)? == [native]).then_some(())));
    let idle = json!({ "status": "idle" });
    write(&config, &entry(claude.pid(), SESSION, idle.clone()))?;
    only(&hub, SESSION)?;
    write(&config, &entry(claude.pid(), NEXT, idle.clone()))?;
    only(&hub, NEXT)?;
    let (_, list) = hub.http("GET", "/v1/sessions?live=false", None)?;
    let over = &list["sessions"][0];
    assert_eq!(
        (&over["nativeId"], &over["end"]["type"]),
        (&json!(SESSION), &json!("sessionEnded")),
        "{over}"
    );
    ensure!(over["end"]["detail"].as_str().is_some_and(|detail| detail.contains(NEXT)), "{over}");
    write(&config, &entry(claude.pid(), SESSION, idle.clone()))?;
    only(&hub, SESSION)?;
    // Also while no hub looks.
    hub.kill()?;
    write(&config, &entry(claude.pid(), NEXT, idle))?;
    hub.restart()?;
    only(&hub, NEXT)
}
