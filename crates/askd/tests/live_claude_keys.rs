//! Real Claude Code in tmux, without hooks: answers are typed into its dialog, and what counts is what the
//! model received. A terminal that shows something else gets no key, and what would be submitted wrongly is
//! not submitted.

#[path = "live_claude/hard.rs"]
mod hard;
#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "live_claude_hook/terminal.rs"]
mod terminal;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::signal;
use askd_testkit::programs::live::Live;
use serde_json::{Value, json};

use terminal::{Stage, asks, item, plan, until};

fn main() -> ExitCode {
    Live::new()
        .test("typed", &["claude"], || typed("claude"))
        .test("typed_2_1_328", &["claude-2.1.328"], || typed("claude-2.1.328"))
        .test("typed_2_1_120", &["claude-2.1.120"], || typed("claude-2.1.120"))
        .test("typed_2_0_76", &["claude-2.0.76"], || typed("claude-2.0.76"))
        .test("previews_and_skipped_items", &["claude"], || previews("claude"))
        .test("previews_and_skipped_items_2_1_328", &["claude-2.1.328"], || previews("claude-2.1.328"))
        .test("previews_and_skipped_items_2_1_120", &["claude-2.1.120"], || previews("claude-2.1.120"))
        .test("four_questions_of_four_options", &["claude"], || four_by_four("claude"))
        .test("four_questions_of_four_options_2_1_328", &["claude-2.1.328"], || {
            four_by_four("claude-2.1.328")
        })
        .test("plan_approved", &["claude"], || plan_approved("claude"))
        .test("plan_approved_2_1_328", &["claude-2.1.328"], || plan_approved("claude-2.1.328"))
        .test("plan_sent_back_2_0_76", &["claude-2.0.76"], || plan_sent_back("claude-2.0.76"))
        .test("plan_sent_back", &["claude"], || plan_sent_back("claude"))
        .test("plan_sent_back_2_1_328", &["claude-2.1.328"], || plan_sent_back("claude-2.1.328"))
        .test("interrupted", &["claude"], || interrupted("claude"))
        .test("interrupted_2_1_328", &["claude-2.1.328"], || interrupted("claude-2.1.328"))
        .test("what_keys_cannot_carry_is_refused", &["claude"], || refused("claude"))
        .test("what_keys_cannot_carry_is_refused_2_0_76", &["claude-2.0.76"], || refused("claude-2.0.76"))
        .test("what_keys_cannot_carry_is_refused_2_1_328", &["claude-2.1.328"], || refused("claude-2.1.328"))
        .test("another_screen_gets_no_key", &["claude"], another_screen)
        .test("a_scrolled_or_small_pane_refuses", &["claude"], || scrolled_and_small("claude"))
        .test("a_scrolled_or_small_pane_refuses_2_1_328", &["claude-2.1.328"], || {
            scrolled_and_small("claude-2.1.328")
        })
        .test("a_question_longer_than_the_screen_is_refused", &["claude"], || {
            longer_than_the_screen("claude")
        })
        .test("a_question_longer_than_the_screen_is_refused_2_1_328", &["claude-2.1.328"], || {
            longer_than_the_screen("claude-2.1.328")
        })
        .test("a_bidi_character_is_refused", &["claude"], || bidi("claude"))
        .test("a_bidi_character_is_refused_2_1_328", &["claude-2.1.328"], || bidi("claude-2.1.328"))
        .test("a_dialog_at_its_second_question_refuses", &["claude"], || second_tab("claude"))
        .test("a_dialog_at_its_second_question_refuses_2_1_328", &["claude-2.1.328"], || {
            second_tab("claude-2.1.328")
        })
        .test("a_dialog_hidden_after_the_look_opens_its_question_again", &["claude"], || {
            hidden_after_the_look("claude")
        })
        .test("a_dialog_hidden_after_the_look_opens_its_question_again_2_1_328", &["claude-2.1.328"], || {
            hidden_after_the_look("claude-2.1.328")
        })
        .test("what_would_be_wrong_is_not_submitted", &["claude-2.1.120"], wrong)
        .test("not_from_a_notification", &["claude"], from_a_notification)
        .test("panopticon", &["claude"], panopticon)
        .test("hook_is_gone", &["claude"], hook_is_gone)
        .run()
}

