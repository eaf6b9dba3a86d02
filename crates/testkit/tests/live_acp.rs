//! Real ACP agents, `claude-agent-acp` and `codex-acp`, with the scripted model behind them: a question of
//! the model reaches the client as `elicitation/create`, and the client's answer reaches the model.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::live::Live;
use askd_testkit::programs::{AgentEnv, ClaudeAgentAcpEnv, CodexAcpEnv, Running, required};
use serde_json::{Value, json};

const STEP: Duration = Duration::from_secs(40);

fn main() -> ExitCode {
    Live::new()
        .test("claude_agent_acp_elicits", &["claude-agent-acp", "claude"], claude)
        .test("codex_acp_elicits", &["codex-acp", "codex"], codex)
        .run()
}

/// One JSON-RPC peer on the lines of a program.
struct Peer {
    agent: Running,
    next_id: u64,
}

impl Peer {
    fn start(env: &impl AgentEnv, program: &str) -> Result<Self> {
        Ok(Self { agent: Running::start(env.command(&required(program)?))?, next_id: 0 })
    }

    async fn send(&mut self, method: &str, params: Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.agent.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        Ok(id)
    }

    async fn reply(&mut self, id: u64) -> Result<Value> {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        let reply = self.agent.message(&format!("the reply to request {id}"), STEP, is_it).await?;
        reply.get("result").cloned().with_context(|| reply.to_string())
    }

    async fn open(&mut self, cwd: &str) -> Result<Value> {
        let capabilities = json!({ "elicitation": { "form": {} } });
        let client = json!({ "name": "askd-test", "version": "0" });
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": client });
        let id = self.send("initialize", hello).await?;
        self.reply(id).await?;
        let id = self.send("session/new", json!({ "cwd": cwd, "mcpServers": [] })).await?;
        Ok(self.reply(id).await?["sessionId"].clone())
    }

    /// Prompts, answers the one elicitation, and gives its form.
    async fn play(&mut self, session: &Value, content: Value) -> Result<Value> {
        let prompt = json!([{ "type": "text", "text": "SCENARIO:ask go" }]);
        let prompted = self.send("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await?;
        let is_it = |message: &Value| message["method"] == "elicitation/create";
        let asked = self.agent.message("elicitation/create", STEP, is_it).await?;
        let result = json!({ "action": "accept", "content": content });
        self.agent.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await?;
        assert_eq!(self.reply(prompted).await?["stopReason"], "end_turn");
        Ok(asked["params"]["requestedSchema"]["properties"].clone())
    }
}

async fn model(call: Value) -> Result<ScriptedModel> {
    let turns = json!([{ "calls": [call] }, { "text": "Thank you." }]);
    Ok(ScriptedModel::start(Script::from_value(json!({ "scenarios": { "ask": turns } }))?).await?)
}

async fn claude() -> Result<()> {
    let options = json!([{ "label": "JWT", "description": "a" }, { "label": "Cookies", "description": "b" }]);
    let questions =
        json!([{ "question": "Which auth?", "header": "Auth", "options": options, "multiSelect": false }]);
    let model = model(json!({ "name": "AskUserQuestion", "args": { "questions": questions } })).await?;
    let env = ClaudeAgentAcpEnv::new(&model.base_url(), &required("claude")?)?;
    let mut peer = Peer::start(&env, "claude-agent-acp")?;
    let session = peer.open(&env.cwd().to_string_lossy()).await?;
    let form = peer.play(&session, json!({ "question_0": "Cookies" })).await?;
    assert_eq!(form["question_0"]["oneOf"][1]["const"], "Cookies");
    let results = model.tool_results();
    ensure!(results.len() == 1 && results[0].text.contains(r#""Which auth?"="Cookies""#), "{results:?}");
    Ok(())
}

async fn codex() -> Result<()> {
    let options =
        json!([{ "label": "Postgres", "description": "a" }, { "label": "SQLite", "description": "b" }]);
    let questions =
        json!([{ "id": "db", "header": "Database", "question": "Which database?", "options": options }]);
    let model = model(json!({ "name": "request_user_input", "args": { "questions": questions } })).await?;
    let env = CodexAcpEnv::new(&model.openai_base_url(), &required("codex")?)?;
    let mut peer = Peer::start(&env, "codex-acp")?;
    let session = peer.open(&env.cwd().to_string_lossy()).await?;
    let plan = json!({ "sessionId": session, "configId": "collaboration_mode", "value": "plan" });
    let id = peer.send("session/set_config_option", plan).await?;
    peer.reply(id).await?;
    let form = peer.play(&session, json!({ "db": "SQLite" })).await?;
    assert_eq!(form["db"]["title"], "Which database?");
    let results = model.tool_results();
    ensure!(results.len() == 1, "{results:?}");
    assert_eq!(
        serde_json::from_str::<Value>(&results[0].text)?,
        json!({ "answers": { "db": { "answers": ["SQLite"] } } })
    );
    Ok(())
}
