//! How real OpenCode, started by askd, is made to ask: a place of its own, and a scripted model that says what the tests want.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::net::{Ipv4Addr, SocketAddr};

use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::{AgentEnv as _, OpencodeEnv, required};
use serde_json::{Value, json};

/// OpenCode in a place of its own, with the scripted model as its model.
pub struct Opencode {
    pub model: ScriptedModel,
    pub env: OpencodeEnv,
}

impl Opencode {
    pub fn playing(script: Value) -> Self {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let model = ScriptedModel::start_on(anywhere, Script::from_value(script).unwrap()).unwrap();
        let env = OpencodeEnv::new(&model.openai_base_url()).unwrap();
        Self { model, env }
    }

    /// Its environment, in which `opencode` is found.
    pub fn environment(&self) -> Vec<(String, String)> {
        let program = required("opencode").unwrap();
        let folder = program.parent().unwrap().display().to_string();
        let with_program = |(name, value): (String, String)| match name.as_str() {
            "PATH" => (name, format!("{folder}:{value}")),
            _ => (name, value),
        };
        self.env.env().into_iter().map(with_program).collect()
    }

    pub fn request(&self, scenario: &str) -> Value {
        let env: serde_json::Map<String, Value> =
            self.environment().into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        let prompt = format!("SCENARIO:{scenario} go");
        json!({ "agent": "opencode", "cwd": self.env.directory(), "prompt": prompt, "env": env })
    }

    /// What its model received for its calls.
    pub fn received(&self) -> String {
        self.model.tool_results().into_iter().map(|result| result.text).collect()
    }
}

pub fn item(question: &str, labels: &[&str], several: bool) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({ "label": label, "description": "d" })).collect();
    json!({ "question": question, "header": "Header", "options": options, "multiple": several })
}

pub fn single_item() -> Value {
    item("Which colour?", &["Red", "Green"], false)
}

pub fn asks(items: &[Value]) -> Value {
    json!({ "name": "question", "args": { "questions": items } })
}

pub fn bash(command: &str) -> Value {
    json!({ "name": "bash", "args": { "command": command, "description": "d" } })
}
