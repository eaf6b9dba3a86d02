//! Real ACP agents behind `/v1/acp`, with the scripted model behind them: `claude-agent-acp` with Claude
//! Code, `codex-acp` with Codex, and `opencode acp`. What the model saw as the result of its question is the
//! proof of the whole way.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;
#[path = "live_acp/agents.rs"]
mod agents;
#[path = "live_acp/opencode.rs"]
mod opencode;

use std::process::ExitCode;
use std::time::Duration;

use acp::{assert_no_hole, eventually, prompt, result};
use agents::{CLAUDE, CODEX, OPENCODE, Stage};
use anyhow::Result;
use askd_testkit::programs::live::Live;
use serde_json::{Value, json};

fn main() -> ExitCode {
    Live::new()
        .test("claude_answers", CLAUDE, || async { answers(&mut Stage::claude().await?) })
        .test("claude_rejections", CLAUDE, || async { rejections(&mut Stage::claude().await?) })
        .test("claude_turn_cancelled", CLAUDE, || async { turn_cancelled(&mut Stage::claude().await?) })
        .test("claude_hub_killed", CLAUDE, || async { hub_killed(&mut Stage::claude().await?) })
        .test("codex_answers", CODEX, || async { answers(&mut Stage::codex().await?) })
        .test("codex_rejections", CODEX, || async { rejections(&mut Stage::codex().await?) })
        .test("codex_turn_cancelled", CODEX, || async { turn_cancelled(&mut Stage::codex().await?) })
        .test("codex_hub_killed", CODEX, || async { hub_killed(&mut Stage::codex().await?) })
        .test("opencode_answers", OPENCODE, || async { opencode::answers(&mut Stage::opencode().await?) })
        .test("opencode_ends", OPENCODE, || async { opencode::ends(&mut Stage::opencode().await?) })
        .test("opencode_hub_killed", OPENCODE, || async {
            opencode::hub_killed(&mut Stage::opencode().await?)
        })
        .run()
}

/// Single by another surface, several by another surface, own words, and the client's own response; several
/// picks for Claude.
fn answers(stage: &mut Stage) -> Result<()> {
    let claude = stage.agent == "claude";
    let asked = stage.ask("one");
    assert_eq!(asked.question["questions"][0]["question"], "Which auth method?");
    assert_eq!(asked.question["questions"][0]["options"][1]["label"], "Cookies");
    assert_eq!(asked.question["questions"][0]["options"].as_array().unwrap().len(), 3);
    assert_eq!(asked.question["questions"][0]["custom"], true);
    stage.reply(&asked.id, &json!([["Cookies"]]));
    stage.done(asked, &["Cookies"]);

    let asked = stage.ask("two");
    assert_eq!(asked.question["questions"].as_array().unwrap().len(), 2);
    stage.reply(&asked.id, &json!([["OAuth"], ["SQLite"]]));
    stage.done(asked, &["OAuth", "SQLite"]);

    let asked = stage.ask("one");
    stage.reply(&asked.id, &json!([["something else, \"quoted\""]]));
    stage.done(asked, &["something else"]);

    let asked = stage.ask("one");
    let (field, words) = if claude {
        ("question_0", json!({ "question_0_custom": "by the client" }))
    } else {
        ("auth", json!({ "auth": "None of the above", "auth_note": "by the client" }))
    };
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let refused = stage.place.respond(&asked.request, &accept(json!({ field: "not offered" })));
    assert_eq!(refused.0, 400, "{refused:?}");
    let (status, body) = stage.place.respond(&asked.request, &accept(words));
    assert_eq!(status, 202, "{body}");
    assert_eq!(
        askd_testkit::given(&stage.question(&asked.id)["outcome"]["answers"]),
        json!([["by the client"]])
    );
    stage.done(asked, &["by the client"]);
    if claude {
        let asked = stage.ask("multi");
        assert_eq!(asked.question["questions"][0]["multiple"], true);
        let content = json!({ "question_0": ["JWT", "OAuth"] });
        let (status, body) =
            stage.place.respond(&asked.request, &json!({ "action": "accept", "content": content }));
        assert_eq!(status, 202, "{body}");
        stage.done(asked, &["JWT, OAuth"]);
    }
    assert_no_hole(&stage.stream.seen);
    Ok(())
}

