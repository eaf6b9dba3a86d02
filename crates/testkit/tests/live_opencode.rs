//! Real OpenCode: `opencode serve`, asked over its HTTP API, with the scripted model as its provider.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use askd_testkit::model::{Protocol, Script, ScriptedModel};
use askd_testkit::programs::live::Live;
use askd_testkit::programs::{AgentEnv, OpencodeEnv, Running, required};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

const STEP: Duration = Duration::from_secs(40);
/// Between two looks at the list of open questions.
const LOOK: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    Live::new()
        .test("question_is_answered", &["opencode"], answered)
        .test("rejected_question_ends_the_turn_without_a_word_to_the_model", &["opencode"], rejected)
        .run()
}

struct Server {
    model: ScriptedModel,
    url: String,
    directory: String,
    client: Client,
    _opencode: Running,
    _env: OpencodeEnv,
}

impl Server {
    async fn start() -> Result<Self> {
        let options =
            json!([{ "label": "Red", "description": "Warm" }, { "label": "Green", "description": "Cool" }]);
        let questions = json!([
            { "question": "Which colour?", "header": "Colour", "options": options },
            { "question": "Which sizes?", "header": "Sizes", "options": options, "multiple": true },
        ]);
        let ask = json!({ "name": "question", "args": { "questions": questions } });
        let turns = json!([{ "text": "Two questions.", "calls": [ask] }, { "text": "Thank you." }]);
        let model =
            ScriptedModel::start(Script::from_value(json!({ "scenarios": { "ask": turns } }))?).await?;
        let env = OpencodeEnv::new(&model.openai_base_url())?;
        let mut command = env.command(&required("opencode")?);
        command.args(OpencodeEnv::SERVE);
        let mut opencode = Running::start(command)?;
        let url = opencode
            .line("its address", STEP, |line| Some(line.split_once(OpencodeEnv::READY)?.1.trim().to_owned()))
            .await?;
        let directory = env.directory().to_string_lossy().into_owned();
        Ok(Self { model, url, directory, client: Client::new(), _opencode: opencode, _env: env })
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<(StatusCode, Value)> {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .query(&[("directory", &self.directory)])
            .basic_auth(OpencodeEnv::USER, Some(OpencodeEnv::PASSWORD))
            .timeout(STEP);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await?;
        let (status, text) = (response.status(), response.text().await?);
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    /// Prompts a new session and waits for its question: the session's id and the question.
    async fn ask(&self) -> Result<(String, Value)> {
        let (_, session) = self.call(Method::POST, "/session", Some(json!({}))).await?;
        let session = session["id"].as_str().with_context(|| format!("no session: {session}"))?.to_owned();
        let prompt = json!({ "parts": [{ "type": "text", "text": "SCENARIO:ask go" }] });
        let (status, body) =
            self.call(Method::POST, &format!("/session/{session}/prompt_async"), Some(prompt)).await?;
        ensure!(status == StatusCode::NO_CONTENT, "{status}: {body}");
        let look = async {
            loop {
                let (_, list) = self.call(Method::GET, "/question", None).await?;
                if let Some(question) = list.get(0) {
                    return Ok::<_, anyhow::Error>(question.clone());
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let question = tokio::time::timeout(STEP, look).await.context("no question")??;
        assert_eq!(question["sessionID"], session);
        Ok((session, question))
    }

    async fn settle(&self, question: &Value, verb: &str, body: Option<Value>) -> Result<()> {
        let id = question["id"].as_str().context("no question id")?;
        let settled = self.call(Method::POST, &format!("/question/{id}/{verb}"), body).await?;
        assert_eq!(settled, (StatusCode::OK, json!(true)));
        Ok(())
    }

    /// Waits until the turn is over, and gives the session's messages.
    async fn idle(&self, session: &str) -> Result<Value> {
        let look = async {
            loop {
                // First the state, then the messages: the other way round, the last message can come in
                // between.
                let (_, states) = self.call(Method::GET, "/session/status", None).await?;
                if states.get(session).is_none_or(|state| state["type"] == "idle") {
                    let messages = format!("/session/{session}/message");
                    return Ok::<_, anyhow::Error>(self.call(Method::GET, &messages, None).await?.1);
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(STEP, look).await.context("not idle")?
    }
}

async fn answered() -> Result<()> {
    let server = Server::start().await?;
    let (session, question) = server.ask().await?;
    assert_eq!(question["questions"][1]["question"], "Which sizes?");
    let answers = json!({ "answers": [["Red"], ["Red", "Green"]] });
    server.settle(&question, "reply", Some(answers)).await?;

    let results = server.model.tool_results_seen(1, STEP).await?;
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].name.as_deref(), Some("question"));
    assert_eq!(
        results[0].text,
        r#"User has answered your questions: "Which colour?"="Red", "Which sizes?"="Red, Green". You can now continue with the user's answers in mind."#
    );
    assert_eq!(question["tool"]["callID"], results[0].call_id.as_str());
    let messages = server.idle(&session).await?;
    ensure!(messages.to_string().contains("Thank you."), "{messages}");
    let requests = server.model.requests();
    ensure!(requests.iter().all(|request| request.protocol == Protocol::Chat), "{requests:?}");
    Ok(())
}

async fn rejected() -> Result<()> {
    let server = Server::start().await?;
    let (session, question) = server.ask().await?;
    server.settle(&question, "reject", None).await?;
    let messages = server.idle(&session).await?;
    ensure!(messages.to_string().contains("The user dismissed this question"), "{messages}");
    assert_eq!(server.model.tool_results(), []);
    Ok(())
}