/// A terminal without hooks, with its question open.
async fn open(program: &'static str, turns: Value, args: &[&str]) -> Result<(Stage, Value)> {
    let mut stage = Stage::prepare(turns).await?.with(program);
    stage.open_terminal(args).await?;
    let asked = stage.asked().await?;
    Ok((stage, asked))
}

/// The surfaces say that an answer would be typed.
async fn says_so(stage: &Stage, asked: &Value) -> Result<()> {
    let road = || Ok((stage.question(asked)?["road"] == "keys").then_some(()));
    until("the road of the question", road)
        .await
        .with_context(|| stage.question(asked).unwrap_or_default().to_string())?;
    let id = asked["id"].as_str().context("no id")?;
    let data = stage.hub.data.to_string_lossy().into_owned();
    let shown = stage.hub.run(["--data", &data, "show", id])?;
    ensure!(shown.stdout.contains("typed into its dialog, in its tmux pane"), "{shown:?}");
    Ok(())
}

async fn typed(program: &'static str) -> Result<()> {
    let items = [item("Which auth?", false), item("Many?", true), item("Own words?", false)];
    let (stage, asked) = open(program, asks(&items), &[]).await?;
    stage.shows("Enter to select").await?;
    says_so(&stage, &asked).await?;
    let answers = json!([["Session cookies"], ["JWT", "Metrics, \"traces\""], ["both; and\n\"more\";"]]);
    stage.reply(&asked, json!({ "answers": answers }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(!seen.is_error, "{seen:?}");
    for part in [
        "\"Which auth?\"=\"Session cookies\"",
        "\"Many?\"=\"JWT, ",
        "traces",
        "\"Own words?\"=\"both; and\n\"more\";\"",
    ] {
        ensure!(seen.text.contains(part), "{part} is not in {}", seen.text);
    }
    let question = stage.delivered(&asked, "confirmed").await?;
    ensure!(
        askd_testkit::given(&question["outcome"]["answers"]) == answers && question["road"].is_null(),
        "{question}"
    );
    // Typed at once: no hook is waited for where none is installed.
    ensure!(question["delivery"]["attempts"] == 1, "{question}");
    stage.shows("Thank you.").await
}

async fn previews(program: &'static str) -> Result<()> {
    let mut layout = item("Which layout?", false);
    for option in layout["options"].as_array_mut().context("no options")? {
        option["preview"] = json!("+--+\n|AB|\n+--+");
    }
    let items = [layout, item("Skipped?", false), item("Many?", true)];
    let (stage, asked) = open(program, asks(&items), &[]).await?;
    stage.shows("Enter to select").await?;
    let answers = json!([["Session cookies"], [], ["JWT"]]);
    stage.reply(&asked, json!({ "answers": answers }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(!seen.is_error && !seen.text.contains("Skipped?"), "{seen:?}");
    for part in ["\"Which layout?\"=\"Session cookies\"", "\"Many?\"=\"JWT\""] {
        ensure!(seen.text.contains(part), "{part} is not in {}", seen.text);
    }
    let question = stage.delivered(&asked, "confirmed").await?;
    ensure!(askd_testkit::given(&question["outcome"]["answers"]) == answers, "{question}");
    Ok(())
}

async fn four_by_four(program: &'static str) -> Result<()> {
    let items = hard::four();
    let (stage, asked) = open(program, asks(&items), &[]).await?;
    stage.shows("Enter to select").await?;
    let label = |item: usize, option: usize| items[item]["options"][option]["label"].clone();
    // A line feed in a label is replaced by the dialog itself, so that label is not picked there.
    let (status, problem) =
        stage.try_end(&asked, "reply", &json!({ "answers": [[label(0, 1)], [], [], []] }))?;
    ensure!(status == 409 && problem["code"] == "channel_cannot_carry", "{status}: {problem}");
    let answers = json!([[label(0, 0), label(0, 2)], [label(1, 0)], [], [label(3, 2), label(3, 3)]]);
    stage.reply(&asked, json!({ "answers": answers }))?;
    let question = stage.delivered(&asked, "confirmed").await?;
    ensure!(askd_testkit::given(&question["outcome"]["answers"]) == answers, "{question}");
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.starts_with("Your questions have been answered: "), "{seen:?}");
    Ok(())
}

async fn plan_approved(program: &'static str) -> Result<()> {
    let (stage, asked) = open(program, plan(), &["--permission-mode", "plan"]).await?;
    stage.shows("Would you like to proceed?").await?;
    let changed = json!({ "answers": [["approve"]], "editedPlan": "# Another" });
    let (status, problem) = stage.try_end(&asked, "reply", &changed)?;
    ensure!(status == 409 && problem["code"] == "channel_cannot_carry", "{status}: {problem}");
    stage.reply(&asked, json!({ "answers": [["approve"]] }))?;
    let seen = stage.model_saw("ExitPlanMode").await?;
    ensure!(!seen.is_error && seen.text.contains("approved your plan"), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    Ok(())
}

async fn plan_sent_back(program: &'static str) -> Result<()> {
    let (stage, asked) = open(program, plan(), &["--permission-mode", "plan"]).await?;
    stage.shows("Would you like to proceed?").await?;
    stage.reject(&asked, json!({ "reason": "make it smaller" }))?;
    let seen = stage.model_saw("ExitPlanMode").await?;
    ensure!(seen.is_error && seen.text.ends_with("the user said:\nmake it smaller"), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    Ok(())
}

async fn interrupted(program: &'static str) -> Result<()> {
    let (stage, asked) = open(program, asks(&[item("Which auth?", false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    let requests = stage.model.requests().len();
    stage.reject(&asked, json!({ "mode": "interrupt" }))?;
    stage.delivered(&asked, "confirmed").await?;
    stage.gone("Enter to select").await?;
    ensure!(stage.model.requests().len() == requests, "the turn went on: {}", stage.screen());
    Ok(())
}

/// An answer that has no keys is refused at once; the question stays as it was, and takes one that has.
async fn refused(program: &'static str) -> Result<()> {
    let (stage, asked) = open(program, asks(&[item("Which auth?", false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    says_so(&stage, &asked).await?;
    for (how, body, why) in [
        ("reply", json!({ "answers": [["JWT"]], "notes": ["soon"] }), "a note cannot be typed"),
        ("reply", json!({ "answers": [[]] }), "nothing is picked"),
        ("reply", json!({ "answers": [["tab\there"]] }), "without control characters"),
        ("reject", json!({ "reason": "ask Ada" }), "cannot decline"),
    ] {
        let (status, problem) = stage.try_end(&asked, how, &body)?;
        ensure!(status == 409 && problem["code"] == "channel_cannot_carry", "{status}: {problem}");
        ensure!(problem["detail"].as_str().is_some_and(|detail| detail.contains(why)), "{why}: {problem}");
    }
    let question = stage.question(&asked)?;
    ensure!(question["status"] == "requested" && question["delivery"].is_null(), "{question}");
    ensure!(stage.screen().contains("❯ 1. JWT"), "something was typed: {}", stage.screen());
    stage.reply(&asked, json!({ "answers": [["Session cookies"]] }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    Ok(())
}

/// The answer is refused with what the pane shows, no key is pressed, and the question stays open.
async fn refused_at_a_look(stage: &Stage, asked: &Value, body: &Value, parts: &[&str]) -> Result<()> {
    let before = still(stage).await?;
    let (status, problem) = stage.try_end(asked, "reply", body)?;
    ensure!(status == 409 && problem["code"] == "channel_cannot_carry", "{status}: {problem}");
    let detail = problem["detail"].as_str().unwrap_or_default();
    for part in parts {
        ensure!(detail.contains(part), "{part} is not in {detail}");
    }
    let after = still(stage).await?;
    ensure!(after == before, "something was typed: {after}");
    let question = stage.question(asked)?;
    ensure!(question["status"] == "requested" && question["delivery"].is_null(), "{question}");
    ensure!(stage.model.tool_results().is_empty(), "the model was told something");
    Ok(())
}

/// The answer is accepted now, and arrives.
async fn taken(stage: &Stage, asked: &Value, body: Value, part: &str) -> Result<()> {
    stage.reply(asked, body)?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains(part), "{seen:?}");
    stage.delivered(asked, "confirmed").await?;
    Ok(())
}

async fn another_screen() -> Result<()> {
    let (stage, asked) = open("claude", asks(&[item("Which auth?", false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    // Somebody looks at the transcript: the dialog is not on the screen.
    stage.key("C-o").await?;
    stage.gone("Enter to select").await?;
    let answer = json!({ "answers": [["Session cookies"]] });
    refused_at_a_look(&stage, &asked, &answer, &["does not show this question", "One question first."])
        .await?;
    // The dialog is untouched and works.
    stage.key("C-o").await?;
    stage.shows("❯ 1. JWT").await?;
    taken(&stage, &asked, answer, "\"Which auth?\"=\"Session cookies\"").await
}

/// A pane that is being scrolled, and one that has no room for the dialog.
async fn scrolled_and_small(program: &'static str) -> Result<()> {
    let (stage, asked) = open(program, asks(&[item("Which auth?", false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    let answer = json!({ "answers": [["Session cookies"]] });
    stage.tmux(&["copy-mode", "-t", "it"])?;
    refused_at_a_look(&stage, &asked, &answer, &["somebody is scrolling in the pane"]).await?;
    stage.tmux(&["send-keys", "-t", "it", "-X", "cancel"])?;
    let size = stage.tmux(&["display-message", "-p", "-t", "it", "#{window_width} #{window_height}"])?;
    let (width, height) = size.trim().split_once(' ').context("no size")?;
    stage.tmux(&["resize-window", "-t", "it", "-x", "40", "-y", "12"])?;
    until("the dialog in a small pane", || Ok(stage.screen().contains("Esc\nto cancel").then_some(())))
        .await?;
    refused_at_a_look(&stage, &asked, &answer, &["The terminal showed"]).await?;
    stage.tmux(&["resize-window", "-t", "it", "-x", width, "-y", height])?;
    stage.shows("❯ 1. JWT").await?;
    taken(&stage, &asked, answer, "\"Which auth?\"=\"Session cookies\"").await
}

/// A question of which the pane shows only the end.
async fn longer_than_the_screen(program: &'static str) -> Result<()> {
    let text = (1..=120).map(|n| format!("Line {n} of a long question.")).collect::<Vec<_>>().join("\n");
    let (stage, asked) = open(program, asks(&[item(&text, false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    let answer = json!({ "answers": [["Session cookies"]] });
    refused_at_a_look(&stage, &asked, &answer, &["The terminal showed"]).await?;
    stage.key("1").await?;
    let question = stage.settled(&asked).await?;
    ensure!(question["outcome"]["by"]["surface"] == "agent", "{question}");
    Ok(())
}

/// The terminal does not show a bidi character as it was asked.
async fn bidi(program: &'static str) -> Result<()> {
    let (stage, asked) = open(program, asks(&[item("Which \u{202e}auth\u{202c}?", false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    let answer = json!({ "answers": [["Session cookies"]] });
    refused_at_a_look(&stage, &asked, &answer, &["The terminal showed"]).await?;
    stage.key("1").await?;
    let question = stage.settled(&asked).await?;
    ensure!(question["outcome"]["by"]["surface"] == "agent", "{question}");
    Ok(())
}

/// Somebody has gone on to the second question of the dialog.
async fn second_tab(program: &'static str) -> Result<()> {
    let items = [item("Which auth?", false), item("Which other?", false)];
    let (stage, asked) = open(program, asks(&items), &[]).await?;
    stage.shows("Which auth?").await?;
    stage.key("Tab").await?;
    stage.shows("Which other?").await?;
    let answer = json!({ "answers": [["Session cookies"], ["JWT"]] });
    refused_at_a_look(&stage, &asked, &answer, &["another place of this dialog", "Which other?"]).await?;
    stage.key("Left").await?;
    stage.shows("Which auth?").await?;
    taken(&stage, &asked, answer, "\"Which auth?\"=\"Session cookies\"").await
}

/// The screen when Claude Code has drawn all of it.
async fn still(stage: &Stage) -> Result<String> {
    let mut last = stage.screen();
    loop {
        tokio::time::sleep(Duration::from_millis(700)).await;
        let now = stage.screen();
        if now == last {
            return Ok(now);
        }
        last = now;
    }
}

/// A notification does not say that an answer would be typed, so it is not, unless that was turned on.
async fn from_a_notification() -> Result<()> {
    let (stage, asked) = open("claude", asks(&[item("Which auth?", false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    let before = still(&stage).await?;
    let path = format!("/v1/questions/{}/reply", asked["id"].as_str().context("no id")?);
    let answer = json!({ "answers": [["Session cookies"]] });
    let (status, problem) = stage.hub.http_on("notification", "POST", &path, Some(&answer))?;
    ensure!(status == 409 && problem["code"] == "channel_cannot_carry", "{status}: {problem}");
    let session = asked["sessionId"].as_str().context("no session")?;
    let detail = problem["detail"].as_str().unwrap_or_default();
    ensure!(detail.contains(&format!("askd tmux {session}")), "{problem}");
    let after = still(&stage).await?;
    ensure!(after == before, "something was typed: {after}");
    ensure!(stage.question(&asked)?["status"] == "requested", "the question was burned");
    taken(&stage, &asked, answer, "\"Which auth?\"=\"Session cookies\"").await
}

/// 2.1.120 forgets own words beside ticks; its last page shows it, and the answer stays unsent, the ticks are taken back. The question is
/// open again with the try in its history.
async fn wrong() -> Result<()> {
    let (stage, asked) = open("claude-2.1.120", asks(&[item("Many?", true)]), &[]).await?;
    stage.shows("Enter to select").await?;
    stage.reply(&asked, json!({ "answers": [["JWT", "own words"]] }))?;
    let question = open_again(&stage, &asked).await?;
    let failed = &question["failedTries"][0];
    ensure!(
        askd_testkit::given(&failed["outcome"]["answers"]) == json!([["JWT", "own words"]]),
        "{question}"
    );
    let detail = failed["delivery"]["error"]["detail"].as_str().unwrap_or_default();
    for part in ["would submit something else", "Review your answers"] {
        ensure!(detail.contains(part), "{part} is not in {detail}");
    }
    stage.shows("1. [ ] JWT").await?;
    ensure!(stage.model.tool_results().is_empty(), "the model was told something");
    // Own words that were typed stay in their row, so only the terminal can take them away.
    stage.close_terminal()?;
    let question = stage.settled(&asked).await?;
    ensure!(question["status"] == "cancelled" && question["failedTries"][0] == *failed, "{question}");
    Ok(())
}

/// The question was opened again after an answer that did not arrive.
async fn open_again(stage: &Stage, asked: &Value) -> Result<Value> {
    let found = until("the question that is open again", || {
        let question = stage.question(asked)?;
        let is_it = question["status"] == "requested" && question["failedTries"].is_array();
        Ok(Some(question).filter(|_| is_it))
    });
    found.await.with_context(|| format!("{:#}", stage.question(asked).unwrap_or_default()))
}

/// The dialog is hidden between the look and the first key: the question is open again, and the next answer
/// arrives.
async fn hidden_after_the_look(program: &'static str) -> Result<()> {
    let (stage, asked) = open(program, asks(&[item("Which auth?", false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let answer = json!({ "answers": [["Session cookies"]] });
    stage.reply(&asked, answer.clone())?;
    stage.tmux(&["copy-mode", "-t", "it"])?;
    let question = open_again(&stage, &asked).await?;
    let detail = question["failedTries"][0]["delivery"]["error"]["detail"].as_str().unwrap_or_default();
    ensure!(detail.contains("somebody is scrolling in the pane"), "{question}");
    stage.tmux(&["send-keys", "-t", "it", "-X", "cancel"])?;
    taken(&stage, &asked, answer, "\"Which auth?\"=\"Session cookies\"").await?;
    let question = stage.question(&asked)?;
    ensure!(question["failedTries"].as_array().map(Vec::len) == Some(1), "{question}");
    ensure!(stage.model.tool_results().len() == 1, "answered twice");
    Ok(())
}

/// By the name of the tmux session and by an agent's `state.json`; the answer goes by the only road that
/// there is.
async fn panopticon() -> Result<()> {
    let (stage, asked) = open("claude", asks(&[item("Which auth?", false)]), &[]).await?;
    stage.shows("Enter to select").await?;
    let folder = stage.home().join(".panopticon/agents/agent-pan-1");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(
        folder.join("state.json"),
        json!({ "id": "agent-pan-1", "workspace": stage.cwd() }).to_string(),
    )?;
    for name in ["it", "agent-pan-1"] {
        let (status, list) = stage.hub.http("GET", &format!("/api/agents/{name}/pending-questions"), None)?;
        ensure!(status == 200 && list["pending"] == true, "{name}: {list}");
        ensure!(list["questions"][0]["toolId"] == asked["tool"]["callId"], "{name}: {list}");
    }
    let (_, list) = stage.hub.http("GET", "/api/agents/nobody/pending-questions", None)?;
    ensure!(list == json!({ "pending": false, "questions": [] }), "{list}");
    let body = json!({ "answers": ["Session cookies"] });
    let (status, said) = stage.hub.http("POST", "/api/agents/it/answer-question", Some(&body))?;
    ensure!(status == 200 && said == json!({ "success": true }), "{said}");
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    Ok(())
}

/// With a hook that is gone nothing is typed, unless somebody has turned that on.
async fn hook_is_gone() -> Result<()> {
    let stage = Stage::start(asks(&[item("Which auth?", false)]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    until("the hook's road", || Ok((stage.question(&asked)?["road"] == "hook").then_some(()))).await?;
    for hook in stage.hooks() {
        signal(hook, "KILL")?;
    }
    until("no road", || Ok((stage.question(&asked)?["road"] == "terminal").then_some(()))).await?;
    let session = asked["sessionId"].as_str().context("no session")?;
    let data = stage.hub.data.to_string_lossy().into_owned();
    let allowed = stage.hub.run(["--data", &data, "tmux", session])?;
    ensure!(allowed.code == 0 && allowed.stdout.contains("may be typed"), "{allowed:?}");
    until("the keys' road", || Ok((stage.question(&asked)?["road"] == "keys").then_some(()))).await?;
    stage.reply(&asked, json!({ "answers": [["Session cookies"]] }))?;
    let seen = stage.model_saw("AskUserQuestion").await?;
    ensure!(seen.text.contains("\"Which auth?\"=\"Session cookies\""), "{seen:?}");
    stage.delivered(&asked, "confirmed").await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    ensure!(stage.model.tool_results().len() == 1, "answered twice");
    Ok(())
}
