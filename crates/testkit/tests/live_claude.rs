//! Real Claude Code, three versions, headless, with the test as its permission host and the scripted model as
//! its model.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use askd_testkit::model::{Script, ScriptedModel, ToolResult};
use askd_testkit::programs::live::Live;
use askd_testkit::programs::{AgentEnv, ClaudeEnv, Running, required};
use serde_json::{Value, json};

const STEP: Duration = Duration::from_secs(40);

fn main() -> ExitCode {
    Live::new()
        .test("question_is_answered_2_1_325", &["claude"], || {
            answered("claude", "Your questions have been answered: ")
        })
        .test("question_is_answered_2_1_120", &["claude-2.1.120"], || {
            answered("claude-2.1.120", "User has answered your questions: ")
        })
        .test("question_is_answered_2_0_76", &["claude-2.0.76"], || {
            answered("claude-2.0.76", "User has answered your questions: ")
        })
        .test("denied_question_is_an_error_to_the_model", &["claude"], denied)
        .test("two_questions_of_one_turn_are_answered_in_any_order", &["claude"], parallel)
        .test("plan_is_written_and_approved", &["claude"], planned)
        .test("error_of_the_model_ends_the_turn", &["claude"], failed)
        .run()
}

fn question(text: &str) -> Value {
    let options = json!([
        { "label": "JWT", "description": "Stateless tokens" },
        { "label": "Session cookies", "description": "Server-side sessions" },
    ]);
    json!({ "questions": [{ "question": text, "header": "Auth", "options": options, "multiSelect": false }] })
}

fn ask(text: &str) -> Value {
    json!({ "name": "AskUserQuestion", "args": question(text) })
}

/// A model with one scenario, `it`, and a headless Claude Code that has been prompted to play it.
struct Session {
    model: ScriptedModel,
    claude: Running,
    _env: ClaudeEnv,
}

impl Session {
    async fn start(program: &str, turns: Value, more: &[&str]) -> Result<Self> {
        let model =
            ScriptedModel::start(Script::from_value(json!({ "scenarios": { "it": turns } }))?).await?;
        let env = ClaudeEnv::new(&model.base_url())?;
        let mut command = env.command(&required(program)?);
        command.args(ClaudeEnv::HEADLESS).args(more);
        let mut claude = Running::start(command)?;
        let message = json!({ "role": "user", "content": "SCENARIO:it go" });
        claude.send(&json!({ "type": "user", "message": message })).await?;
        Ok(Self { model, claude, _env: env })
    }

    async fn asked(&mut self, tool: &str) -> Result<Value> {
        let what = format!("a can_use_tool request for {tool}");
        let is_it = |message: &Value| {
            message["type"] == "control_request"
                && message["request"]["subtype"] == "can_use_tool"
                && message["request"]["tool_name"] == tool
        };
        Ok(self.claude.message(&what, STEP, is_it).await?)
    }

    async fn decide(&mut self, request: &Value, decision: Value) -> Result<()> {
        let response =
            json!({ "subtype": "success", "request_id": request["request_id"], "response": decision });
        Ok(self.claude.send(&json!({ "type": "control_response", "response": response })).await?)
    }

    async fn answer(&mut self, request: &Value, label: &str) -> Result<()> {
        let mut input = request["request"]["input"].clone();
        let text = input["questions"][0]["question"].as_str().context("no question text")?.to_owned();
        input["answers"] = json!({ text: label });
        self.decide(request, json!({ "behavior": "allow", "updatedInput": input })).await
    }

    async fn result(&mut self) -> Result<Value> {
        Ok(self.claude.message("the result", STEP, |message| message["type"] == "result").await?)
    }
}

fn seen(results: &[ToolResult]) -> Vec<(&str, &str, bool)> {
    results.iter().map(|r| (r.name.as_deref().unwrap_or("?"), r.text.as_str(), r.is_error)).collect()
}