/// Decline by the client, cancel by another surface: two different things to the agent.
fn rejections(stage: &mut Stage) -> Result<()> {
    let asked = stage.ask("one");
    let (status, body) = stage.place.respond(&asked.request, &json!({ "action": "decline" }));
    assert_eq!(status, 202, "{body}");
    let id = asked.id.clone();
    let none = r#"{"answers":{}}"#;
    let (wanted, aborted) = match stage.agent {
        "claude" => ("did not answer", "Tool use aborted"),
        // Codex cannot tell them apart.
        _ => (none, none),
    };
    stage.done(asked, &[wanted]);
    assert_eq!(stage.question(&id)["outcome"]["mode"], "decline");

    let asked = stage.ask("one");
    let path = format!("/v1/questions/{}/reject", asked.id);
    let (status, body) = stage.hub.http("POST", &path, Some(&json!({ "mode": "cancel" })))?;
    assert_eq!(status, 200, "{body}");
    let stop = result(&asked.prompted.join().unwrap())["stopReason"].clone();
    let saw = stage.saw();
    assert!(saw.contains(aborted), "{}: the turn ended with {stop}, the model saw {saw:?}", stage.agent);
    eventually("the end of the delivery", || {
        let state = stage.question(&asked.id)["delivery"]["state"].clone();
        (state == "confirmed").then_some(())
    });
    Ok(())
}

/// Asks, and cancels the turn while the question is open; gives the request that it was.
fn ask_and_cancel_the_turn(stage: &mut Stage) -> Value {
    let asked = stage.ask("one");
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": stage.session } });
    assert_eq!(stage.place.post("", &cancel.to_string()).0, 202);
    assert_eq!(result(&asked.prompted.join().unwrap())["stopReason"], "cancelled");
    let question = stage.question(&asked.id);
    assert_eq!(
        (&question["status"], &question["outcome"]["cause"]["type"]),
        (&json!("cancelled"), &json!("turnAborted"))
    );
    asked.request
}

fn turn_cancelled(stage: &mut Stage) -> Result<()> {
    let request = ask_and_cancel_the_turn(stage);
    // A client that obeys the cancellation does no harm; one that answers all the same is told.
    assert_eq!(stage.place.respond(&request, &json!({ "action": "cancel" })).0, 202);
    let key = if stage.agent == "claude" { "question_0" } else { "auth" };
    let late = stage.place.respond(&request, &json!({ "action": "accept", "content": { key: "JWT" } }));
    assert_eq!(late.0, 409, "{late:?}");
    // The agent goes on with the next turn.
    let asked = stage.ask("one");
    stage.reply(&asked.id, &json!([["JWT"]]));
    stage.done(asked, &["JWT"]);
    Ok(())
}

fn hub_killed(stage: &mut Stage) -> Result<()> {
    let asked = stage.ask("one");
    stage.hub.kill()?;
    assert_eq!(asked.prompted.join().unwrap().0, 0, "the connection broke");
    std::thread::sleep(Duration::from_millis(300));
    stage.hub.restart()?;
    let open = stage.questions("requested");
    assert_eq!((open.len(), open[0]["id"].as_str()), (1, Some(asked.id.as_str())));
    let before = stage.stream.rest();
    assert_no_hole(&before);
    stage.stream = stage.place.stream(before.last().map(|event| event.id));
    stage.reply(&asked.id, &json!([["Cookies"]]));
    let ended = stage.stream.until(|event| event.name == "message" && event.data.contains("stopReason"));
    assert_eq!(ended.json()["result"]["stopReason"], "end_turn");
    let saw = stage.saw();
    assert!(saw.contains("Cookies"), "the model saw {saw}");
    assert_eq!(stage.model.tool_results().len(), 1, "the answer arrived once");
    let all: Vec<_> = before.into_iter().chain(stage.stream.seen.clone()).collect();
    assert_no_hole(&all);
    eventually("the evidence", || {
        (stage.question(&asked.id)["delivery"]["state"] == "confirmed").then_some(())
    });
    let id = stage.next_id();
    let (status, body) = stage.place.post("", &prompt(id, &stage.session, "plain words"));
    assert_eq!(status, 200, "{body}");
    Ok(())
}
