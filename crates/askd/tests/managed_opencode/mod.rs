//! How real OpenCode, started by askd, is made to ask: a place of its own, and a scripted model that says
//! what the tests want.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use askd_holder::process;
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::{AgentEnv as _, OpencodeEnv, required};
use reqwest::Method;
use serde_json::{Value, json};

/// How long a call to the server may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

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

    /// A call to the server that has this process, as another client makes it that knows where it listens and
    /// its password.
    pub fn call(&self, pid: &Value, method: Method, path: &str, body: Option<Value>) -> Value {
        let pid = i32::try_from(pid.as_i64().unwrap()).unwrap();
        let password = process::variable(pid, "OPENCODE_SERVER_PASSWORD").unwrap().unwrap();
        let url = format!("http://127.0.0.1:{}{path}", process::listening_ports(pid).unwrap()[0]);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = client.request(method, url).query(&[("directory", self.env.directory())]);
        request = request.basic_auth(OpencodeEnv::USER, Some(&password)).timeout(LIMIT);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = async move { request.send().await?.error_for_status()?.text().await };
        // The tests know no runtime of their own.
        let apart = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(answer)
        });
        serde_json::from_str(&apart.join().unwrap().unwrap()).unwrap_or_default()
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
