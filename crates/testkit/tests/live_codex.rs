//! Real Codex: `codex app-server` over stdio, with the scripted model as its provider.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::live::Live;
use askd_testkit::programs::{AgentEnv, CodexEnv, Running, required};
use serde_json::{Value, json};

const STEP: Duration = Duration::from_secs(40);

fn main() -> ExitCode {
    Live::new()
        .test("question_in_plan_mode_is_answered", &["codex"], || {
            plan_mode(json!(["SQLite", "user_note: v3"]))
        })
        .test("question_with_no_answer_goes_on", &["codex"], || plan_mode(Value::Null))
        .test("question_in_default_mode_is_refused", &["codex"], default_mode)
        .run()
}

struct Session {
    model: ScriptedModel,
    codex: Running,
    _env: CodexEnv,
}

impl Session {
    /// Starts the app-server, opens a thread and prompts it in the given mode.
    async fn start(mode: &str) -> Result<Self> {
        let options = json!([
            { "label": "Postgres (Recommended)", "description": "Robust" },
            { "label": "SQLite", "description": "Simple" },
        ]);
        let questions =
            json!([{ "id": "db", "header": "Database", "question": "Which database?", "options": options }]);
        let ask = json!({ "name": "request_user_input", "args": { "questions": questions } });
        let turns = json!([{ "text": "One question.", "calls": [ask] }, { "text": "Thank you." }]);
        let model =
            ScriptedModel::start(Script::from_value(json!({ "scenarios": { "ask": turns } }))?).await?;
        let env = CodexEnv::new(&model.openai_base_url())?;
        let mut command = env.command(&required("codex")?);
        command.arg("app-server");
        let codex = Running::start(command)?;
        let cwd = env.cwd().to_string_lossy().into_owned();
        let mut session = Self { model, codex, _env: env };

        let client = json!({ "name": "askd-test", "title": "askd test", "version": "0" });
        let capabilities = json!({ "experimentalApi": true, "requestAttestation": false });
        session.call(0, "initialize", json!({ "clientInfo": client, "capabilities": capabilities })).await?;
        session.codex.send(&json!({ "method": "initialized" })).await?;
        let start = json!({ "cwd": cwd, "model": CodexEnv::MODEL, "modelProvider": CodexEnv::PROVIDER });
        let thread = session.call(1, "thread/start", start).await?["thread"]["id"].clone();
        let input = json!([{ "type": "text", "text": "SCENARIO:ask go", "text_elements": [] }]);
        let settings =
            json!({ "model": CodexEnv::MODEL, "reasoning_effort": null, "developer_instructions": null });
        let mode = json!({ "mode": mode, "settings": settings });
        session
            .call(2, "turn/start", json!({ "threadId": thread, "input": input, "collaborationMode": mode }))
            .await?;
        Ok(session)
    }

    async fn call(&mut self, id: u64, method: &str, params: Value) -> Result<Value> {
        self.codex.send(&json!({ "id": id, "method": method, "params": params })).await?;
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        let reply = self.codex.message(&format!("the reply to {method}"), STEP, is_it).await?;
        reply.get("result").cloned().with_context(|| format!("{method}: {reply}"))
    }

    async fn notified(&mut self, method: &str) -> Result<Value> {
        Ok(self.codex.message(method, STEP, |message| message["method"] == method).await?)
    }

    /// The end of the turn, and the one thing that the model saw.
    async fn ended(&mut self) -> Result<(Value, String)> {
        let done = self.notified("turn/completed").await?;
        let mut results = self.model.tool_results();
        ensure!(results.len() == 1, "not one result: {results:?}");
        let result = results.remove(0);
        assert_eq!(result.name.as_deref(), Some("request_user_input"));
        Ok((done["params"]["turn"]["status"].clone(), result.text))
    }
}

/// With no answers the host replies with an empty map, which is Codex's only form of "no answer".
async fn plan_mode(answers: Value) -> Result<()> {
    let answers = if answers.is_null() { json!({}) } else { json!({ "db": { "answers": answers } }) };
    let mut session = Session::start("plan").await?;
    let asked = session.notified("item/tool/requestUserInput").await?;
    assert_eq!(asked["params"]["questions"][0]["question"], "Which database?");
    assert_eq!(asked["params"]["isBlocking"], true);
    session.codex.send(&json!({ "id": asked["id"], "result": { "answers": answers } })).await?;
    session.notified("serverRequest/resolved").await?;
    let (status, text) = session.ended().await?;
    assert_eq!(status, "completed");
    assert_eq!(serde_json::from_str::<Value>(&text)?, json!({ "answers": answers }));
    Ok(())
}

async fn default_mode() -> Result<()> {
    let mut session = Session::start("default").await?;
    let (status, text) = session.ended().await?;
    assert_eq!(
        (status, text.as_str()),
        (json!("completed"), "request_user_input is unavailable in Default mode")
    );
    Ok(())
}
