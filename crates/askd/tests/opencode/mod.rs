//! A hub attached to a real OpenCode server whose model is scripted. Everything waits with a limit and ends
//! with the test.

pub mod passwords;
mod proxy;
pub mod rows;
pub mod servers;
pub mod wires;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use askd_testkit::hub::{Hub, HubBuilder};
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::{AgentEnv, OpencodeEnv, Running, required};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

const STEP: Duration = Duration::from_secs(40);
const LOOK: Duration = Duration::from_millis(50);

fn script() -> Result<Script> {
    let options =
        json!([{ "label": "Red", "description": "Warm" }, { "label": "Green", "description": "Cool" }]);
    let item = |question: &str, multiple: bool| json!({ "question": question, "header": "Colour", "options": options, "multiple": multiple });
    let call = |items: Value| json!({ "name": "question", "args": { "questions": items } });
    let bash = |command: &str| json!({ "name": "bash", "args": { "command": command, "description": "d" } });
    let thanks = json!({ "text": "Thank you." });
    let asker = json!({ "name": "task", "args": {
        "description": "sub", "prompt": "SCENARIO:single go", "subagent_type": "asker" } });
    Ok(Script::from_value(json!({ "scenarios": {
        "single": [{ "text": "One question.", "calls": [call(json!([item("Which colour?", false)]))] }, thanks],
        "several": [{ "calls": [call(json!([item("Which colour?", false), item("Which sizes?", true)]))] }, thanks],
        "bash": [{ "calls": [bash("echo hi")] }, thanks],
        "two-bash": [{ "calls": [bash("echo a"), bash("ls /")] }, thanks],
        "two-echoes": [{ "calls": [bash("echo a"), bash("echo b")] }, thanks],
        "two-questions": [{ "calls": [call(json!([item("Which colour?", false)])), call(json!([item("Which sizes?", true)]))] }, thanks],
        "question-and-bash": [{ "calls": [call(json!([item("Which colour?", false)])), bash("ls /")] }, thanks],
        "plan": [{ "calls": [{ "name": "plan_exit", "args": {} }] }, thanks],
        "subagent": [{ "calls": [asker] }, thanks],
    } }))?)
}

pub struct Stage {
    pub hub: Hub,
    pub model: ScriptedModel,
    pub url: String,
    pub directory: String,
    pub other: String,
    client: Client,
    server: Option<Running>,
    env: OpencodeEnv,
    /// Whether the server has a password.
    guarded: bool,
    /// What else its environment has.
    variables: &'static [(&'static str, &'static str)],
}

impl Stage {
    /// A server and a hub that is attached to it.
    pub async fn start() -> Result<Self> {
        let stage = Self::apart().await?;
        stage.attach()?;
        stage.source_is("connected").await?;
        Ok(stage)
    }

    /// A server and a hub that do not know each other.
    pub async fn apart() -> Result<Self> {
        Self::with(true, |hub| hub).await
    }

    /// A server whose agent can leave its plan mode, with a hub that is attached to it.
    pub async fn planning() -> Result<Self> {
        let stage = Self::with_server(true, &[("OPENCODE_EXPERIMENTAL_PLAN_MODE", "1")], |hub| hub).await?;
        stage.attach()?;
        stage.source_is("connected").await?;
        Ok(stage)
    }

    async fn with(guarded: bool, how: impl FnOnce(HubBuilder) -> HubBuilder) -> Result<Self> {
        Self::with_server(guarded, &[], how).await
    }

    async fn with_server(
        guarded: bool,
        variables: &'static [(&'static str, &'static str)],
        how: impl FnOnce(HubBuilder) -> HubBuilder,
    ) -> Result<Self> {
        let model = ScriptedModel::start(script()?).await?;
        let env = OpencodeEnv::new(&model.openai_base_url())?;
        let directory = env.directory().to_string_lossy().into_owned();
        let other: PathBuf = env.directory().with_file_name("other");
        std::fs::create_dir(&other)?;
        std::fs::copy(env.directory().join("opencode.json"), other.join("opencode.json"))?;
        // Where it looks for servers, it is not to find those of whoever runs the tests.
        let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("ASKD_LOG", "info");
        let hub = how(hub.arg("--discovery-home").arg(env.home())).start()?;
        let mut stage = Self {
            hub,
            model,
            url: String::new(),
            directory,
            other: other.to_string_lossy().into_owned(),
            client: Client::builder().no_proxy().build()?,
            server: None,
            env,
            guarded,
            variables,
        };
        stage.serve("0").await?;
        Ok(stage)
    }

    async fn serve(&mut self, port: &str) -> Result<()> {
        let mut command = self.env.command(&required("opencode")?);
        command.args(["serve", "--hostname", "127.0.0.1", "--port", port]);
        command.envs(self.variables.iter().copied());
        if !self.guarded {
            command.env_remove("OPENCODE_SERVER_PASSWORD");
        }
        let mut server = Running::start(command)?;
        let address = |line: &str| Some(line.split_once(OpencodeEnv::READY)?.1.trim().to_owned());
        self.url = server.line("its address", STEP, address).await?;
        self.server = Some(server);
        Ok(())
    }

    /// SIGKILL, and the same server again on the same port.
    pub async fn kill_server_and_start_again(&mut self) -> Result<()> {
        self.server = None;
        let port = self.url.rsplit(':').next().context("no port")?.to_owned();
        self.source_is("lost").await?;
        self.serve(&port).await
    }

    pub fn attach(&self) -> Result<Value> {
        self.attach_at(&self.url)
    }

