//! Real Claude Code in a real terminal, hooked by `askd install`, with the scripted model as its model:
//! whoever answers first, the inbox or the terminal, the model sees that answer, and the hub tells the truth
//! about it.

#[path = "live_claude/hard.rs"]
mod hard;
#[path = "live_claude_hook/observed.rs"]
mod observed;
#[path = "live_claude_hook/portable.rs"]
mod portable;
#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "live_claude_hook/terminal.rs"]
mod terminal;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use askd_testkit::hub::signal;
use askd_testkit::programs::live::Live;
use serde_json::{Value, json};

use terminal::{Stage, asks, item, plan, until};

fn main() -> ExitCode {
    let in_every_mode = portable::MODES.iter().fold(Live::new(), |live, mode| {
        live.test(&format!("in_mode_{mode}"), &["claude"], move || portable::in_mode(mode))
    });
    in_every_mode
        .test("inbox_wins", &["claude"], inbox_wins)
        .test("inbox_wins_2_1_120", &["claude-2.1.120"], || portable::answered("claude-2.1.120"))
        .test("inbox_wins_2_0_76", &["claude-2.0.76"], || portable::answered("claude-2.0.76"))
        .test("nothing_picked", &["claude"], || portable::nothing_picked("claude"))
        .test("nothing_picked_2_1_120", &["claude-2.1.120"], || portable::nothing_picked("claude-2.1.120"))
        .test("nothing_picked_2_0_76", &["claude-2.0.76"], || portable::nothing_picked("claude-2.0.76"))
        .test("terminal_wins", &["claude"], || terminal_wins("claude"))
        .test("terminal_wins_2_1_120", &["claude-2.1.120"], || terminal_wins("claude-2.1.120"))
        .test("terminal_wins_2_0_76", &["claude-2.0.76"], || terminal_wins("claude-2.0.76"))
        .test("both_answer_and_the_terminal_was_first", &["claude"], overtaken)
        .test("both_answer_at_the_same_instant", &["claude"], same_instant)
        .test("declined_with_a_reason", &["claude"], declined)
        .test("interrupted_from_the_inbox", &["claude"], interrupted)
        .test("escaped_in_the_terminal", &["claude"], escaped)
        .test("hub_absent", &["claude"], hub_absent)
        .test("hub_killed_while_the_hook_waits", &["claude"], hub_killed)
        .test("hook_cut_off_by_its_timeout", &["claude"], hook_timeout)
        .test("skip_permissions", &["claude"], || portable::dangerous("claude"))
        .test("dont_ask_mode", &["claude"], portable::dont_ask)
        .test("skip_permissions_2_1_120", &["claude-2.1.120"], || portable::dangerous("claude-2.1.120"))
        .test("skip_permissions_2_0_76", &["claude-2.0.76"], || portable::dangerous("claude-2.0.76"))
        .test("four_questions_of_four_options", &["claude"], portable::four_by_four)
        .test("plan_approved", &["claude"], plan_approved)
        .test(
            "a_plan_is_not_approved_unchanged_for_a_changed_one",
            &["claude-2.0.76"],
            portable::plan_unchanged,
        )
        .test("plan_sent_back", &["claude"], plan_sent_back)
        .test("terminal_closed_while_it_asks", &["claude"], observed::closed)
        .test("conversation_resumed_in_another_terminal", &["claude"], observed::resumed)
        .test("talked_about_in_the_terminal", &["claude"], observed::talked_about)
        .test("observed_without_hooks", &["claude"], observed::without_hooks)
        .test("asked_in_a_container", &["claude"], observed::in_container)
        .test("waits_for_a_permission", &["claude"], || observed::waits_for_permission("claude"))
        .test("waits_for_a_permission_2_1_328", &["claude-2.1.328"], || {
            observed::waits_for_permission("claude-2.1.328")
        })
        .test("asked_before_the_hub_was_there", &["claude"], || observed::asked_before("claude"))
        .test("asked_before_the_hub_was_there_2_1_120", &["claude-2.1.120"], || {
            observed::asked_before("claude-2.1.120")
        })
        .run()
}

fn question(text: &str) -> Value {
    item(text, false)
}

