//! The hook road without Claude Code: reports over HTTP as the hook sends them, the hook program itself, and its installation.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::{Hub, PATIENCE, run, wait};
use serde_json::{Value, json};

fn hub() -> Result<Hub> {
    Hub::builder(env!("CARGO_BIN_EXE_askd")).arg("--no-observe").start()
}

fn questions() -> Value {
    json!({ "questions": [{ "question": "Which?", "header": "H", "multiSelect": false,
        "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }] }] })
}

fn input(event: &str, call: Option<&str>) -> Value {
    let mut input = json!({ "session_id": "s-1", "transcript_path": "/nowhere/s-1.jsonl", "cwd": "/w/app",
        "hook_event_name": event, "tool_name": "AskUserQuestion", "tool_input": questions() });
    if let Some(call) = call {
        input["tool_use_id"] = json!(call);
    }
    input
}

fn report(hub: &Hub, hook: &str, input: Value) -> Result<Value> {
    report_of(hub, std::process::id(), hook, input)
}

/// From the Claude Code that has this process.
fn report_of(hub: &Hub, pid: u32, hook: &str, input: Value) -> Result<Value> {
    let body = json!({ "hook": format!("{hook:0>32}"), "pid": pid, "input": input });
    let (status, word) = hub.http_as(&hub.ask_token()?, "POST", "/v1/hooks/claude", Some(&body))?;
    ensure!(status == 200, "{status}: {word}");
    Ok(word)
}

fn open(hub: &Hub) -> Result<Vec<Value>> {
    let (_, list) = hub.http("GET", "/v1/questions?status=requested&order=asc", None)?;
    Ok(list["questions"].as_array().cloned().unwrap_or_default())
}

fn reply(hub: &Hub, id: &Value, pick: &str) -> Result<()> {
    let path = format!("/v1/questions/{}/reply", id.as_str().context("no id")?);
    let (status, said) = hub.http("POST", &path, Some(&json!({ "answers": [[pick]] })))?;
    ensure!(status == 200, "{said}");
    Ok(())
}

fn show(hub: &Hub, id: &Value) -> Result<Value> {
    Ok(hub.http("GET", &format!("/v1/questions/{}", id.as_str().context("no id")?), None)?.1)
}

#[test]
fn every_sighting_of_one_call_is_one_question() -> Result<()> {
    let hub = hub()?;
    // The hook first, its name later.
    let first = report(&hub, "1", input("PermissionRequest", None))?;
    assert_eq!(first["state"], "open");
    assert_eq!(report(&hub, "1", input("PermissionRequest", None))?, first, "the same hook again");
    assert_eq!(report(&hub, "2", input("PermissionRequest", None))?, first, "a second hook of the same call");
    report(&hub, "3", input("PreToolUse", Some("toolu_1")))?;
    // Now a second, equal call, whose name is known before.
    report(&hub, "4", input("PreToolUse", Some("toolu_2")))?;
    let second = report(&hub, "5", input("PermissionRequest", None))?;
    assert_ne!(second["questionId"], first["questionId"]);
    let all = open(&hub)?;
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[1]["tool"]["callId"], "toolu_2");
    // The terminal answers the second one.
    let mut done = input("PostToolUse", Some("toolu_2"));
    done["tool_response"] = json!({ "questions": [], "answers": { "Which?": "B" } });
    report(&hub, "6", done.clone())?;
    let settled = show(&hub, &second["questionId"])?;
    assert_eq!((&settled["status"], &settled["outcome"]["answers"]), (&json!("answered"), &json!([["B"]])));
    assert_eq!(settled["outcome"]["by"]["surface"], "agent");
    assert_eq!(report(&hub, "5", input("PermissionRequest", None))?["state"], "over");
    assert_eq!(show(&hub, &first["questionId"])?["status"], "requested");
    // The inbox answers the first one; its record confirms it under the name that came late.
    reply(&hub, &first["questionId"], "A")?;
    let word = report(&hub, "1", input("PermissionRequest", None))?;
    assert_eq!(word["state"], "decided");
    let decision = &word["output"]["hookSpecificOutput"]["decision"];
    assert_eq!(decision["updatedInput"]["answers"], json!({ "Which?": "A" }));
    let took = |hook: &str| {
        let path = format!("/v1/hooks/claude/{}/took", first["questionId"].as_str().unwrap_or_default());
        hub.http_as(&hub.ask_token()?, "POST", &path, Some(&json!({ "hook": format!("{hook:0>32}") })))
    };
    assert_eq!(took("9")?.0, 404, "a hook that never waited for it");
    assert_eq!(took("1")?.0, 204);
    assert_eq!(show(&hub, &first["questionId"])?["delivery"]["state"], "sent");
    done["tool_use_id"] = json!("toolu_1");
    done["tool_response"]["answers"]["Which?"] = json!("A");
    report(&hub, "7", done)?;
    assert_eq!(show(&hub, &first["questionId"])?["delivery"]["state"], "confirmed");
    Ok(())
}

#[test]
fn an_answer_that_nobody_can_take_is_kept_as_a_text() -> Result<()> {
    let hub = hub()?;
    let word = report(&hub, "1", input("PermissionRequest", None))?;
    std::thread::sleep(Duration::from_secs(16));
    reply(&hub, &word["questionId"], "B")?;
    let end = Instant::now() + PATIENCE;
    loop {
        let question = show(&hub, &word["questionId"])?;
        if question["delivery"]["state"] == "failed" {
            let detail = question["delivery"]["error"]["detail"].as_str().unwrap_or_default().to_owned();
            assert!(detail.contains("next message") && detail.ends_with("Which? B"), "{detail}");
            return Ok(());
        }
        ensure!(Instant::now() < end, "{question}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn panopticon_answers_by_labels() -> Result<()> {
    let hub = hub()?;
    let none = hub.http("GET", "/api/agents/nobody/pending-questions", None)?;
    assert_eq!(none, (200, json!({ "pending": false, "questions": [] })));
    report(&hub, "1", input("PreToolUse", Some("toolu_1")))?;
    let word = report(&hub, "2", input("PermissionRequest", None))?;
    let (_, list) = hub.http("GET", "/api/agents/s-1/pending-questions", None)?;
    assert_eq!(list["pending"], true);
    assert_eq!(list["questions"][0]["toolId"], "toolu_1");
    assert_eq!(list["questions"][0]["sessionId"], "s-1");
    assert_eq!(list["questions"][0]["questions"], questions()["questions"]);
    let answer = |body: Value| hub.http("POST", "/api/agents/s-1/answer-question", Some(&body));
    assert_eq!(answer(json!({ "answers": ["A"], "toolId": "toolu_9" }))?.0, 404);
    assert_eq!(answer(json!({ "answers": ["A", "B"] }))?.0, 409);
    assert_eq!(answer(json!({ "answers": ["B"], "toolId": "toolu_1" }))?, (200, json!({ "success": true })));
    assert_eq!(show(&hub, &word["questionId"])?["outcome"]["answers"], json!([["B"]]));
    assert_eq!(answer(json!({ "answers": ["B"] }))?.0, 404);
    Ok(())
}

fn start_hook(hub: &Hub, patience: &str) -> Result<Child> {
    let mut command = hub.command(["hook", "claude"]);
    command
        .env("ASKD_HOOK_PATIENCE_MS", patience)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    stdin.write_all(input("PermissionRequest", None).to_string().as_bytes())?;
    Ok(child)
}

#[test]
fn the_hook_prints_the_decision_also_after_a_crash_of_the_hub() -> Result<()> {
    let mut hub = hub()?;
    let mut hook = start_hook(&hub, "60000")?;
    let end = Instant::now() + PATIENCE;
    let asked = loop {
        if let Some(asked) = open(&hub)?.pop() {
            break asked;
        }
        ensure!(Instant::now() < end, "no question");
        std::thread::sleep(Duration::from_millis(20));
    };
    std::thread::sleep(Duration::from_millis(500));
    hub.kill()?;
    hub.restart()?;
    reply(&hub, &asked["id"], "B")?;
    wait(&mut hook, PATIENCE)?;
    let out = hook.wait_with_output()?;
    let printed: Value = serde_json::from_slice(&out.stdout)?;
    assert_eq!(
        printed["hookSpecificOutput"]["decision"]["updatedInput"]["answers"],
        json!({ "Which?": "B" })
    );
    assert!(out.stderr.is_empty() && out.status.success());
    assert_eq!(show(&hub, &asked["id"])?["delivery"]["state"], "sent");
    Ok(())
}

#[test]
fn the_end_of_a_terminal_is_seen_by_this_hub_and_by_the_next() -> Result<()> {
    for restarts in [false, true] {
        let mut hub = hub()?;
        let mut terminal = Command::new("sleep").arg("600").spawn()?;
        let word = report_of(&hub, terminal.id(), "1", input("PermissionRequest", None))?;
        if restarts {
            hub.kill()?;
            hub.restart()?;
        }
        assert_eq!(open(&hub)?.len(), 1);
        terminal.kill()?;
        terminal.wait()?;
        let end = Instant::now() + PATIENCE;
        while !open(&hub)?.is_empty() {
            ensure!(Instant::now() < end, "the question of a terminal that is gone is open");
            std::thread::sleep(Duration::from_millis(100));
        }
        let over = show(&hub, &word["questionId"])?;
        assert_eq!(over["outcome"]["cause"]["type"], "agentExited", "{over}");
    }
    Ok(())
}

#[test]
fn the_hook_is_silent_where_it_has_nothing_to_say() -> Result<()> {
    let mut hub = hub()?;
    let asks = input("PermissionRequest", None).to_string();
    let silent = |hub: &Hub, text: &str, env: &[(&str, &str)]| -> Result<()> {
        let ran = run(hub.command(["hook", "claude"]).envs(env.iter().copied()), text)?;
        ensure!(ran.code == 0 && ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
        Ok(())
    };
    silent(&hub, &asks, &[("ASKD_SESSION", "ses_1")])?;
    silent(&hub, "not JSON", &[])?;
    silent(&hub, &input("Stop", None).to_string(), &[])?;
    silent(&hub, &asks.replace("AskUserQuestion", "Bash"), &[])?;
    silent(&hub, &asks.replace("\"options\"", "\"opinions\"").replace("\"question\":", "\"q\":"), &[])?;
    assert!(open(&hub)?.is_empty());
    hub.kill()?;
    silent(&hub, &asks, &[])?;
    let doctor = run(&mut hub.command(["doctor", "--json"]), "")?.json()?;
    let checks = doctor["checks"].as_array().context("no checks")?;
    let missed = checks.iter().find(|check| check["name"] == "missed questions").context("none missed")?;
    let detail = missed["detail"].as_str().context("no detail")?;
    assert!(detail.starts_with("1 in 7 days") && detail.ends_with(": Which?"), "{detail}");
    // Something else listens where the hub was, and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let info = json!({ "url": format!("http://{}", listener.local_addr()?), "pid": std::process::id(), "version": "0" });
    std::fs::write(hub.data.join("hub.json"), info.to_string())?;
    silent(&hub, &asks, &[])
}

#[test]
fn installing_and_uninstalling_leave_no_trace() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let askd = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_askd"));
        command
            .env_clear()
            .env("HOME", folder.path())
            .env("ASKD_DATA", &data)
            .current_dir(folder.path())
            .args(args);
        run(&mut command, "")
    };
    let user = folder.path().join(".claude/settings.json");
    // No file: made, and removed again.
    let ran = askd(&["install", "claude", "--dry-run"])?;
    assert!(ran.code == 0 && ran.stdout.contains("+ ") && !user.exists(), "{ran:?}");
    assert_eq!(askd(&["install", "claude"])?.code, 0);
    let installed = std::fs::read_to_string(&user)?;
    for word in ["PermissionRequest", "PreToolUse", "PostToolUse", "hook claude", "604800"] {
        assert!(installed.contains(word), "{word} is not in {installed}");
    }
    let again = askd(&["install", "claude", "--json"])?;
    assert_eq!(again.json()?["state"], "unchanged");
    assert_eq!(std::fs::read_to_string(&user)?, installed);
    assert_eq!(askd(&["uninstall", "claude"])?.code, 0);
    assert!(!user.exists());
    // A file of the user's, written in an odd way: restored to the byte, also where only its parts can tell.
    let odd = "{ \"hooks\" : {\"PreToolUse\":[ ] ,\"PermissionRequest\":[]},\n\t\"model\":\"opus\"}";
    std::fs::write(&user, odd)?;
    std::fs::set_permissions(&user, std::fs::Permissions::from_mode(0o640))?;
    assert_eq!(askd(&["install", "claude"])?.code, 0);
    assert_eq!(std::fs::metadata(&user)?.permissions().mode() & 0o777, 0o640);
    assert_eq!(askd(&["uninstall", "claude"])?.code, 0);
    assert_eq!(std::fs::read_to_string(&user)?, odd);
    // Changed in between: only our lines go.
    std::fs::write(&user, "{\n  \"a\": 1\n}\n")?;
    assert_eq!(askd(&["install", "claude"])?.code, 0);
    let changed = std::fs::read_to_string(&user)?.replace("\"a\": 1", "\"a\": 2");
    std::fs::write(&user, changed)?;
    assert_eq!(askd(&["uninstall", "claude"])?.code, 0);
    assert_eq!(std::fs::read_to_string(&user)?, "{\n  \"a\": 2\n}\n");
    // Not understood: refused and unchanged.
    std::fs::write(&user, "{ oops")?;
    let refused = askd(&["install", "claude"])?;
    assert!(refused.code == 1 && refused.stderr.contains("nothing was changed"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&user)?, "{ oops");
    assert_eq!(askd(&["install", "claude", "--local"])?.code, 0);
    assert!(folder.path().join(".claude/settings.local.json").exists());
    Ok(())
}

#[test]
fn a_transcript_shows_a_question_and_a_hook_that_is_slower_than_the_answer_still_brings_it() -> Result<()> {
    const SESSION: &str = "3337aed3-e7c1-49cf-a370-4ff895702544";
    let config = tempfile::tempdir()?;
    let project = config.path().join("projects/-w-app");
    std::fs::create_dir_all(&project)?;
    let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("CLAUDE_CONFIG_DIR", config.path()).start()?;
    let path = project.join(format!("{SESSION}.jsonl"));
    let append = |line: Value| -> Result<()> {
        let mut file = std::fs::File::options().create(true).append(true).open(&path)?;
        Ok(file.write_all(format!("{line}\n").as_bytes())?)
    };
    let until = |what: &str, look: &dyn Fn() -> Result<Option<Value>>| -> Result<Value> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            ensure!(Instant::now() < end, "no {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let asks = |call: &str| {
        let block =
            json!({ "type": "tool_use", "id": call, "name": "AskUserQuestion", "input": questions() });
        json!({ "type": "assistant", "isSidechain": false, "sessionId": SESSION, "cwd": "/w/app",
            "message": { "id": "msg_1", "role": "assistant", "content": [block] } })
    };
    let result = |kind: &str, call: &str, pick: &str| {
        let block = json!({ "type": "tool_result", "tool_use_id": call, "content": "told" });
        let mut line =
            json!({ "type": kind, "sessionId": SESSION, "message": { "role": "user", "content": [block] } });
        if kind == "user" {
            line["toolUseResult"] = json!({ "answers": { "Which?": pick } });
        }
        line
    };
    append(asks("toolu_1"))?;
    let asked = until("question", &|| Ok(open(&hub)?.pop()))?;
    assert_eq!((&asked["tool"]["callId"], &asked["context"]["cwd"]), (&json!("toolu_1"), &json!("/w/app")));
    reply(&hub, &asked["id"], "B")?;
    let mut given = input("PermissionRequest", None);
    given["session_id"] = json!(SESSION);
    given["transcript_path"] = json!(path);
    let word = report(&hub, "1", given.clone())?;
    assert_eq!((&word["state"], &word["questionId"]), (&json!("decided"), &asked["id"]));
    // A record of the request repeats the result without its structure; only the result itself is evidence.
    append(result("api-request-blob", "toolu_1", "B"))?;
    append(result("user", "toolu_1", "B"))?;
    let confirmed =
        |question: Value| Some(question).filter(|question| question["delivery"]["state"] == "confirmed");
    until("confirmation", &|| Ok(confirmed(show(&hub, &asked["id"])?)))?;
    // The next one is answered in the terminal before any hook has come; the hook has nothing to do then.
    append(asks("toolu_2"))?;
    let second = until("second question", &|| Ok(open(&hub)?.pop()))?;
    append(result("user", "toolu_2", "own words"))?;
    let over = |question: Value| Some(question).filter(|question| question["status"] != "requested");
    let settled = until("end", &|| Ok(over(show(&hub, &second["id"])?)))?;
    assert_eq!(settled["outcome"]["answers"], json!([["own words"]]));
    assert_eq!(report(&hub, "2", given)?["state"], "over");
    assert!(open(&hub)?.is_empty());
    // Another folder in its place is watched too.
    std::fs::remove_dir_all(config.path().join("projects"))?;
    std::fs::create_dir_all(&project)?;
    append(asks("toolu_3"))?;
    until("question in another folder", &|| Ok(open(&hub)?.pop()))?;
    append(result("user", "toolu_3", "A"))?;
    until("end of it", &|| Ok(open(&hub)?.is_empty().then_some(Value::Null)))?;
    Ok(())
}
