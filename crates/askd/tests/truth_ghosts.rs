//! No ghosts: what a transcript still holds of an agent of askd's own, or of a process that has gone, is no
//! conversation.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "truth/stage.rs"]
mod stage;

use std::io::Write;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use stage::{Claude, SESSION, Stage, questions, until};

fn append(stage: &Stage, session: &str, line: &Value) -> Result<()> {
    // The name of the file is a session's UUID; what counts is the session in its lines.
    let path = stage.config.join("projects/-w-app/00000000-0000-4000-8000-000000000001.jsonl");
    let mut line = line.clone();
    line["sessionId"] = json!(session);
    let mut file = std::fs::File::options().create(true).append(true).open(path)?;
    Ok(file.write_all(format!("{line}\n").as_bytes())?)
}

fn asks(stage: &Stage, session: &str, call: &str) -> Result<()> {
    let block = json!({ "type": "tool_use", "id": call, "name": "AskUserQuestion", "input": questions() });
    append(
        stage,
        session,
        &json!({ "type": "assistant", "isSidechain": false, "cwd": "/w/app",
        "message": { "id": "msg_1", "role": "assistant", "content": [block] } }),
    )
}

fn goes_on(stage: &Stage, session: &str, call: &str, label: &str) -> Result<()> {
    let block = json!({ "type": "tool_result", "tool_use_id": call, "content": "told" });
    append(
        stage,
        session,
        &json!({ "type": "user", "toolUseResult": { "answers": { "Which?": label } },
        "message": { "role": "user", "content": [block] } }),
    )
}

/// Everything that was written before has been read: a second question comes after all that came with the
/// first.
fn all_is_read(stage: &Stage, claude: &Claude, number: u32) -> Result<()> {
    stage.registers(claude)?;
    for call in [format!("toolu_read_{number}_1"), format!("toolu_read_{number}_2")] {
        stage.asks(&call)?;
        let asked = stage.asked(&call)?;
        stage.picked(&call, "A")?;
        stage.settled(&asked["id"])?;
    }
    Ok(())
}

fn sessions_called(stage: &Stage, native: &str) -> Result<Vec<Value>> {
    let (_, list) = stage.hub.http("GET", "/v1/sessions", None)?;
    let all = list["sessions"].as_array().cloned().unwrap_or_default();
    Ok(all.into_iter().filter(|session| session["nativeId"] == native).collect())
}

#[test]
fn a_managed_session_that_ended_is_never_raised_from_its_transcript() -> Result<()> {
    let stage = Stage::new()?;
    let (reader, dead) = (Claude::start()?, Claude::start()?);
    let wish = json!({ "agent": "mock", "prompt": "question" });
    let (status, started) = stage.hub.http("POST", "/v1/sessions", Some(&wish))?;
    ensure!(status == 201, "{started}");
    let id = started["id"].as_str().context("no id")?;
    let asked = until("question of the managed agent", || Ok(stage.open()?.pop()))?;
    let (_, session) = stage.hub.http("GET", &format!("/v1/sessions/{id}"), None)?;
    let native = session["nativeId"].as_str().context("no native id")?.to_owned();
    // While it lives, its own channel brings its questions.
    asks(&stage, &native, "toolu_1")?;
    all_is_read(&stage, &reader, 1)?;
    assert_eq!(stage.open()?.len(), 1, "only that of its own channel");
    assert_eq!(stage.hub.http("DELETE", &format!("/v1/sessions/{id}"), None)?.0, 204);
    stage.settled(&asked["id"])?;
    // The entry of its killed process is left in the list, and its last lines are read late.
    let entry = json!({ "pid": dead.pid(), "sessionId": native, "cwd": "/w/app", "procStart": "1" });
    std::fs::write(stage.config.join(format!("sessions/{}.json", dead.pid())), entry.to_string())?;
    asks(&stage, &native, "toolu_2")?;
    goes_on(&stage, &native, "toolu_1", "A")?;
    all_is_read(&stage, &reader, 2)?;
    assert!(stage.open()?.is_empty(), "{:?}", stage.open()?);
    let left = sessions_called(&stage, &native)?;
    assert!(left.len() == 1 && left[0]["managed"] == true && left[0]["live"] == false, "{left:?}");
    // Taken up in a terminal it is a conversation there.
    let entry = json!({ "pid": dead.pid(), "sessionId": native, "cwd": "/w/app" });
    std::fs::write(stage.config.join(format!("sessions/{}.json", dead.pid())), entry.to_string())?;
    asks(&stage, &native, "toolu_3")?;
    stage.asked("toolu_3")?;
    let terminal = sessions_called(&stage, &native)?.into_iter().find(|session| session["managed"] == false);
    assert_eq!(terminal.context("no session")?["pid"], dead.pid());
    Ok(())
}

