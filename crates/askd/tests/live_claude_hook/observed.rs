//! What Claude Code's own record tells: terminals that close, conversations that go on, and questions that no hook has seen.

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
    ensure!(settled["outcome"]["answers"] == json!([["Session cookies"]]), "{settled}");
    let all =
        until("one question", || Ok(stage.questions("")?.as_array().map(Vec::len).filter(|n| *n == 1))).await;
    all.map(drop)
}

/// A conversation goes on in the file of the one that was closed: the old call is over, and the new one is another question.
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
    ensure!(settled["outcome"]["answers"] == json!([["Session cookies"]]), "{settled}");
    Ok(())
}
