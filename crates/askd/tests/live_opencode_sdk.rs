//! The published OpenCode SDK, unmodified, answers the questions of other agents: Claude Code (started by
//! askd, and hooked in a terminal of its own), Claude Code and Codex behind ACP, and OpenCode itself. What
//! counts is what the model of the agent saw.

mod acp;
#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "live_acp/agents.rs"]
mod agents;
#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
mod live;
#[expect(dead_code, reason = "of Claude Code's own tests only the program and its model are needed")]
mod live_claude;
#[expect(dead_code, reason = "of OpenCode's own tests only the server and its model are needed")]
mod opencode;
mod opencode_sdk;
#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "live_claude_hook/terminal.rs"]
mod terminal;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use askd_testkit::programs::live::Live;
use live_claude::Claude;
use opencode_sdk::{PACKAGES, Renderer};
use serde_json::{Value, json};

fn main() -> ExitCode {
    Live::new()
        .with_packages(PACKAGES)
        .test("claude_started_by_askd", &["claude", "node"], started)
        .test("claude_permission_by_the_words_that_are_shown", &["claude", "node"], permission)
        .test("claude_dismissed", &["claude", "node"], dismissed)
        .test("claude_in_a_terminal", &["claude", "node"], hooked)
        .test("claude_behind_acp", &["claude-agent-acp", "claude", "node"], || async {
            behind_acp(agents::Stage::claude().await?).await
        })
        .test("codex_behind_acp", &["codex-acp", "codex", "node"], || async {
            behind_acp(agents::Stage::codex().await?).await
        })
        .test("opencode_itself", &["opencode", "node"], itself)
        .run()
}

/// The client saw its own answers arrive.
fn completed(seen: &Value, answers: &Value) -> Result<()> {
    let state = &seen["part"]["state"];
    ensure!(state["status"] == "completed" && state["metadata"]["answers"] == *answers, "{seen}");
    Ok(())
}

/// Three items: one pick, several, own words.
async fn started() -> Result<()> {
    let (stage, claude) = (live::Stage::new(), Claude::new("claude"));
    let answers = json!([["Session cookies"], ["Logging", "日本 🦀"], ["my \"own\"\nwords"]]);
    let renderer = Renderer::start(&stage.hub, &json!({ "answers": answers })).await?;
    let session = stage.start(&claude.request("several-items"));
    let seen = renderer.seen().await?;
    completed(&seen, &answers)?;
    ensure!(seen["request"]["sessionID"] == session.as_str(), "{seen}");
    ensure!(seen["part"]["callID"].as_str().is_some_and(|id| id.starts_with("toolu_")), "{seen}");
    let (told, failed) = claude.told(1);
    for words in ["Session cookies", "日本 🦀", "my \"own\"\nwords"] {
        ensure!(!failed && told.contains(words), "{words} is not in {told}");
    }
    stage.confirmed(seen["request"]["id"].as_str().unwrap_or_default());
    Ok(())
}

/// What an agent asks beside questions is a question to these clients, answered by a label.
async fn permission() -> Result<()> {
    let (stage, claude) = (live::Stage::new(), Claude::new("claude"));
    let renderer = Renderer::start(&stage.hub, &json!({ "answers": [["Allow once"]] })).await?;
    stage.start(&claude.request("permission"));
    let seen = renderer.seen().await?;
    completed(&seen, &json!([["Allow once"]]))?;
    stage.confirmed(seen["request"]["id"].as_str().unwrap_or_default());
    ensure!(!claude.told(1).1, "the command did not run");
    Ok(())
}

async fn dismissed() -> Result<()> {
    let (stage, claude) = (live::Stage::new(), Claude::new("claude"));
    let renderer = Renderer::start(&stage.hub, &json!({ "dismiss": true })).await?;
    stage.start(&claude.request("single"));
    let seen = renderer.seen().await?;
    let state = &seen["part"]["state"];
    let told = (&state["status"], &state["error"]);
    ensure!(told == (&json!("error"), &json!("The user dismissed this question")), "{seen}");
    let question = stage.confirmed(seen["request"]["id"].as_str().unwrap_or_default());
    ensure!(question["outcome"]["mode"] == "interrupt", "{question}");
    Ok(())
}

async fn hooked() -> Result<()> {
    let mut stage = terminal::Stage::prepare(terminal::asks(&[terminal::item("Which auth?", false)])).await?;
    stage.install()?;
    let renderer = Renderer::start(&stage.hub, &json!({ "answers": [["Session cookies"]] })).await?;
    stage.open_terminal(&[]).await?;
    let seen = renderer.seen().await?;
    completed(&seen, &json!([["Session cookies"]]))?;
    let told = stage.model_saw("AskUserQuestion").await?;
    ensure!(!told.is_error && told.text.contains("\"Which auth?\"=\"Session cookies\""), "{told:?}");
    stage.delivered(&seen["request"], "confirmed").await?;
    stage.no_hook_left().await
}

async fn behind_acp(mut stage: agents::Stage) -> Result<()> {
    let answers = json!([["OAuth"], ["my own choice"]]);
    let renderer = Renderer::start(&stage.hub, &json!({ "answers": answers })).await?;
    let id = stage.next_id();
    let prompted = stage.place.prompt(id, &stage.session, "SCENARIO:two go");
    let seen = renderer.seen().await?;
    completed(&seen, &answers)?;
    let response = prompted.join().map_err(|_| anyhow::anyhow!("the prompt"))?;
    ensure!(acp::result(&response)["stopReason"] == "end_turn", "{response:?}");
    let saw = stage.saw();
    ensure!(saw.contains("OAuth") && saw.contains("my own choice"), "the model saw {saw}");
    let id = seen["request"]["id"].as_str().unwrap_or_default();
    acp::eventually("the evidence", || {
        (stage.question(id)["delivery"]["state"] == "confirmed").then_some(())
    });
    Ok(())
}

/// Through askd a client sees the same part and the same call as from the server itself.
async fn itself() -> Result<()> {
    let stage = opencode::Stage::start().await?;
    let answers = json!([["Red"], ["Green", "both"]]);
    let renderer = Renderer::start(&stage.hub, &json!({ "answers": answers })).await?;
    let session = stage.prompt("several").await?;
    let seen = renderer.seen().await?;
    completed(&seen, &answers)?;
    let told = stage.last_result(1).await?;
    ensure!(told.contains(r#""Which colour?"="Red", "Which sizes?"="Green, both""#), "{told}");
    let tool = &seen["request"]["tool"];
    let path = format!("/session/{session}/message/{}", tool["messageID"].as_str().unwrap_or_default());
    let (_, message) = stage.opencode(reqwest::Method::GET, &path, None).await?;
    let parts = message["parts"].as_array().cloned().unwrap_or_default();
    let part = parts.into_iter().find(|part| part["callID"] == tool["callID"]).unwrap_or_default();
    for key in ["status", "output", "title", "metadata"] {
        ensure!(part["state"][key] == seen["part"]["state"][key], "{key}: {part} is not {seen}");
    }
    stage.confirmed(&seen["request"]).await?;
    Ok(())
}
