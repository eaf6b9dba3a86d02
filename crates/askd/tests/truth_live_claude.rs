//! The truth about the real Claude Code as a matrix: what happened, by which channel the question came, and
//! which version asked. Where a race cannot be had at will, its script is in the other `truth_*` tests.

#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "live_claude_hook/terminal.rs"]
mod terminal;
#[path = "truth/without_inotify.rs"]
mod without_inotify;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use askd_testkit::hub::signal;
use askd_testkit::programs::live::Live;
use serde_json::{Value, json};

use terminal::{Stage, asks, item, until};

/// The pinned version and the newest, with their programs.
const VERSIONS: [(&str, &[&str]); 2] = [("2_1_325", &["claude"]), ("2_1_328", &["claude-2.1.328"])];

/// How long a killed agent must stay silent: longer than the slowest look at all transcripts, which comes
/// every ten seconds.
const STAYS_SILENT: Duration = Duration::from_secs(12);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Hook,
    Keys,
    Managed,
}

type Running = Pin<Box<dyn Future<Output = Result<()>>>>;
/// What happened, the channels by which it is tried, and the test.
type Event = (&'static str, &'static [Channel], fn(Channel, &'static str) -> Running);

fn main() -> ExitCode {
    use Channel::{Hook, Keys, Managed};
    let events: [Event; 7] = [
        ("taken_up_in_another_terminal", &[Hook, Keys], |by, program| Box::pin(taken_up(by, program))),
        ("taken_up_after_a_kill", &[Hook, Keys], |by, program| Box::pin(taken_up_after_a_kill(by, program))),
        ("died_with_the_hub_and_taken_up", &[Hook, Keys], |by, program| Box::pin(died_together(by, program))),
        ("two_alike_calls", &[Hook, Keys, Managed], |by, program| Box::pin(alike(by, program))),
        ("killed_without_inotify", &[Managed], |by, program| Box::pin(killed_without_inotify(by, program))),
        ("timed_out_by_itself", &[Hook, Keys, Managed], |by, program| Box::pin(timed_out(by, program))),
        ("cleared", &[Hook, Managed], |by, program| Box::pin(cleared(by, program))),
    ];
    let mut live = Live::new();
    for (event, channels, test) in events {
        for channel in channels {
            for (version, programs) in VERSIONS {
                let name = format!("{event}_{channel:?}_{version}").to_lowercase();
                live = live.test(&name, programs, move || test(*channel, programs[0]));
            }
        }
    }
    live.run()
}

fn question() -> Value {
    item("Which auth?", false)
}

/// Claude Code with its question open.
async fn asking(by: Channel, program: &'static str, turns: Value, more: &[(&str, &str)]) -> Result<Stage> {
    let mut stage = Stage::prepare(turns).await?.with(program);
    match by {
        Channel::Hook => {
            stage.install()?;
            stage.open_terminal_with(&[], more).await?;
        }
        Channel::Keys => stage.open_terminal_with(&[], more).await?,
        Channel::Managed => drop(stage.start_managed(more)?),
    }
    Ok(stage)
}

/// The one session that lives.
fn session(stage: &Stage) -> Result<(String, u32)> {
    let living = stage.living()?;
    let [session] = &living[..] else { bail!("not one session: {living:?}") };
    let pid = session["pid"].as_u64().context("no pid")?;
    Ok((session["nativeId"].as_str().context("no native id")?.to_owned(), u32::try_from(pid)?))
}

/// `claude --resume` of a conversation whose question is open: nobody declined, and the first dialog is
/// answered on.
async fn taken_up(by: Channel, program: &'static str) -> Result<()> {
    let stage = asking(by, program, asks(&[question()]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    let (native, _) = session(&stage)?;
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
    told(&stage, &[(&asked, "Session cookies"), (&other, "JWT")]).await?;
    second.close()
}

/// Each question's call was told its own answer.
async fn told(stage: &Stage, answers: &[(&Value, &str)]) -> Result<()> {
    for (asked, label) in answers {
        let question = stage.question(asked)?;
        let call = question["tool"]["callId"].as_str().context("no call")?.to_owned();
        let found = until("what the model was told", || {
            let results = stage.model.tool_results();
            let mut own = results.into_iter().filter(|result| result.call_id == call);
            Ok(own.find(|result| !result.text.starts_with("[Tool call interrupted")))
        });
        let result = found.await.with_context(|| question.to_string())?;
        ensure!(result.text.contains(&format!("\"Which auth?\"=\"{label}\"")), "{result:?} {question}");
    }
    Ok(())
}

/// Taken up right after a kill: the end of the first question is the end of its process.
async fn taken_up_after_a_kill(by: Channel, program: &'static str) -> Result<()> {
    let mut stage = asking(by, program, asks(&[question()]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    let (native, pid) = session(&stage)?;
    signal(pid, "KILL")?;
    stage.open_terminal(&["--resume", &native]).await?;
    let settled = stage.settled(&asked).await?;
    ensure!(settled["outcome"]["cause"]["type"] == "agentExited", "{settled}");
    let other = stage.asked().await?;
    ensure!(other["id"] != asked["id"], "{other}");
    stage.shows("Enter to select").await?;
    stage.reply(&other, json!({ "answers": [["JWT"]] }))?;
    stage.delivered(&other, "confirmed").await?;
    told(&stage, &[(&other, "JWT")]).await
}

/// Hub and Claude Code die together, and the conversation is taken up before the hub is back.
async fn died_together(by: Channel, program: &'static str) -> Result<()> {
    let mut stage = asking(by, program, asks(&[question()]), &[]).await?;
    let asked = stage.asked().await?;
    stage.shows("Enter to select").await?;
    let (native, pid) = session(&stage)?;
    stage.hub.kill()?;
    signal(pid, "KILL")?;
    stage.open_terminal(&["--resume", &native]).await?;
    stage.shows("Enter to select").await?;
    stage.hub.restart()?;
    let settled = stage.settled(&asked).await?;
    ensure!(settled["outcome"]["cause"]["type"] == "agentExited", "{settled}");
    let other = stage.asked().await?;
    ensure!(other["id"] != asked["id"] && session(&stage)?.1 != pid, "{other}");
    stage.key("2").await?;
    let settled = stage.settled(&other).await?;
    ensure!(settled["outcome"]["by"]["surface"] == "agent", "{settled}");
    told(&stage, &[(&other, "Session cookies")]).await
}

/// Two calls of one turn that ask the very same: each is told what was answered to its own question.
async fn alike(by: Channel, program: &'static str) -> Result<()> {
    let call = json!({ "name": "AskUserQuestion", "args": { "questions": [question()] } });
    let turns = json!([{ "calls": [call.clone(), call] }, { "text": "Thank you." }]);
    let stage = asking(by, program, turns, &[]).await?;
    let both = until("both questions", || {
        let open = stage.questions("status=requested&order=asc")?;
        Ok(open.as_array().filter(|open| open.len() == 2).cloned())
    });
    let both = both.await.with_context(|| stage.screen())?;
    if by != Channel::Managed {
        stage.shows("Enter to select").await?;
    }
    // The second one first: by hook or keys it may reach the dialog of the first.
    stage.reply(&both[1], json!({ "answers": [["Session cookies"]] }))?;
    let second = stage.delivered(&both[1], "confirmed").await?;
    ensure!(stage.question(&both[0])?["status"] == "requested", "{} {second}", stage.question(&both[0])?);
    // The dialog of the other one is drawn by now, or will be in a moment: until then the answer is refused
    // and the question open.
    until("an answer that is taken", || {
        let (status, problem) = stage.try_end(&both[0], "reply", &json!({ "answers": [["JWT"]] }))?;
        ensure!(status == 200 || problem["code"] == "channel_cannot_carry", "{status}: {problem}");
        Ok((status == 200).then_some(()))
    })
    .await?;
    stage.delivered(&both[0], "confirmed").await?;
    told(&stage, &[(&both[0], "JWT"), (&both[1], "Session cookies")]).await
}

/// A managed Claude Code that is killed while it asks, beside a hub without inotify: nothing of it comes
/// back.
async fn killed_without_inotify(_: Channel, program: &'static str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let askd = without_inotify::without_inotify(folder.path())?;
    let stage = Stage::prepare_hub(asks(&[question()]), &askd).await?.with(program);
    let id = stage.start_managed(&[])?;
    let asked = stage.asked().await?;
    let (_, pid) = session(&stage)?;
    signal(pid, "KILL")?;
    let settled = stage.settled(&asked).await?;
    ensure!(settled["outcome"]["cause"]["type"] == "agentExited", "{settled}");
    let end = Instant::now() + STAYS_SILENT;
    while Instant::now() < end {
        let all = stage.questions("")?;
        ensure!(all.as_array().map(Vec::len) == Some(1), "it asks again: {all}");
        let (_, sessions) = stage.hub.http("GET", "/v1/sessions", None)?;
        let only =
            sessions["sessions"].as_array().is_some_and(|all| all.len() == 1 && all[0]["id"] == id.as_str());
        ensure!(only, "another session came: {sessions}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    ensure!(stage.living()?.is_empty(), "{:?}", stage.living()?);
    Ok(())
}

/// Claude Code's own time-out is nobody's refusal.
async fn timed_out(by: Channel, program: &'static str) -> Result<()> {
    let stage = asking(by, program, asks(&[question()]), &[("CLAUDE_AFK_TIMEOUT_MS", "8000")]).await?;
    let asked = stage.asked().await?;
    if by == Channel::Managed {
        // The time-out is of the dialog in the terminal: a program that answers is waited for.
        tokio::time::sleep(STAYS_SILENT).await;
        let question = stage.question(&asked)?;
        ensure!(question["status"] == "requested" && question["agentTimesOutAt"].is_null(), "{question}");
        stage.reply(&asked, json!({ "answers": [["JWT"]] }))?;
        stage.delivered(&asked, "confirmed").await?;
        return told(&stage, &[(&asked, "JWT")]).await;
    }
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

/// `/clear`: one process has one session, and the question that comes after it is asked there.
async fn cleared(by: Channel, program: &'static str) -> Result<()> {
    let stage = asking(by, program, asks(&[question()]), &[]).await?;
    let asked = stage.asked().await?;
    let (native, pid) = session(&stage)?;
    stage.reply(&asked, json!({ "answers": [["JWT"]] }))?;
    stage.delivered(&asked, "confirmed").await?;
    if by == Channel::Managed {
        let path = format!("/v1/sessions/{}/messages", asked["sessionId"].as_str().context("no session")?);
        for text in ["/clear", "SCENARIO:it go"] {
            let (status, said) = stage.hub.http("POST", &path, Some(&json!({ "text": text })))?;
            ensure!(status == 202, "{status}: {said}");
        }
    } else {
        stage.shows("Thank you.").await?;
        stage.say("/clear").await?;
        stage.gone("Thank you.").await?;
        stage.say("SCENARIO:it go").await?;
    }
    let again = stage.asked().await?;
    until("one session", || {
        Ok(session(&stage).ok().filter(|(now, of)| *now != native && *of == pid).map(drop))
    })
    .await
    .with_context(|| format!("{native}: {:?}", stage.living()))?;
    ensure!((again["sessionId"] == asked["sessionId"]) == (by == Channel::Managed), "{again}");
    stage.reply(&again, json!({ "answers": [["Session cookies"]] }))?;
    stage.delivered(&again, "confirmed").await?;
    told(&stage, &[(&again, "Session cookies")]).await
}
