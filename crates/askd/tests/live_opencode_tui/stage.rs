//! The stage: a hub, a scripted model, and OpenCode's terminal UI with askd's plugin in a tmux server of its
//! own.
//!
//! In: which scenario the model plays. Out: questions of the hub, what the terminal shows, what the model
//! saw. Every wait has an end, and the tmux server with all that runs in it ends with the stage.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use askd_testkit::hub::{Hub, Ran};
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::{AgentEnv, OpencodeEnv, required};
use askd_testkit::terminal::Terminal;
use serde_json::{Value, json};

/// The longest that anything may take: on a busy machine OpenCode's first turn alone takes a minute.
const STEP: Duration = Duration::from_secs(100);
/// A dialog that has just been drawn may not have the keys yet.
const GRACE: Duration = Duration::from_millis(700);

pub struct Stage {
    pub hub: Hub,
    pub model: ScriptedModel,
    pub env: OpencodeEnv,
    terminal: Terminal,
}

pub async fn until<T>(what: &str, look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    askd_testkit::terminal::until(STEP, what, look).await
}

fn script() -> Result<Script> {
    let options =
        json!([{ "label": "Red", "description": "Warm" }, { "label": "Green", "description": "Cool" }]);
    let item = |question: &str, multiple: bool| json!({ "question": question, "header": "Colour", "options": options, "multiple": multiple });
    let call = |items: Value| json!({ "name": "question", "args": { "questions": items } });
    let bash = json!({ "name": "bash", "args": { "command": "echo hi-there", "description": "d" } });
    let thanks = json!({ "text": "Thank you." });
    Ok(Script::from_value(json!({ "scenarios": {
        "single": [{ "text": "One question.", "calls": [call(json!([item("Which colour?", false)]))] }, thanks],
        "several": [{ "calls": [call(json!([item("Which colour?", false), item("Which sizes?", true)]))] }, thanks],
        "bash": [{ "calls": [bash] }, thanks],
    } }))?)
}

impl Stage {
    /// Everything but the terminal; nothing is installed.
    pub async fn prepare() -> Result<Self> {
        let model = ScriptedModel::start(script()?).await?;
        let env = OpencodeEnv::new(&model.openai_base_url())?;
        let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("ASKD_LOG", "info").start()?;
        Ok(Self { hub, model, env, terminal: Terminal::new() })
    }

    /// A terminal with the plugin that plays the scenario.
    pub async fn start(scenario: &str) -> Result<Self> {
        let stage = Self::prepare().await?;
        stage.install()?;
        stage.open_terminal(scenario, &[], &[])?;
        Ok(stage)
    }

    pub fn config(&self) -> PathBuf {
        self.env.place().home().join(".config/opencode")
    }

    pub fn askd(&self, words: &[&str]) -> Result<Ran> {
        let (data, config) = (self.hub.data.clone(), self.config());
        let mut all = vec!["--data".as_ref(), data.as_os_str()];
        all.extend(words.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
        all.extend(["--config-dir".as_ref(), config.as_os_str()]);
        self.hub.run(all)
    }

    pub fn install(&self) -> Result<()> {
        let ran = self.askd(&["install", "opencode"])?;
        ensure!(ran.code == 0 && ran.stdout.contains("plugins/askd.js"), "{ran:?}");
        Ok(())
    }

    pub fn open_terminal(&self, scenario: &str, env: &[(&str, &str)], args: &[&str]) -> Result<()> {
        let own = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env: Vec<_> = self.env.env().into_iter().chain(own).collect();
        let prompt = format!("SCENARIO:{scenario} go");
        let args = [args, &["--prompt", &prompt]].concat();
        self.terminal.open(self.env.cwd(), &env, &required("opencode")?, &args)
    }

    pub fn screen(&self) -> String {
        self.terminal.screen()
    }

    pub async fn shows(&self, text: &str) -> Result<()> {
        until(text, || Ok(self.screen().contains(text).then_some(()))).await.with_context(|| self.seen())
    }

    pub async fn gone(&self, text: &str) -> Result<()> {
        until("the end of it", || Ok((!self.screen().contains(text)).then_some(())))
            .await
            .with_context(|| self.seen())
    }

    pub async fn key(&self, key: &str) -> Result<()> {
        tokio::time::sleep(GRACE).await;
        self.terminal.key(key)
    }

    pub fn close_terminal(&self) -> Result<()> {
        self.terminal.close()
    }

    /// OpenCode's own process: the shell of the terminal has become it.
    pub fn terminal_pid(&self) -> Result<u32> {
        self.terminal.pid()
    }

    /// OpenCode's own name of the session that asked.
    pub fn native_session(&self, asked: &Value) -> Result<String> {
        let path = format!("/v1/sessions/{}", asked["sessionId"].as_str().context("no session")?);
        let (_, session) = self.hub.http("GET", &path, None)?;
        Ok(session["nativeId"].as_str().context("no native id")?.to_owned())
    }

    fn seen(&self) -> String {
        let all = self.hub.http("GET", "/v1/questions", None).map(|(_, all)| all);
        format!("{}\n{}\n{all:#?}", self.screen(), self.hub.log())
    }

    pub fn questions(&self, query: &str) -> Result<Vec<Value>> {
        let (status, list) = self.hub.http("GET", &format!("/v1/questions?{query}"), None)?;
        ensure!(status == 200, "{list}");
        Ok(list["questions"].as_array().cloned().unwrap_or_default())
    }

    pub fn sources(&self) -> Result<Vec<Value>> {
        let (_, list) = self.hub.http("GET", "/v1/sources", None)?;
        Ok(list["sources"].as_array().cloned().unwrap_or_default())
    }

    /// The one question that is open.
    pub async fn asked(&self) -> Result<Value> {
        let found = until("an open question", || match &self.questions("status=requested")?[..] {
            [one] => Ok(Some(one.clone())),
            [] => Ok(None),
            open => bail!("several are open: {open:?}"),
        });
        found.await.with_context(|| self.seen())
    }

    /// The question, once the wanted is at the pointer.
    pub async fn becomes(&self, asked: &Value, pointer: &str, wanted: &str) -> Result<Value> {
        let path = format!("/v1/questions/{}", asked["id"].as_str().context("no id")?);
        let found = until(wanted, || {
            let (_, question) = self.hub.http("GET", &path, None)?;
            Ok((question.pointer(pointer).and_then(Value::as_str) == Some(wanted)).then_some(question))
        });
        found.await.with_context(|| self.seen())
    }

    pub async fn confirmed(&self, asked: &Value) -> Result<Value> {
        self.becomes(asked, "/delivery/state", "confirmed").await
    }

    pub fn settle(&self, asked: &Value, how: &str, body: &Value) -> Result<u16> {
        let path = format!("/v1/questions/{}/{how}", asked["id"].as_str().context("no id")?);
        Ok(self.hub.http("POST", &path, Some(body))?.0)
    }

    /// The last result of a tool that the model was given.
    pub async fn model_saw(&self, count: usize) -> Result<String> {
        let results = self.model.tool_results_seen(count, STEP).await.with_context(|| self.seen())?;
        Ok(results.last().context("no result")?.text.clone())
    }
}
