//! How real Claude Code is made to ask: one version in a place of its own, and a scripted model that says what the tests want.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

pub mod answers;
pub mod late;
pub mod roads;

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;

use askd_testkit::model::{Script, ScriptedModel, ToolResult};
use askd_testkit::programs::{AgentEnv as _, ClaudeEnv, required};
use serde_json::{Value, json};

use crate::live::scenes::Cast;
use crate::live::{Stage, eventually};

/// One version of Claude Code in a place of its own, with the scripted model as its model.
pub struct Claude {
    pub model: ScriptedModel,
    pub env: ClaudeEnv,
}

impl Claude {
    pub fn new(program: &str) -> Self {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let model = ScriptedModel::start_on(anywhere, Script::from_value(script()).unwrap()).unwrap();
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

impl Cast for Claude {
    fn session(&self, scene: &str) -> Value {
        self.request(match scene {
            "multi-select" | "several-items" | "two-open-at-once" | "plan" | "permission" => scene,
            _ => "single",
        })
    }

    fn saw(&self, _stage: &Stage, _session: &str) -> String {
        self.model.tool_results().into_iter().map(|result| result.text).collect()
    }
}

fn item(question: &str, labels: &[&str], several: bool) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({ "label": label, "description": "d" })).collect();
    json!({ "question": question, "header": "Header", "options": options, "multiSelect": several })
}

fn asks(items: &[Value]) -> Value {
    json!({ "name": "AskUserQuestion", "args": { "questions": items } })
}

pub fn single_item() -> Value {
    item("Which auth?", &["JWT", "Session cookies"], false)
}

/// Right-to-left text, quotes, commas, line feeds and emoji, in headers of sixty characters.
fn four() -> Vec<Value> {
    let item = |number: usize| {
        let options: Vec<Value> = ["עברית, \"ציטוט\"", "line\nfeed", "🦀, 🐙", "plain"]
            .iter()
            .enumerate()
            .map(|(i, text)| json!({ "label": format!("{i} {text}"), "description": "d" }))
            .collect();
        let question = format!("שאלה {number}?");
        let header = "h".repeat(60);
        json!({ "question": question, "header": header, "options": options, "multiSelect": number % 3 == 1 })
    };
    (1..=4).map(item).collect()
}

fn script() -> Value {
    let single = single_item();
    let several = item("Which of these?", &["Logging", "Metrics, traces", "say \"hi\"", "日本 🦀"], true);
    let second = item("Which \"name\"?\nSecond line", &["x", "y"], false);
    let plan =
        json!({ "name": "Write", "args": { "file_path": "$PLAN_PATH", "content": "# Plan\n\n1. Do A\n" } });
    let plan = json!([{ "calls": [plan] }, { "calls": [{ "name": "ExitPlanMode" }] }, { "text": "Done." }]);
    let bash =
        json!({ "name": "Bash", "args": { "command": "touch made-by-claude", "description": "Make it" } });
    let preview = json!({ "question": "Which layout?", "header": "Layout", "multiSelect": false, "options": [
        { "label": "Grid", "description": "g", "preview": "+-+\n|A|\n+-+" }, { "label": "List", "description": "l" } ] });
    json!({ "scenarios": {
        "single": [{ "text": "One question.", "calls": [asks(std::slice::from_ref(&single))] }, { "text": "Done." }],
        "multi-select": [{ "calls": [asks(std::slice::from_ref(&several))] }, { "text": "Done." }],
        "several-items": [{ "calls": [asks(&[single.clone(), several, second.clone()])] }, { "text": "Done." }],
        "two-open-at-once": [{ "calls": [asks(&[single]), asks(&[second])] }, { "text": "Done." }],
        "talk": [{ "text": "Hello." }],
        "preview": [{ "calls": [asks(&[preview])] }, { "text": "Done." }],
        "plan": plan,
        "four": [{ "calls": [asks(&four())] }, { "text": "Done." }],
        "mcp": [{ "calls": [{ "name": "mcp__elic__ask" }] }, { "text": "Done." }],
        "permission": [{ "calls": [bash] }, { "text": "Done." }],
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
