//! How real Claude Code is made to ask: one version in a place of its own, and a scripted model that says
//! what the tests want.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

pub mod answers;
pub mod hard;
pub mod late;
pub mod roads;

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;

use askd_testkit::model::{Script, ScriptedModel, ToolResult};
use askd_testkit::programs::{AgentEnv as _, ClaudeEnv, required};
use serde_json::{Value, json};

use crate::live::{Stage, eventually};

/// An MCP server, as small as it can be, that asks with a form and repeats what it was given.
const ASKING_SERVER: &str = r#"
const say = m => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
let call;
require("readline").createInterface({ input: process.stdin }).on("line", line => {
  const m = JSON.parse(line);
  if (m.method === "initialize")
    say({ id: m.id, result: { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "elic", version: "1" } } });
  else if (m.method === "tools/list")
    say({ id: m.id, result: { tools: [{ name: "ask", description: "asks", inputSchema: { type: "object", properties: {} } }] } });
  else if (m.method === "tools/call") {
    call = m.id;
    const requestedSchema = { type: "object", properties: { color: { type: "string", enum: ["red", "blue"] }, count: { type: "integer" } }, required: ["color"] };
    say({ id: 1, method: "elicitation/create", params: { message: "Which color?", requestedSchema } });
  } else if (m.id === 1 && !m.method)
    say({ id: call, result: { content: [{ type: "text", text: "given: " + JSON.stringify(m.result) }] } });
  else if (m.id !== undefined && m.method) say({ id: m.id, result: {} });
});
"#;

/// One version of Claude Code in a place of its own, with the scripted model as its model.
pub struct Claude {
    pub model: ScriptedModel,
    pub env: ClaudeEnv,
}

impl Claude {
    pub fn new(program: &str) -> Self {
        Self::playing(program, script())
    }

    /// With a model that says what this script says.
    pub fn playing(program: &str, script: Value) -> Self {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let model = ScriptedModel::start_on(anywhere, Script::from_value(script).unwrap()).unwrap();
        let env = ClaudeEnv::new(&model.base_url()).unwrap();
        // A folder in which this version is called `claude`.
        let bin = env.place().home().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", required(program).unwrap().display());
        std::fs::write(bin.join("claude"), text).unwrap();
        std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { model, env }
    }

    pub fn request(&self, scenario: &str) -> Value {
        let mut env: serde_json::Map<String, Value> =
            self.env.env().into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        let path = env.get("PATH").and_then(Value::as_str).unwrap_or_default().to_owned();
        let bin = self.env.place().home().join("bin");
        env.insert("PATH".to_owned(), Value::from(format!("{}:{path}", bin.display())));
        let args: &[&str] = if scenario.starts_with("plan") { &["--permission-mode", "plan"] } else { &[] };
        let prompt = format!("SCENARIO:{scenario} go");
        json!({ "agent": "claude", "cwd": self.env.cwd(), "prompt": prompt, "args": args, "env": env })
    }

    /// With an MCP server whose only tool asks for a form.
    pub fn request_with_mcp(&self, scenario: &str) -> Value {
        let server = self.env.place().seed("server.js", ASKING_SERVER).unwrap();
        let server = json!({ "command": required("node").unwrap(), "args": [server] });
        let config = json!({ "mcpServers": { "elic": server } });
        let mut request = self.request(scenario);
        request["args"] = json!(["--mcp-config", config.to_string(), "--allowedTools", "mcp__elic__ask"]);
        request
    }

    pub fn results(&self, count: usize) -> Vec<ToolResult> {
        eventually(&format!("{count} tool results at the model"), || {
            Some(self.model.tool_results()).filter(|results| results.len() >= count)
        })
    }

    /// What the model received for the last call.
    pub fn told(&self, count: usize) -> (String, bool) {
        let last = self.results(count).pop().unwrap();
        (last.text, last.is_error)
    }
}

pub fn item(question: &str, labels: &[&str], several: bool) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({ "label": label, "description": "d" })).collect();
    json!({ "question": question, "header": "Header", "options": options, "multiSelect": several })
}

pub fn asks(items: &[Value]) -> Value {
    json!({ "name": "AskUserQuestion", "args": { "questions": items } })
}

pub fn single_item() -> Value {
    item("Which auth?", &["JWT", "Session cookies"], false)
}

/// It writes a plan and asks for its approval.
pub fn plan() -> Value {
    let [write, ask] = planning();
    json!([write, ask, { "text": "Done." }])
}

fn planning() -> [Value; 2] {
    let write =
        json!({ "name": "Write", "args": { "file_path": "$PLAN_PATH", "content": "# Plan\n\n1. Do A\n" } });
    [json!({ "calls": [write] }), json!({ "calls": [{ "name": "ExitPlanMode" }] })]
}

/// After its plan it writes a file, which needs a permission unless edits are taken as read.
fn plan_then_write() -> Value {
    let [write, ask] = planning();
    let work = json!({ "name": "Write", "args": { "file_path": "made-by-claude", "content": "x" } });
    json!([write, ask, { "calls": [work] }, { "text": "Done." }])
}

/// A command that needs a permission.
pub fn bash() -> Value {
    json!({ "name": "Bash", "args": { "command": "touch made-by-claude", "description": "Make it" } })
}

fn script() -> Value {
    let single = single_item();
    let several = item("Which of these?", &["Logging", "Metrics, traces", "say \"hi\"", "日本 🦀"], true);
    let second = item("Which \"name\"?\nSecond line", &["x", "y"], false);
    let preview = json!({ "question": "Which layout?", "header": "Layout", "multiSelect": false, "options": [
        { "label": "Grid", "description": "g", "preview": "+-+\n|A|\n+-+" }, { "label": "List", "description": "l" } ] });
    json!({ "scenarios": {
        "single": [{ "text": "One question.", "calls": [asks(std::slice::from_ref(&single))] }, { "text": "Done." }],
        "multi-select": [{ "calls": [asks(std::slice::from_ref(&several))] }, { "text": "Done." }],
        "several-items": [{ "calls": [asks(&[single.clone(), several, second.clone()])] }, { "text": "Done." }],
        "two-open-at-once": [{ "calls": [asks(&[single]), asks(&[second])] }, { "text": "Done." }],
        "talk": [{ "text": "Hello." }],
        "preview": [{ "calls": [asks(&[preview])] }, { "text": "Done." }],
        "plan": plan(),
        "plan-then-write": plan_then_write(),
        "four": [{ "calls": [asks(&hard::four())] }, { "text": "Done." }],
        "mcp": [{ "calls": [{ "name": "mcp__elic__ask" }] }, { "text": "Done." }],
        "permission": [{ "calls": [bash()] }, { "text": "Done." }],
    } })
}

/// Starts a session in a hub of its own, and gives the id of its question.
pub fn asked(claude: &Claude, scenario: &str) -> (Stage, String, String) {
    let stage = Stage::new();
    let session = stage.start(&claude.request(scenario));
    let id = stage.open_question(&session);
    (stage, session, id)
}

/// Says something to a session and gives the id of the question that comes of it.
pub fn say(stage: &Stage, session: &str, scenario: &str) -> String {
    let say = json!({ "text": format!("SCENARIO:{scenario} go") });
    let (status, problem) =
        stage.hub.http("POST", &format!("/v1/sessions/{session}/messages"), Some(&say)).unwrap();
    assert_eq!(status, 202, "{problem}");
    stage.open_question(session)
}
