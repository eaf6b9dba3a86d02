//! What Claude Code's own record tells: terminals that close, conversations that go on, and questions that no
//! hook has seen.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::question;
use crate::terminal::{Stage, asks, until};

pub async fn closed() -> Result<()> {
    let stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Which auth?").await?;
    stage.close_terminal()?;
    let settled = stage.settled(&asked).await?;
    ensure!(
        settled["status"] == "cancelled" && settled["outcome"]["cause"]["type"] == "agentExited",
        "{settled}"
    );
    let resume = settled["outcome"]["cause"]["resume"].as_str().unwrap_or_default();
    ensure!(resume.starts_with("claude --resume "), "{settled}");
    stage.no_hook_left().await
}

pub async fn without_hooks() -> Result<()> {
    let mut stage = Stage::prepare(asks(&[question("Which auth?")])).await?;
    stage.open_terminal(&[]).await?;
    let asked = stage.asked().await?;
    ensure!(asked["tool"]["callId"].as_str().is_some_and(|id| id.starts_with("toolu_")), "{asked}");
    stage.shows("Enter to select").await?;
    stage.key("2").await?;
    stage.model_saw("AskUserQuestion").await?;
    let settled = stage.settled(&asked).await?;
    ensure!(settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    ensure!(askd_testkit::given(&settled["outcome"]["answers"]) == json!([["Session cookies"]]), "{settled}");
    let all =
        until("one question", || Ok(stage.questions("")?.as_array().map(Vec::len).filter(|n| *n == 1))).await;
    all.map(drop)
}

/// A conversation goes on in the file of the one that was closed: the old call is over, and the new one is
/// another question.
pub async fn resumed() -> Result<()> {
    let mut stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    stage.close_terminal()?;
    let over = stage.settled(&asked).await?;
    let resume = over["outcome"]["cause"]["resume"].as_str().context("no way to go on")?;
    let native = resume.strip_prefix("claude --resume ").context("another command")?.to_owned();
    stage.open_terminal(&["--resume", &native]).await?;
    let again = stage.asked().await?;
    ensure!(again["id"] != asked["id"] && again["tool"]["callId"] != asked["tool"]["callId"], "{again}");
    stage.shows("Enter to select").await?;
    stage.reply(&again, json!({ "answers": [["Session cookies"]] }))?;
    stage.delivered(&again, "confirmed").await?;
    ensure!(stage.question(&asked)?["status"] == "cancelled", "the first one came back");
    stage.no_hook_left().await?;
    // A fork is another conversation, in a file of its own that begins with all that was.
    stage.shows("Thank you.").await?;
    stage.close_terminal()?;
    stage.open_terminal(&["--resume", &native, "--fork-session"]).await?;
    let forked = stage.asked().await?;
    ensure!(forked["sessionId"] != asked["sessionId"], "{forked}");
    stage.shows("Enter to select").await?;
    stage.reply(&forked, json!({ "answers": [["JWT"]] }))?;
    stage.delivered(&forked, "confirmed").await?;
    let all = stage.questions("")?;
    ensure!(all.as_array().map(Vec::len) == Some(3), "{all}");
    stage.no_hook_left().await
}

/// "Chat about this" is no answer: the model is told that the user wants to talk, and the question is over.
pub async fn talked_about() -> Result<()> {
    let stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("5. Chat about this").await?;
    stage.key("5").await?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.is_error && seen.text.contains("clarify"), "{seen:?}");
    let settled = stage.settled(&asked).await?;
    ensure!(settled["status"] == "rejected" && settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    stage.no_hook_left().await
}

/// Claude Code's own list of living sessions leads to a question that was open before anybody looked.
pub async fn asked_before(program: &'static str) -> Result<()> {
    let mut stage = Stage::prepare(asks(&[question("Which auth?")])).await?.with(program);
    stage.hub.kill()?;
    stage.open_terminal(&[]).await?;
    stage.shows("Enter to select").await?;
    stage.hub.restart()?;
    let asked = stage.asked().await?;
    ensure!(asked["tool"]["callId"].as_str().is_some_and(|id| id.starts_with("toolu_")), "{asked}");
    stage.key("2").await?;
    let settled = stage.settled(&asked).await?;
    ensure!(settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    ensure!(askd_testkit::given(&settled["outcome"]["answers"]) == json!([["Session cookies"]]), "{settled}");
    Ok(())
}

/// A container's Claude Code: its hook waits, its answer arrives, and its end is seen by the number that its
/// process has outside.
pub async fn in_container() -> Result<()> {
    let mut stage = Stage::prepare(asks(&[question("Which auth?")])).await?;
    stage.install()?;
    stage.open_container().await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    ensure!(stage.question(&asked)?["road"] == "hook", "{}", stage.question(&asked)?);
    stage.reply(&asked, json!({ "answers": [["Session cookies"]] }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    let live = |stage: &Stage| -> Result<Vec<serde_json::Value>> {
        let (_, list) = stage.hub.http("GET", "/v1/sessions?live=true", None)?;
        Ok(list["sessions"].as_array().cloned().unwrap_or_default())
    };
    let sessions = live(&stage)?;
    ensure!(sessions.len() == 1 && sessions[0]["pid"].as_u64().is_some_and(|pid| pid > 1), "{sessions:?}");
    stage.close_terminal()?;
    until("the end of the session", || Ok(live(&stage)?.is_empty().then_some(()))).await
}

/// A terminal that has asked nothing is listed with what it does; a permission that it waits for is no
/// question here, and is told.
pub async fn waits_for_permission(program: &'static str) -> Result<()> {
    let call =
        json!({ "name": "Bash", "args": { "command": "touch made-here", "description": "Make a file" } });
    let turns = json!([{ "text": "I make a file.", "calls": [call] }, { "text": "Made." }]);
    let mut stage = Stage::prepare(turns).await?.with(program);
    stage.open_terminal(&["--permission-mode", "default"]).await?;
    stage.shows("Do you want to proceed?").await?;
    let activity = |stage: &Stage, state: &str| -> Result<Option<serde_json::Value>> {
        let (_, list) = stage.hub.http("GET", "/v1/sessions?live=true", None)?;
        Ok(Some(list["sessions"][0]["activity"].clone()).filter(|now| now["state"] == state))
    };
    let waiting = until("a session that waits", || activity(&stage, "waiting")).await?;
    ensure!(waiting["waitingFor"] == "permission prompt", "{waiting}");
    ensure!(stage.questions("")?.as_array().is_some_and(Vec::is_empty), "a question was raised");
    let inbox = stage.hub.run(["list"])?;
    ensure!(inbox.stderr.contains("waits in its own terminal for: permission prompt"), "{inbox:?}");
    stage.key("1").await?;
    stage.shows("Made.").await?;
    until("a session that is idle", || activity(&stage, "idle")).await.map(drop)
}
