//! Real ACP agents behind `/v1/acp`: `claude-agent-acp` with Claude Code, `codex-acp` with Codex and
//! `opencode acp`, each in a place of its own and with the scripted model as its model.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use anyhow::Result;
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::{AgentEnv, ClaudeAgentAcpEnv, CodexAcpEnv, OpencodeEnv, required};
use serde_json::{Value, json};

use crate::acp::{self, EXTENSION, Guarded, Place, Stream, eventually, result};

/// The programs that they need.
pub const CLAUDE: &[&str] = &["claude-agent-acp", "claude"];
pub const CODEX: &[&str] = &["codex-acp", "codex"];
pub const OPENCODE: &[&str] = &["opencode"];

/// The request by which Claude and Codex ask; of OpenCode's questions askd makes requests of the extension.
pub const ELICITATION: &str = "elicitation/create";
/// How long the model thinks before it asks in `late`: a hub can be killed meanwhile.
const THINKS_MS: u64 = 1500;

/// A hub, a real agent behind it, and the model that makes it ask.
pub struct Stage {
    pub agent: &'static str,
    pub model: ScriptedModel,
    pub hub: Guarded,
    pub place: Place,
    pub session: String,
    pub stream: Stream,
    next: u64,
    env: Box<dyn AgentEnv>,
}

fn options(labels: &[&str]) -> Value {
    labels
        .iter()
        .map(|label| json!({ "label": label, "description": format!("{label}, described") }))
        .collect()
}

/// Two items, of which `count` are asked, in the words of the agent's own tool.
fn call(agent: &str, count: usize, multiple: bool) -> Value {
    let items = [
        ("auth", "Auth", "Which auth method?", ["JWT", "Cookies", "OAuth"]),
        ("db", "Database", "Which database?", ["Postgres", "SQLite", "None"]),
    ];
    let questions: Vec<Value> = items[..count]
        .iter()
        .map(|(id, header, question, labels)| {
            let mut item = json!({ "question": question, "header": header, "options": options(labels) });
            match agent {
                "claude" => item["multiSelect"] = json!(multiple),
                "opencode" => item["multiple"] = json!(multiple),
                _ => item["id"] = json!(id),
            }
            item
        })
        .collect();
    let name = match agent {
        "claude" => "AskUserQuestion",
        "opencode" => "question",
        _ => "request_user_input",
    };
    json!({ "name": name, "args": { "questions": questions } })
}

impl Stage {
    async fn model(agent: &'static str) -> Result<ScriptedModel> {
        let turns = |call: Value| json!([{ "calls": [call] }, { "text": "Thank you." }]);
        // OpenCode's own: a permission, and a subagent that asks.
        let bash = json!({ "name": "bash", "args": { "command": "echo hello", "description": "d" } });
        let task = json!({ "name": "task", "args": {
            "description": "sub", "prompt": "SCENARIO:one go", "subagent_type": "asker" } });
        let script = json!({ "scenarios": {
            "one": turns(call(agent, 1, false)),
            "two": turns(call(agent, 2, false)),
            "multi": turns(call(agent, 1, true)),
            "late": [{ "delay_ms": THINKS_MS, "calls": [call(agent, 1, false)] }, { "text": "Thank you." }],
            "permission": turns(bash),
            "subagent": turns(task),
        } });
        Ok(ScriptedModel::start(Script::from_value(script)?).await?)
    }

    pub async fn claude() -> Result<Self> {
        let model = Self::model("claude").await?;
        let env = ClaudeAgentAcpEnv::new(&model.base_url(), &required("claude")?)?;
        Self::start("claude", "claude-agent-acp", model, Box::new(env))
    }