    pub fn attach_at(&self, url: &str) -> Result<Value> {
        let body = json!({ "kind": "opencode", "url": url, "password": OpencodeEnv::PASSWORD });
        let (status, source) = self.hub.http("POST", "/v1/sources", Some(&body))?;
        ensure!(status == 201, "{source}");
        ensure!(!source.to_string().contains(OpencodeEnv::PASSWORD), "the password is shown");
        Ok(source)
    }

    pub async fn source_is(&self, state: &str) -> Result<Value> {
        self.eventually(&format!("a source that is {state}"), || {
            let (_, list) = self.hub.http("GET", "/v1/sources", None)?;
            Ok(Some(list["sources"][0].clone()).filter(|source| source["state"] == state))
        })
        .await
    }

    pub async fn eventually<T>(&self, what: &str, look: impl Fn() -> Result<Option<T>>) -> Result<T> {
        let end = Instant::now() + STEP;
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            if Instant::now() > end {
                let (_, all) = self.hub.http("GET", "/v1/questions", None)?;
                bail!("not seen: {what}\n{all}\n{}", self.hub.log());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A call to OpenCode itself, as another client of it makes it.
    pub async fn opencode(&self, method: Method, path: &str, body: Option<Value>) -> Result<(u16, Value)> {
        self.opencode_in(&self.directory, method, path, body).await
    }

    pub async fn opencode_in(
        &self,
        directory: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(u16, Value)> {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .query(&[("directory", directory)][..usize::from(!directory.is_empty())])
            .basic_auth(OpencodeEnv::USER, Some(OpencodeEnv::PASSWORD))
            .timeout(STEP);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await?;
        let (status, text) = (response.status().as_u16(), response.text().await?);
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    /// Prompts a new session of OpenCode; gives its id.
    pub async fn prompt(&self, scenario: &str) -> Result<String> {
        self.prompt_in(&self.directory, scenario).await
    }

    pub async fn prompt_in(&self, directory: &str, scenario: &str) -> Result<String> {
        let session = self.new_session_in(directory).await?;
        self.prompt_session_in(directory, &session, scenario).await?;
        Ok(session)
    }

    pub async fn new_session_in(&self, directory: &str) -> Result<String> {
        let (_, session) = self.opencode_in(directory, Method::POST, "/session", Some(json!({}))).await?;
        Ok(session["id"].as_str().with_context(|| format!("no session: {session}"))?.to_owned())
    }

    pub async fn prompt_session_in(&self, directory: &str, session: &str, scenario: &str) -> Result<()> {
        let prompt = json!({ "parts": [{ "type": "text", "text": format!("SCENARIO:{scenario} go") }] });
        let path = format!("/session/{session}/prompt_async");
        let (status, body) = self.opencode_in(directory, Method::POST, &path, Some(prompt)).await?;
        ensure!(status == StatusCode::NO_CONTENT, "{status}: {body}");
        Ok(())
    }

    /// The open questions of askd, when there are so many.
    pub async fn open(&self, count: usize) -> Result<Vec<Value>> {
        self.eventually(&format!("{count} open questions"), || {
            let (_, page) = self.hub.http("GET", "/v1/questions?status=requested&order=asc", None)?;
            let open = page["questions"].as_array().cloned().unwrap_or_default();
            Ok(Some(open).filter(|open| open.len() == count))
        })
        .await
    }

    pub async fn ask(&self, scenario: &str) -> Result<(String, Value)> {
        let session = self.prompt(scenario).await?;
        Ok((session, self.open(1).await?.remove(0)))
    }

    pub fn settle(&self, question: &Value, verb: &str, body: &Value) -> Result<(u16, Value)> {
        self.hub.http("POST", &format!("/v1/questions/{}/{verb}", id(question)), Some(body))
    }

    pub fn answer(&self, question: &Value, answers: Value) -> Result<()> {
        let (status, body) = self.settle(question, "reply", &json!({ "answers": answers }))?;
        ensure!(status == 200, "{status}: {body}");
        Ok(())
    }

    /// The question, once its outcome or delivery is as wanted.
    pub async fn until(&self, question: &Value, what: &str, pointer: &str, wanted: &str) -> Result<Value> {
        self.eventually(what, || {
            let (_, question) = self.hub.http("GET", &format!("/v1/questions/{}", id(question)), None)?;
            let found = question.pointer(pointer).and_then(Value::as_str) == Some(wanted);
            Ok(found.then_some(question))
        })
        .await
    }

    pub async fn confirmed(&self, question: &Value) -> Result<Value> {
        self.until(question, "the confirmed delivery", "/delivery/state", "confirmed").await
    }

    /// What OpenCode itself lists, as soon as there is something.
    pub async fn listed(&self, path: &str) -> Result<Vec<Value>> {
        let end = Instant::now() + STEP;
        loop {
            let (_, list) = self.opencode(Method::GET, path, None).await?;
            match list.as_array().filter(|list| !list.is_empty()) {
                Some(list) => return Ok(list.clone()),
                None => ensure!(Instant::now() < end, "nothing listed: {list}"),
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What OpenCode itself still lists.
    pub async fn nothing_listed(&self, path: &str) -> Result<()> {
        let end = Instant::now() + STEP;
        loop {
            let (_, list) = self.opencode(Method::GET, path, None).await?;
            if list == json!([]) {
                return Ok(());
            }
            ensure!(Instant::now() < end, "still listed: {list}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The last result of a tool that the model was given.
    pub async fn last_result(&self, count: usize) -> Result<String> {
        let results = self.model.tool_results_seen(count, STEP).await?;
        Ok(results.last().context("no result")?.text.clone())
    }
}

pub fn id(question: &Value) -> &str {
    question["id"].as_str().unwrap_or_default()
}