async fn answered(program: &'static str, opening: &'static str) -> Result<()> {
    let turns = json!([{ "text": "One question.", "calls": [ask("Which auth?")] }, { "text": "Thank you." }]);
    let mut session = Session::start(program, turns, &[]).await?;
    let request = session.asked("AskUserQuestion").await?;
    assert_eq!(request["request"]["input"], question("Which auth?"), "the input comes through untouched");
    session.answer(&request, "Session cookies").await?;
    let result = session.result().await?;
    assert_eq!((&result["result"], &result["is_error"]), (&json!("Thank you."), &json!(false)));

    let results = session.model.tool_results();
    let [(name, text, is_error)] = seen(&results)[..] else { anyhow::bail!("not one result: {results:?}") };
    assert_eq!((name, is_error), ("AskUserQuestion", false));
    assert!(text.starts_with(&format!(r#"{opening}"Which auth?"="Session cookies""#)), "{text}");
    let tools = &session.model.requests().pop().context("no request")?.tools;
    ensure!(tools.iter().any(|tool| tool == "AskUserQuestion"), "the tool is not on offer: {tools:?}");
    let strays: Vec<_> =
        session.model.requests().into_iter().filter(|r| r.reply.is_none()).map(|r| r.path).collect();
    ensure!(strays.is_empty(), "requests that the model does not know: {strays:?}");
    let status = session.claude.end(STEP).await?;
    ensure!(status.success(), "{status}");
    Ok(())
}

async fn denied() -> Result<()> {
    let mut session = Session::start("claude", json!([{ "calls": [ask("Which auth?")] }]), &[]).await?;
    let request = session.asked("AskUserQuestion").await?;
    session.decide(&request, json!({ "behavior": "deny", "message": "Not now, ask Ada." })).await?;
    // Past the end of the script the model says the results back.
    assert_eq!(session.result().await?["result"], "AskUserQuestion failed: Not now, ask Ada.");
    assert_eq!(seen(&session.model.tool_results()), [("AskUserQuestion", "Not now, ask Ada.", true)]);
    Ok(())
}

async fn parallel() -> Result<()> {
    let turns = json!([{ "calls": [ask("First?"), ask("Second?")] }, { "text": "Both." }]);
    let mut session = Session::start("claude", turns, &[]).await?;
    let first = session.asked("AskUserQuestion").await?;
    let second = session.asked("AskUserQuestion").await?;
    session.answer(&second, "JWT").await?;
    session.answer(&first, "Session cookies").await?;
    assert_eq!(session.result().await?["result"], "Both.");
    let results = session.model.tool_results();
    assert_eq!(results.len(), 2);
    assert!(results[0].text.contains(r#""First?"="Session cookies""#), "{results:?}");
    assert!(results[1].text.contains(r#""Second?"="JWT""#), "{results:?}");
    Ok(())
}

async fn planned() -> Result<()> {
    let plan = "# Plan\n\n1. Do A\n";
    let write = json!({ "name": "Write", "args": { "file_path": "$PLAN_PATH", "content": plan } });
    let turns = json!([
        { "calls": [write] },
        { "text": "Ready.", "calls": [{ "name": "ExitPlanMode" }] },
        { "text": "Started." },
    ]);
    let mut session = Session::start("claude", turns, &["--permission-mode", "plan"]).await?;
    let request = session.asked("ExitPlanMode").await?;
    assert_eq!(request["request"]["input"]["plan"], plan);
    let input = request["request"]["input"].clone();
    session.decide(&request, json!({ "behavior": "allow", "updatedInput": input })).await?;
    assert_eq!(session.result().await?["result"], "Started.");
    let results = session.model.tool_results();
    let [("Write", _, false), ("ExitPlanMode", text, false)] = seen(&results)[..] else {
        anyhow::bail!("not as planned: {results:?}");
    };
    assert!(text.contains("approved your plan") && text.contains("1. Do A"), "{text}");
    Ok(())
}

async fn failed() -> Result<()> {
    let error = json!({ "status": 400, "body": {
        "type": "error", "error": { "type": "invalid_request_error", "message": "scripted refusal" } } });
    let mut session = Session::start("claude", json!([{ "error": error }]), &[]).await?;
    let result = session.result().await?;
    assert_eq!(result["is_error"], true);
    ensure!(result["result"].as_str().is_some_and(|text| text.contains("scripted refusal")), "{result}");
    Ok(())
}
