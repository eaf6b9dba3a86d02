//! What holds in every version that has the hook, in every permission mode, and for every text.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::hard::four;
use crate::question;
use crate::terminal::{Stage, asks, item, plan};

/// What holds in every version that has the hook.
pub async fn answered(program: &'static str) -> Result<()> {
    let items = [question("Which auth?"), item("Many?", true), question("Own words?"), question("Skipped?")];
    let stage = Stage::start_with(program, asks(&items)).await?;
    let asked = stage.asked().await?;
    ensure!(
        asked["tool"]["callId"].as_str().is_some_and(|id| id.starts_with("toolu_")),
        "no call id: {asked}"
    );
    stage.shows("Which auth?").await?;
    let answers =
        json!([["Session cookies"], ["JWT", "Metrics, \"traces\""], ["both,\nand \"more\" 🚀"], []]);
    stage.reply(&asked, json!({ "answers": answers, "notes": ["soon", null, null, null] }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(!seen.is_error && !seen.text.contains("Skipped?"), "{seen:?}");
    for part in [
        // A note is in the answer, because old versions lose what is beside it.
        "\"Which auth?\"=\"Session cookies (note: soon)\"",
        "\"Many?\"=\"JWT, \"Metrics, \\\"traces\\\"\"\"",
        "\"Own words?\"=\"both,\nand \"more\" 🚀\"",
    ] {
        ensure!(seen.text.contains(part), "{part} is not in {}", seen.text);
    }
    let question = stage.delivered(&asked, "confirmed").await?;
    ensure!(askd_testkit::given(&question["outcome"]["answers"]) == answers, "{question}");
    stage.no_hook_left().await
}

/// Old versions call an answer with nothing in it an answer, so it is said in words; the model goes on.
pub async fn nothing_picked(program: &'static str) -> Result<()> {
    let stage = Stage::start_with(program, asks(&[question("Which auth?")])).await?;
    let asked = stage.asked().await?;
    stage.shows("Which auth?").await?;
    stage.reply(&asked, json!({ "answers": [[]] }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("The user did not answer the questions."), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    stage.shows("Thank you.").await?;
    stage.no_hook_left().await
}

/// 2.0.76 would approve the old plan for a changed one: that is refused, and the plan as it is can be approved.
pub async fn plan_unchanged() -> Result<()> {
    let mut stage = Stage::prepare(plan()).await?.with("claude-2.0.76");
    stage.install()?;
    stage.open_terminal(&["--permission-mode", "plan"]).await?;
    let asked = stage.asked().await?;
    stage.shows("Would you like to proceed?").await?;
    let changed = json!({ "answers": [["approve"]], "editedPlan": "# Plan\n\n1. Do B\n" });
    let (status, problem) = stage.try_end(&asked, "reply", &changed)?;
    ensure!(status == 409 && problem["code"] == "channel_cannot_carry", "{status}: {problem}");
    ensure!(stage.question(&asked)?["status"] == "requested", "it was settled");
    stage.reply(&asked, json!({ "answers": [["approve"]] }))?;
    let seen = stage.model_saw("ExitPlanMode").await?;
    ensure!(!seen.is_error && seen.text.contains("approved your plan"), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    stage.no_hook_left().await
}

async fn answers_with(program: &'static str, args: &[&str]) -> Result<()> {
    let mut stage = Stage::prepare(asks(&[question("Which auth?")])).await?.with(program);
    stage.install()?;
    stage.open_terminal(args).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    stage.reply(&asked, json!({ "answers": [["Session cookies"]] }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    stage.no_hook_left().await
}

/// The modes in which the dialog is on the screen; the hook answers it.
pub const MODES: [&str; 6] = ["default", "manual", "acceptEdits", "plan", "auto", "bypassPermissions"];

pub async fn in_mode(mode: &str) -> Result<()> {
    answers_with("claude", &["--permission-mode", mode]).await
}

pub async fn dangerous(program: &'static str) -> Result<()> {
    answers_with(program, &["--dangerously-skip-permissions"]).await
}

/// In this mode the tool is refused without asking anybody.
pub async fn dont_ask() -> Result<()> {
    let stage = Stage::start(asks(&[question("Which auth?")]), &["--permission-mode", "dontAsk"]).await?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.is_error && seen.text.contains("don't ask mode"), "{seen:?}");
    stage.shows("Thank you.").await?;
    let open = stage.questions("status=requested")?;
    ensure!(open == json!([]), "{open}");
    stage.no_hook_left().await
}

pub async fn four_by_four() -> Result<()> {
    let items = four();
    let stage = Stage::start(asks(&items), &[]).await?;
    let asked = stage.asked().await?;
    let label = |item: usize, option: usize| items[item]["options"][option]["label"].clone();
    for (i, item) in items.iter().enumerate() {
        let shown = &asked["questions"][i];
        ensure!(shown["question"] == item["question"] && shown["header"] == item["header"], "{shown}");
        ensure!((0..4).all(|k| shown["options"][k]["label"] == label(i, k)), "{shown}");
    }
    let all: Vec<Value> = (0..4).map(|k| label(0, k)).collect();
    let answers = json!([all, [label(1, 0)], [], [label(3, 1), label(3, 2)]]);
    stage.reply(&asked, json!({ "answers": answers }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    // It knew all picks as its own labels.
    ensure!(seen.text.starts_with("Your questions have been answered: "), "{seen:?}");
    let question = stage.delivered(&asked, "confirmed").await?;
    ensure!(askd_testkit::given(&question["outcome"]["answers"]) == answers, "{question}");
    stage.no_hook_left().await
}