#[test]
fn a_conversation_without_a_process_is_neither_live_nor_open() -> Result<()> {
    const OTHER: &str = "00000000-0000-4000-8000-000000000001";
    let mut stage = Stage::new()?;
    let reader = Claude::start()?;
    // The number of a killed process belongs to another one by now.
    let entry = json!({ "pid": reader.pid(), "sessionId": OTHER, "cwd": "/w/app", "procStart": "1" });
    std::fs::write(stage.config.join(format!("sessions/{}.json", reader.pid())), entry.to_string())?;
    asks(&stage, OTHER, "toolu_1")?;
    let living = Claude::start()?;
    all_is_read(&stage, &living, 1)?;
    assert!(stage.open()?.is_empty() && sessions_called(&stage, OTHER)?.is_empty());
    // One that a hub of before has left behind ends with the next start.
    let body = json!({ "hook": "0".repeat(32), "input": { "session_id": OTHER, "cwd": "/w/app",
        "hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_9", "tool_input": questions() } });
    stage.report(&body)?;
    assert_eq!(sessions_called(&stage, OTHER)?[0]["live"], true);
    stage.hub.kill()?;
    stage.hub.restart()?;
    let ended = until("end of it", || {
        Ok(sessions_called(&stage, OTHER)?.pop().filter(|session| session["live"] == false))
    })?;
    assert_eq!(ended["end"]["type"], "agentExited");
    assert_eq!(sessions_called(&stage, SESSION)?[0]["live"], true);
    Ok(())
}

/// `claude --resume` in a terminal of a conversation that askd's own agent holds: each asks by its own
/// channel.
#[test]
fn a_terminal_that_takes_up_a_managed_conversation_is_heard_beside_it() -> Result<()> {
    let stage = Stage::new()?;
    let (reader, terminal) = (Claude::start()?, Claude::start()?);
    let (status, started) =
        stage.hub.http("POST", "/v1/sessions", Some(&json!({ "agent": "mock", "prompt": "question" })))?;
    ensure!(status == 201, "{started}");
    let own = until("question of the managed agent", || Ok(stage.open()?.pop()))?;
    let id = started["id"].as_str().context("no id")?;
    let (_, session) = stage.hub.http("GET", &format!("/v1/sessions/{id}"), None)?;
    let native = session["nativeId"].as_str().context("no native id")?.to_owned();
    let entry = json!({ "pid": terminal.pid(), "sessionId": native, "cwd": "/w/app", "entrypoint": "cli" });
    std::fs::write(stage.config.join(format!("sessions/{}.json", terminal.pid())), entry.to_string())?;
    let asks_from = |entrypoint: &str, call: &str| {
        let block =
            json!({ "type": "tool_use", "id": call, "name": "AskUserQuestion", "input": questions() });
        let line = json!({ "type": "assistant", "isSidechain": false, "cwd": "/w/app", "entrypoint": entrypoint,
            "message": { "id": "msg_1", "role": "assistant", "content": [block] } });
        append(&stage, &native, &line)
    };
    asks_from("sdk-cli", "toolu_managed")?;
    asks_from("cli", "toolu_terminal")?;
    let asked = stage.asked("toolu_terminal")?;
    assert_ne!(asked["sessionId"], own["sessionId"]);
    all_is_read(&stage, &reader, 1)?;
    assert_eq!(stage.open()?.len(), 2, "one of each: {:?}", stage.open()?);
    goes_on(&stage, &native, "toolu_terminal", "A")?;
    let settled = stage.settled(&asked["id"])?;
    assert_eq!(settled["outcome"]["by"]["surface"], "agent", "{settled}");
    assert_eq!(stage.question(&own["id"])?["status"], "requested");
    Ok(())
}
