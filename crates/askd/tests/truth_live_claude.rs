//! The truth about the real Claude Code, where no script can stand for it: a conversation that a second terminal takes up, and its own
//! time-out.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "live_claude_hook/terminal.rs"]
mod terminal;

use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use askd_testkit::programs::live::Live;
use serde_json::json;

use terminal::{Stage, asks, item, until};

fn main() -> ExitCode {
    Live::new()
        .test("taken_up_in_another_terminal", &["claude"], taken_up)
        .test("taken_up_after_its_process_was_killed", &["claude"], taken_up_after_a_kill)
        .test("timed_out_by_itself", &["claude"], timed_out)
        .run()
}

fn question() -> serde_json::Value {
    item("Which auth?", false)
}

/// `claude --resume` of a conversation whose question is open: nobody declined, and the first dialog is answered from the inbox.
async fn taken_up() -> Result<()> {
    let stage = Stage::start(asks(&[question()]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    let session = stage.hub.http("GET", "/v1/sessions", None)?.1["sessions"][0].clone();
    let native = session["nativeId"].as_str().context("no native id")?.to_owned();
    // The prompt makes it ask anew; by then it has written in the place of the first call's result.
    let second = stage.open_beside(&["--resume", &native])?;
    let other = until("question of the second terminal", || {
        let open = stage.questions("status=requested")?;
        let all = open.as_array().cloned().unwrap_or_default();
        Ok(all.into_iter().find(|question| question["id"] != asked["id"]))
    });
    let other = other.await.with_context(|| second.screen())?;
    ensure!(stage.question(&asked)?["status"] == "requested", "{}", stage.question(&asked)?);
    stage.reply(&asked, json!({ "answers": [["Session cookies"]] }))?;
    stage.delivered(&asked, "confirmed").await?;
    ensure!(stage.question(&other)?["status"] == "requested", "{}", stage.question(&other)?);
    stage.reply(&other, json!({ "answers": [["JWT"]] }))?;
    stage.delivered(&other, "confirmed").await?;
    second.close()
}

/// Taken up right after a kill: the end of the first question is the end of its process.
async fn taken_up_after_a_kill() -> Result<()> {
    let mut stage = Stage::start(asks(&[question()]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    let session = stage.hub.http("GET", "/v1/sessions", None)?.1["sessions"][0].clone();
    let native = session["nativeId"].as_str().context("no native id")?.to_owned();
    let pid = session["pid"].as_u64().context("no pid")?;
    askd_testkit::hub::signal(u32::try_from(pid)?, "KILL")?;
    stage.open_terminal(&["--resume", &native]).await?;
    let settled = stage.settled(&asked).await?;
    ensure!(settled["outcome"]["cause"]["type"] == "agentExited", "{settled}");
    let other = stage.asked().await?;
    ensure!(other["id"] != asked["id"], "{other}");
    stage.reply(&other, json!({ "answers": [["JWT"]] }))?;
    stage.delivered(&other, "confirmed").await?;
    Ok(())
}

async fn timed_out() -> Result<()> {
    let mut stage = Stage::prepare(asks(&[question()])).await?;
    stage.install()?;
    stage.open_terminal_with(&[], &[("CLAUDE_AFK_TIMEOUT_MS", "8000")]).await?;
    let asked = stage.asked().await?;
    until("word of the time-out", || {
        let question = stage.question(&asked)?;
        let is_told = question["agentTimesOutAt"].is_string() || question["status"] != "requested";
        Ok(is_told.then_some(()))
    })
    .await?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.starts_with("No response after"), "{seen:?}");
    let settled = stage.settled(&asked).await?;
    let cause = &settled["outcome"]["cause"];
    ensure!(settled["status"] == "cancelled" && cause["type"] == "agentTimedOut", "{settled}");
    stage.no_hook_left().await
}