async fn inbox_wins() -> Result<()> {
    let items = [question("Which auth?"), item("Many?", true), question("Own words?")];
    let stage = Stage::start(asks(&items), &[]).await?;
    let asked = stage.asked().await?;
    ensure!(asked["questions"][0]["options"][1]["label"] == "Session cookies", "{asked}");
    ensure!(
        asked["tool"]["callId"].as_str().is_some_and(|id| id.starts_with("toolu_")),
        "no call id: {asked}"
    );
    // Claude Code may run the hook before it has written the line in which it spoke: then there is no
    // excerpt.
    let excerpt = &asked["context"]["excerpt"];
    ensure!(excerpt.is_null() || excerpt == "One question first.", "{asked}");
    stage.shows("Which auth?").await?;
    let answers = json!([["Session cookies"], ["JWT", "Metrics, \"traces\""], ["both,\nand \"more\" 🚀"]]);
    stage.reply(&asked, json!({ "answers": answers, "notes": ["soon", null, null] }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(!seen.is_error, "{seen:?}");
    for part in [
        "\"Which auth?\"=\"Session cookies\"",
        "notes: soon",
        "\"Many?\"=\"JWT, \"Metrics, \\\"traces\\\"\"\"",
        "\"Own words?\"=\"both,\nand \"more\" 🚀\"",
    ] {
        ensure!(seen.text.contains(part), "{part} is not in {}", seen.text);
    }
    let question = stage.delivered(&asked, "confirmed").await?;
    ensure!(askd_testkit::given(&question["outcome"]["answers"]) == answers, "{question}");
    stage.shows("Thank you.").await?;
    stage.no_hook_left().await
}

async fn terminal_wins(program: &'static str) -> Result<()> {
    let stage = Stage::start_with(program, asks(&[question("Which auth?")])).await?;
    let asked = stage.asked().await?;
    stage.shows("Which auth?").await?;
    stage.key("2").await?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
    let settled = stage.settled(&asked).await?;
    ensure!(settled["status"] == "answered" && settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    ensure!(askd_testkit::given(&settled["outcome"]["answers"]) == json!([["Session cookies"]]), "{settled}");
    ensure!(settled["delivery"].is_null(), "{settled}");
    stage.no_hook_left().await
}

async fn overtaken() -> Result<()> {
    let stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Which auth?").await?;
    // The hook stands still, so that the answer is on its way when the terminal answers.
    let hooks = stage.hooks();
    ensure!(hooks.len() == 1, "not one hook: {hooks:?}");
    signal(hooks[0], "STOP")?;
    stage.reply(&asked, json!({ "answers": [["Session cookies"]] }))?;
    stage.key("1").await?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"JWT\""), "{seen:?}");
    let question = stage.delivered(&asked, "failed").await?;
    ensure!(question["delivery"]["error"]["reason"] == "overtaken", "{question}");
    ensure!(
        askd_testkit::given(&question["outcome"]["agentReceived"]["answers"]) == json!([["JWT"]]),
        "{question}"
    );
    ensure!(
        askd_testkit::given(&question["outcome"]["answers"]) == json!([["Session cookies"]]),
        "{question}"
    );
    signal(hooks[0], "CONT")?;
    stage.no_hook_left().await
}

/// Nobody knows who is first; whoever it was, the hub tells what the model got.
async fn same_instant() -> Result<()> {
    let stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    // The key itself waits until the dialog takes keys; the answer goes when it is pressed.
    stage.key("Down").await?;
    let body = json!({ "answers": [["JWT"]] });
    let (pressed, replied) = std::thread::scope(|scope| {
        let reply = scope.spawn(|| stage.try_end(&asked, "reply", &body));
        (stage.press("2"), reply.join())
    });
    pressed?;
    let Ok(answered) = replied else { anyhow::bail!("the reply did not end") };
    let seen = stage.model_saw("AskUserQuestion").await?;
    let told = until("the truth about both", || {
        let question = stage.question(&asked)?;
        let state = question["delivery"]["state"].as_str().unwrap_or_default();
        let is_over = question["status"] == "answered" && matches!(state, "" | "confirmed" | "failed");
        Ok(is_over.then_some(question))
    });
    let question = told.await?;
    let (outcome, delivery) = (&question["outcome"], &question["delivery"]);
    if seen.text.contains("\"Which auth?\"=\"JWT\"") {
        ensure!(
            askd_testkit::given(&outcome["answers"]) == json!([["JWT"]]) && delivery["state"] == "confirmed",
            "{question}"
        );
    } else {
        ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
        if outcome["by"]["surface"] == "agent" {
            ensure!(
                answered?.0 == 409
                    && askd_testkit::given(&outcome["answers"]) == json!([["Session cookies"]]),
                "{question}"
            );
        } else {
            ensure!(delivery["error"]["reason"] == "overtaken", "{question}");
            ensure!(
                askd_testkit::given(&outcome["agentReceived"]["answers"]) == json!([["Session cookies"]]),
                "{question}"
            );
        }
    }
    stage.no_hook_left().await
}

async fn declined() -> Result<()> {
    let stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    stage.reject(&asked, json!({ "reason": "ask Ada" }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.is_error && seen.text.contains("declined to answer (in the askd inbox)"), "{seen:?}");
    ensure!(seen.text.contains("this reason: ask Ada"), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    Ok(())
}

async fn interrupted() -> Result<()> {
    let stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    let requests = stage.model.requests().len();
    stage.reject(&asked, json!({ "mode": "interrupt" }))?;
    stage.delivered(&asked, "confirmed").await?;
    stage.gone("Enter to select").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    ensure!(stage.model.requests().len() == requests, "the turn went on: {}", stage.screen());
    Ok(())
}

async fn escaped() -> Result<()> {
    let stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Which auth?").await?;
    stage.key("Escape").await?;
    let settled = stage.settled(&asked).await?;
    ensure!(settled["status"] == "rejected" && settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    stage.no_hook_left().await
}

async fn hub_absent() -> Result<()> {
    let mut stage = Stage::prepare(asks(&[question("Which auth?")])).await?;
    stage.install()?;
    stage.hub.kill()?;
    stage.open_terminal(&[]).await?;
    stage.shows("Enter to select").await?;
    stage.no_hook_left().await?;
    stage.key("1").await?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"JWT\""), "{seen:?}");
    Ok(())
}

async fn hub_killed() -> Result<()> {
    let mut stage = Stage::start(asks(&[question("Which auth?")]), &[]).await?;
    let asked = stage.asked().await?;
    // Not before the hook has heard that its question is stored: until then it would leave the matter to the
    // terminal.
    stage.shows("Which auth?").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.hub.kill()?;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    stage.hub.restart()?;
    ensure!(stage.asked().await?["id"] == asked["id"], "it is another question now");
    stage.reply(&asked, json!({ "answers": [["Session cookies"]] }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    stage.no_hook_left().await
}

/// Claude Code ends the hook when its time is over; the dialog and the question stay.
async fn hook_timeout() -> Result<()> {
    let mut stage = Stage::prepare(asks(&[question("Which auth?")])).await?;
    stage.install()?;
    stage.change_settings("604800", "8")?;
    stage.open_terminal(&[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    stage.no_hook_left().await?;
    ensure!(stage.asked().await?["id"] == asked["id"], "the question went with its hook");
    stage.key("2").await?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
    let settled = stage.settled(&asked).await?;
    ensure!(settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    Ok(())
}

async fn plan_approved() -> Result<()> {
    let stage = Stage::start(plan(), &["--permission-mode", "plan"]).await?;
    let asked = stage.asked().await?;
    ensure!(asked["kind"] == "plan" && asked["body"]["text"] == "# Plan\n\n1. Do A\n", "{asked}");
    stage.reply(&asked, json!({ "answers": [["approve"]], "editedPlan": "# Plan\n\n1. Do B\n" }))?;
    let seen = stage.model_saw("ExitPlanMode").await?;
    ensure!(
        !seen.is_error && seen.text.contains("approved your plan") && seen.text.contains("1. Do B"),
        "{seen:?}"
    );
    stage.delivered(&asked, "confirmed").await?;
    stage.shows("Started.").await
}

async fn plan_sent_back() -> Result<()> {
    let stage = Stage::start(plan(), &["--permission-mode", "plan"]).await?;
    let asked = stage.asked().await?;
    stage.reject(&asked, json!({ "reason": "make it smaller" }))?;
    let seen = stage.model_saw("ExitPlanMode").await?;
    ensure!(
        seen.is_error && seen.text.ends_with("(from the askd inbox) and said:\nmake it smaller"),
        "{seen:?}"
    );
    stage.delivered(&asked, "confirmed").await?;
    Ok(())
}
