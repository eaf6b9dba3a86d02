//! Real ACP agents behind `/v1/acp`, with the scripted model behind them: `claude-agent-acp` with Claude Code and `codex-acp`
//! with Codex. What the model saw as the result of its question is the proof of the whole way.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod acp;

use std::process::ExitCode;
use std::time::Duration;

use acp::{Guarded, Place, Stream, assert_no_hole, eventually, prompt, result};
use anyhow::Result;
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::live::Live;
use askd_testkit::programs::{AgentEnv, ClaudeAgentAcpEnv, CodexAcpEnv, required};
use serde_json::{Value, json};

const CLAUDE: &[&str] = &["claude-agent-acp", "claude"];
const CODEX: &[&str] = &["codex-acp", "codex"];

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
        .run()
}

/// A hub, a real agent behind it, and the model that makes it ask.
struct Stage {
    agent: &'static str,
    model: ScriptedModel,
    hub: Guarded,
    place: Place,
    session: String,
    stream: Stream,
    next: u64,
    _env: Box<dyn AgentEnv>,
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
            if agent == "claude" {
                item["multiSelect"] = json!(multiple);
            } else {
                item["id"] = json!(id);
            }
            item
        })
        .collect();
    let name = if agent == "claude" { "AskUserQuestion" } else { "request_user_input" };
    json!({ "name": name, "args": { "questions": questions } })
}

impl Stage {
    async fn model(agent: &'static str) -> Result<ScriptedModel> {
        let turns = |call: Value| json!([{ "calls": [call] }, { "text": "Thank you." }]);
        let script = json!({ "scenarios": {
            "one": turns(call(agent, 1, false)),
            "two": turns(call(agent, 2, false)),
            "multi": turns(call(agent, 1, true)),
        } });
        Ok(ScriptedModel::start(Script::from_value(script)?).await?)
    }

    async fn claude() -> Result<Self> {
        let model = Self::model("claude").await?;
        let env = ClaudeAgentAcpEnv::new(&model.base_url(), &required("claude")?)?;
        Self::start("claude", "claude-agent-acp", model, Box::new(env))
    }

    async fn codex() -> Result<Self> {
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
        Ok(Self { agent, model, hub, place, session, stream, next: 10, _env: env })
    }

    fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Prompts, and gives the waiting response, the agent's request and askd's question.
    fn ask(&mut self, scenario: &str) -> Asked {
        let id = self.next_id();
        let prompted = self.place.prompt(id, &self.session, &format!("SCENARIO:{scenario} go"));
        let request = self.stream.request("elicitation/create");
        let question = eventually("the open question", || self.questions("requested").pop());
        Asked { prompted, request, id: question["id"].as_str().unwrap_or_default().to_owned(), question }
    }

    fn questions(&self, status: &str) -> Vec<Value> {
        let path = format!("/v1/questions?status={status}&order=asc");
        let (_, list) = self.hub.http("GET", &path, None).unwrap();
        list["questions"].as_array().unwrap().clone()
    }

    fn question(&self, id: &str) -> Value {
        self.hub.http("GET", &format!("/v1/questions/{id}"), None).unwrap().1
    }

    fn reply(&self, id: &str, answers: &Value) {
        let body = json!({ "answers": answers });
        let (status, body) =
            self.hub.http("POST", &format!("/v1/questions/{id}/reply"), Some(&body)).unwrap();
        assert_eq!(status, 200, "{body}");
    }

    /// What the model saw as the result of its last call.
    fn saw(&self) -> String {
        self.model.tool_results().last().map(|result| result.text.clone()).unwrap_or_default()
    }

    fn done(&self, asked: Asked, wanted: &[&str]) {
        assert_eq!(result(&asked.prompted.join().unwrap())["stopReason"], "end_turn");
        let saw = self.saw();
        assert!(wanted.iter().all(|text| saw.contains(text)), "the model saw {saw}");
        eventually("the evidence", || {
            let question = self.question(&asked.id);
            assert_ne!(question["delivery"]["state"], "failed", "{question}");
            (question["delivery"]["state"] == "confirmed").then_some(())
        });
    }
}

struct Asked {
    prompted: std::thread::JoinHandle<(u16, String)>,
    request: Value,
    id: String,
    question: Value,
}

/// Single by another surface, several by another surface, own words, and the client's own response; several picks for Claude.
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
    assert_eq!(stage.question(&asked.id)["outcome"]["answers"], json!([["by the client"]]));
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
    let wanted = if stage.agent == "claude" { "did not answer" } else { "answers" };
    stage.done(asked, &[wanted]);
    assert_eq!(stage.question(&id)["outcome"]["mode"], "decline");

    let asked = stage.ask("one");
    let path = format!("/v1/questions/{}/reject", asked.id);
    let (status, body) = stage.hub.http("POST", &path, Some(&json!({ "mode": "cancel" })))?;
    assert_eq!(status, 200, "{body}");
    let stop = result(&asked.prompted.join().unwrap())["stopReason"].clone();
    eprintln!("{}: after cancel the turn ended with {stop}, the model saw {:?}", stage.agent, stage.saw());
    eventually("the end of the delivery", || {
        let state = stage.question(&asked.id)["delivery"]["state"].clone();
        (state == "confirmed").then_some(())
    });
    Ok(())
}

fn turn_cancelled(stage: &mut Stage) -> Result<()> {
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
    // A client that obeys the cancellation does no harm; one that answers all the same is told.
    assert_eq!(stage.place.respond(&asked.request, &json!({ "action": "cancel" })).0, 202);
    let key = if stage.agent == "claude" { "question_0" } else { "auth" };
    let late = stage.place.respond(&asked.request, &json!({ "action": "accept", "content": { key: "JWT" } }));
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