    pub async fn codex() -> Result<Self> {
        let model = Self::model("codex").await?;
        let env = CodexAcpEnv::new(&model.openai_base_url(), &required("codex")?)?;
        let mut stage = Self::start("codex", "codex-acp", model, Box::new(env))?;
        // Codex asks in plan mode only.
        let params = json!({ "sessionId": stage.session, "configId": "collaboration_mode", "value": "plan" });
        let id = stage.next_id();
        let plan =
            json!({ "jsonrpc": "2.0", "id": id, "method": "session/set_config_option", "params": params });
        result(&stage.place.post("", &plan.to_string()));
        Ok(stage)
    }

    pub async fn opencode() -> Result<Self> {
        let model = Self::model("opencode").await?;
        let env = OpencodeEnv::new(&model.openai_base_url())?;
        Self::start("opencode", "opencode", model, Box::new(env))
    }

    fn start(
        agent: &'static str,
        program: &str,
        model: ScriptedModel,
        env: Box<dyn AgentEnv>,
    ) -> Result<Self> {
        let program = required(program)?;
        let folder = program.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let mut hub = acp::builder();
        for (name, value) in env.env() {
            let value = if name == "PATH" { format!("{folder}:{value}") } else { value };
            hub = hub.env(name, value);
        }
        let hub = acp::start(hub);
        let place = Place::new(&hub, "live");
        let session = place.open(agent, &env.cwd().to_string_lossy());
        let stream = place.stream(None);
        Ok(Self { agent, model, hub, place, session, stream, next: 10, env })
    }

    pub fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Prompts, and gives the waiting response, the agent's request and askd's question.
    pub fn ask(&mut self, scenario: &str) -> Asked {
        self.ask_by(if self.agent == "opencode" { EXTENSION } else { ELICITATION }, scenario)
    }

    /// The same by a request of another method.
    pub fn ask_by(&mut self, method: &str, scenario: &str) -> Asked {
        let prompted = self.prompt(scenario);
        let request = self.stream.request(method);
        let question = eventually("the open question", || self.questions("requested").pop());
        Asked { prompted, request, id: question["id"].as_str().unwrap_or_default().to_owned(), question }
    }

    pub fn prompt(&mut self, scenario: &str) -> std::thread::JoinHandle<(u16, String)> {
        let id = self.next_id();
        self.place.prompt(id, &self.session, &format!("SCENARIO:{scenario} go"))
    }

    /// One more session in the same folder.
    pub fn open_another(&mut self) -> String {
        let id = self.next_id();
        self.place.new_session(id, &self.env.cwd().to_string_lossy())
    }

    pub fn questions(&self, status: &str) -> Vec<Value> {
        let path = format!("/v1/questions?status={status}&order=asc");
        let (_, list) = self.hub.http("GET", &path, None).unwrap();
        list["questions"].as_array().unwrap().clone()
    }

    pub fn question(&self, id: &str) -> Value {
        self.hub.http("GET", &format!("/v1/questions/{id}"), None).unwrap().1
    }

    pub fn reply(&self, id: &str, answers: &Value) {
        let body = json!({ "answers": answers });
        let (status, body) =
            self.hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(&body)).unwrap();
        assert_eq!(status, 200, "{body}");
    }

    /// What the model saw as the result of its last call.
    pub fn saw(&self) -> String {
        self.model.tool_results().last().map(|result| result.text.clone()).unwrap_or_default()
    }

    pub fn done(&self, asked: Asked, wanted: &[&str]) {
        assert_eq!(result(&asked.prompted.join().unwrap())["stopReason"], "end_turn");
        let saw = self.saw();
        assert!(wanted.iter().all(|text| saw.contains(text)), "the model saw {saw}");
        self.confirmed(&asked.id);
    }

    pub fn confirmed(&self, id: &str) {
        eventually("the evidence", || {
            let question = self.question(id);
            assert_ne!(question["delivery"]["state"], "failed", "{question}");
            (question["delivery"]["state"] == "confirmed").then_some(())
        });
    }
}

pub struct Asked {
    pub prompted: std::thread::JoinHandle<(u16, String)>,
    pub request: Value,
    pub id: String,
    pub question: Value,
}
