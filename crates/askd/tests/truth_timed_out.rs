//! Claude Code's own time-out is no person's refusal.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "truth/stage.rs"]
mod stage;

use anyhow::{Context as _, Result};
use askd_testkit::hub::run;
use serde_json::{Value, json};

use stage::{Claude, SESSION, Stage, questions, until};

const TOLD: &str =
    "No response after 5s \u{2014} the user may be away from keyboard. Proceed using your best judgment.";

fn afk() -> Value {
    json!({ "questions": questions()["questions"], "answers": {}, "afkTimeoutMs": 5000 })
}

#[test]
fn a_time_out_ends_the_question_as_cancelled_with_its_own_cause_on_every_channel() -> Result<()> {
    for by_hook in [true, false] {
        let stage = Stage::new()?;
        let claude = Claude::start()?;
        stage.registers(&claude)?;
        stage.asks("toolu_1")?;
        let asked = stage.asked("toolu_1")?;
        stage.waits(&claude, "1")?;
        if by_hook {
            let done = json!({ "tool_use_id": "toolu_1", "tool_response": afk() });
            stage.hook(&claude, "2", "PostToolUse", &done)?;
        }
        stage.result("toolu_1", TOLD, false, &afk())?;
        let settled = stage.settled(&asked["id"])?;
        let cause = &settled["outcome"]["cause"];
        assert_eq!((&settled["status"], &cause["type"]), (&json!("cancelled"), &json!("agentTimedOut")));
        assert!(
            cause["detail"].as_str().is_some_and(|said| said.starts_with("No response after 5")),
            "{settled}"
        );
        assert!(settled["outcome"]["mode"].is_null() && settled["outcome"]["answers"].is_null(), "{settled}");
        assert_eq!(stage.waits(&claude, "1")?["state"], "over");
    }
    Ok(())
}

#[test]
fn an_answer_that_was_on_its_way_at_the_time_out_was_overtaken_by_it() -> Result<()> {
    let stage = Stage::new()?;
    let claude = Claude::start()?;
    stage.registers(&claude)?;
    stage.asks("toolu_1")?;
    let asked = stage.asked("toolu_1")?;
    stage.waits(&claude, "1")?;
    stage.reply(&asked["id"], "B")?;
    stage.result("toolu_1", TOLD, false, &afk())?;
    let failed = until("end of the delivery", || {
        Ok(Some(stage.question(&asked["id"])?).filter(|question| question["delivery"]["state"] == "failed"))
    })?;
    assert_eq!(failed["delivery"]["error"]["reason"], "overtaken");
    assert_eq!(failed["outcome"]["agentReceived"], json!({ "answers": [], "via": "time-out" }));
    Ok(())
}

#[test]
fn the_question_and_the_doctor_say_when_a_time_out_ends_it() -> Result<()> {
    let stage = Stage::with(|config| {
        Ok(std::fs::write(config.join("settings.json"), r#"{"askUserQuestionTimeout":"5m"}"#)?)
    })?;
    let claude = Claude::start()?;
    stage.registers(&claude)?;
    // Without a hook the hub reads the settings of the folder.
    stage.asks("toolu_1")?;
    let id = stage.asked("toolu_1")?["id"].clone();
    let ends = |after: i64| -> Result<()> {
        let question = stage.question(&id)?;
        let millis = |name: &str| -> Result<i64> {
            let text = question[name].as_str().with_context(|| format!("no {name}: {question}"))?;
            let at = text.parse::<askd_core::Timestamp>().map_err(|_| anyhow::anyhow!("no time: {text}"))?;
            Ok(at.millis())
        };
        assert_eq!(millis("agentTimesOutAt")? - millis("createdAt")?, after);
        Ok(())
    };
    ends(300_000)?;
    // A hook knows what its process was started with.
    let mut body = json!({ "hook": "0".repeat(32), "pid": claude.pid(), "timesOutMs": 60_000, "input": {
        "session_id": SESSION, "transcript_path": stage.transcript(), "cwd": "/w/app", "tool_name": "AskUserQuestion",
        "hook_event_name": "PermissionRequest", "tool_input": questions() } });
    assert_eq!(stage.report(&body)?["questionId"], id);
    ends(60_000)?;
    let shown = run(&mut stage.hub.command(["show", id.as_str().unwrap_or_default()]), "")?;
    assert!(shown.stdout.contains("goes on without an answer"), "{shown:?}");
    body["timesOutMs"] = Value::Null;
    stage.report(&body)?;
    let mut doctor = stage.hub.command(["doctor", "--json"]);
    doctor.env("CLAUDE_CONFIG_DIR", &stage.config);
    let doctor = run(&mut doctor, "")?.json()?;
    let checks = doctor["checks"].as_array().context("no checks")?;
    let check = checks.iter().find(|check| check["name"] == "claude time-out").context("no check")?;
    assert!(check["detail"].as_str().is_some_and(|text| text.contains("300 s")), "{check}");
    Ok(())
}
