//! The stage: a hub, a scripted model, and Claude Code in a terminal of a tmux server of its own.
//!
//! In: what the model will say. Out: questions of the hub, what the terminal shows, what the model saw. Every
//! wait has an end, and the tmux server with all that runs in it ends with the stage.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use askd_testkit::hub::Hub;
use askd_testkit::model::{Script, ScriptedModel, ToolResult};
use askd_testkit::programs::{AgentEnv, ClaudeEnv, required};
use askd_testkit::terminal::Terminal;
use serde_json::{Value, json};

/// The longest that anything may take on a busy machine.
const STEP: Duration = Duration::from_secs(60);
/// Claude Code drops keys that come right after a dialog appears.
const GRACE: Duration = Duration::from_millis(1500);

pub struct Stage {
    pub hub: Hub,
    pub model: ScriptedModel,
    env: ClaudeEnv,
    terminal: Terminal,
    program: &'static str,
}

/// A question as Claude Code's tool has it.
pub fn item(text: &str, multiple: bool) -> Value {
    let options = json!([
        { "label": "JWT", "description": "Stateless tokens" },
        { "label": "Session cookies", "description": "Server-side sessions" },
        { "label": "Metrics, \"traces\"", "description": "Commas and quotes" },
    ]);
    json!({ "question": text, "header": "Auth", "options": options, "multiSelect": multiple })
}

/// The turns of a model that asks these.
pub fn asks(questions: &[Value]) -> Value {
    json!([
        { "text": "One question first.", "calls": [{ "name": "AskUserQuestion", "args": { "questions": questions } }] },
        { "text": "Thank you." },
    ])
}

/// The turns of a model that has a plan.
pub fn plan() -> Value {
    let write =
        json!({ "name": "Write", "args": { "file_path": "$PLAN_PATH", "content": "# Plan\n\n1. Do A\n" } });
    json!([{ "calls": [write] }, { "text": "Ready.", "calls": [{ "name": "ExitPlanMode" }] }, { "text": "Started." }])
}

pub async fn until<T>(what: &str, look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    askd_testkit::terminal::until(STEP, what, look).await
}

impl Stage {
    /// Everything but the terminal; nothing is installed.
    pub async fn prepare(turns: Value) -> Result<Self> {
        Self::prepare_hub(turns, env!("CARGO_BIN_EXE_askd").as_ref()).await
    }

    /// The same with another program as askd.
    pub async fn prepare_hub(turns: Value, askd: &std::path::Path) -> Result<Self> {
        let model =
            ScriptedModel::start(Script::from_value(json!({ "scenarios": { "it": turns } }))?).await?;
        let env = ClaudeEnv::new(&model.base_url())?;
        let hub = Hub::builder(askd)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("CLAUDE_CONFIG_DIR", env.config_dir())
            .env("HOME", env.place().home())
            .start()?;
        Ok(Self { hub, model, env, terminal: Terminal::new(), program: "claude" })
    }

    /// The same with another version.
    pub fn with(mut self, program: &'static str) -> Self {
        self.program = program;
        self
    }

    /// A hooked terminal that plays the scenario.
    pub async fn start(turns: Value, args: &[&str]) -> Result<Self> {
        let mut stage = Self::prepare(turns).await?;
        stage.install()?;
        stage.open_terminal(args).await?;
        Ok(stage)
    }

    /// The same with another version.
    pub async fn start_with(program: &'static str, turns: Value) -> Result<Self> {
        let mut stage = Self::prepare(turns).await?.with(program);
        stage.install()?;
        stage.open_terminal(&[]).await?;
        Ok(stage)
    }

    pub fn install(&self) -> Result<()> {
        let settings = self.env.config_dir().join("settings.json");
        let data = self.hub.data.clone();
        let ran = self.hub.run([
            "--data".as_ref(),
            data.as_os_str(),
            "install".as_ref(),
            "claude".as_ref(),
            "--settings".as_ref(),
            settings.as_os_str(),
        ])?;
        ensure!(ran.code == 0 && ran.stdout.contains("PermissionRequest"), "{ran:?}");
        Ok(())
    }

    /// Changes a word of the installed settings.
    pub fn change_settings(&self, from: &str, to: &str) -> Result<()> {
        let path = self.env.config_dir().join("settings.json");
        let text = std::fs::read_to_string(&path)?;
        ensure!(text.contains(from), "{from} is not in {text}");
        Ok(std::fs::write(path, text.replace(from, to))?)
    }

    /// Where Claude Code works.
    pub fn cwd(&self) -> &std::path::Path {
        self.env.cwd()
    }

    pub fn home(&self) -> &std::path::Path {
        self.env.place().home()
    }

    pub async fn open_terminal(&mut self, args: &[&str]) -> Result<()> {
        self.open_terminal_with(args, &[]).await
    }

    /// The same with more in its environment.
    pub async fn open_terminal_with(&mut self, args: &[&str], more: &[(&str, &str)]) -> Result<()> {
        // A new one each time: the server of a closed one may just be ending.
        self.terminal = Terminal::new();
        self.open_in(&self.terminal, args, more)
    }

    /// A second terminal beside the first one.
    pub fn open_beside(&self, args: &[&str]) -> Result<Terminal> {
        let terminal = Terminal::new();
        self.open_in(&terminal, args, &[])?;
        Ok(terminal)
    }

    fn open_in(&self, terminal: &Terminal, args: &[&str], more: &[(&str, &str)]) -> Result<()> {
        let mut env = self.env.env();
        env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        // The machine of the tests may be busy with all the others.
        env.push(("ASKD_HOOK_PATIENCE_MS".to_owned(), "10000".to_owned()));
        let args = [args, &["SCENARIO:it go"]].concat();
        terminal.open(self.env.cwd(), &env, &required(self.program)?, &args)
    }

    /// The same in a PID namespace of its own, as in a container that shares the folders of this machine.
    pub async fn open_container(&mut self) -> Result<()> {
        self.terminal = Terminal::new();
        let mut env = self.env.env();
        env.push(("ASKD_HOOK_PATIENCE_MS".to_owned(), "10000".to_owned()));
        let claude = required(self.program)?.to_string_lossy().into_owned();
        let alone = ["--pid", "--fork", "--kill-child", "--mount-proc"];
        let is_root = std::process::Command::new("id").arg("-u").output()?.stdout == b"0\n";
        let mapped: &[&str] = if is_root { &[] } else { &["--user", "--map-current-user"] };
        let args = [&alone[..], mapped, &[&claude, "SCENARIO:it go"]].concat();
        self.terminal.open(self.env.cwd(), &env, std::path::Path::new("unshare"), &args)
    }

    /// A session that askd manages, with the same folder of settings; gives its id.
    pub fn start_managed(&self, more: &[(&str, &str)]) -> Result<String> {
        let bin = self.env.place().home().join("bin");
        std::fs::create_dir_all(&bin)?;
        let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", required(self.program)?.display());
        std::fs::write(bin.join("claude"), text)?;
        std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755))?;
        let env = self.env.env().into_iter().map(|(name, value)| (name, Value::from(value)));
        let mut env: serde_json::Map<String, Value> = env.collect();
        env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
        let path = env.get("PATH").and_then(Value::as_str).unwrap_or_default().to_owned();
        env.insert("PATH".to_owned(), Value::from(format!("{}:{path}", bin.display())));
        let wish =
            json!({ "agent": "claude", "cwd": self.env.cwd(), "prompt": "SCENARIO:it go", "env": env });
        let (status, session) = self.hub.http("POST", "/v1/sessions", Some(&wish))?;
        ensure!(status == 201, "{status}: {session}");
        Ok(session["id"].as_str().context("no id")?.to_owned())
    }

    /// Types a prompt, or a command, when Claude Code waits for one.
    pub async fn say(&self, text: &str) -> Result<()> {
        self.terminal.tmux(&["send-keys", "-t", "it", "-l", text])?;
        // Keys that follow each other faster are one piece, and Enter in it is a line feed.
        tokio::time::sleep(GRACE).await;
        self.press("Enter")
    }

    /// The sessions that live, as the API lists them.
    pub fn living(&self) -> Result<Vec<Value>> {
        let (_, list) = self.hub.http("GET", "/v1/sessions?live=true", None)?;
        Ok(list["sessions"].as_array().cloned().unwrap_or_default())
    }

    pub fn tmux(&self, args: &[&str]) -> Result<String> {
        self.terminal.tmux(args)
    }

    pub fn screen(&self) -> String {
        self.terminal.screen()
    }

    pub async fn shows(&self, text: &str) -> Result<()> {
        until(text, || Ok(self.screen().contains(text).then_some(()))).await.with_context(|| self.screen())
    }

    pub async fn gone(&self, text: &str) -> Result<()> {
        until("the end of it", || Ok((!self.screen().contains(text)).then_some(())))
            .await
            .with_context(|| self.screen())
    }

    /// Presses a key when the dialog takes keys.
    pub async fn key(&self, key: &str) -> Result<()> {
        tokio::time::sleep(GRACE).await;
        self.press(key)
    }

    /// Presses a key at once.
    pub fn press(&self, key: &str) -> Result<()> {
        self.terminal.key(key)
    }

    pub fn close_terminal(&self) -> Result<()> {
        self.terminal.close()
    }

    pub fn questions(&self, query: &str) -> Result<Value> {
        let (status, mut list) = self.hub.http("GET", &format!("/v1/questions?{query}"), None)?;
        ensure!(status == 200, "{list}");
        Ok(list["questions"].take())
    }

    /// The one question that is open.
    pub async fn asked(&self) -> Result<Value> {
        let found = until("an open question", || {
            let open = self.questions("status=requested")?;
            match open.as_array().map(Vec::as_slice) {
                Some([one]) => Ok(Some(one.clone())),
                Some([]) => Ok(None),
                _ => bail!("several are open: {open}"),
            }
        });
        found.await.with_context(|| format!("{}\n{}", self.screen(), self.hub.log()))
    }

    pub fn question(&self, asked: &Value) -> Result<Value> {
        let id = asked["id"].as_str().context("no id")?;
        Ok(self.hub.http("GET", &format!("/v1/questions/{id}"), None)?.1)
    }

    pub async fn settled(&self, asked: &Value) -> Result<Value> {
        let settled = until("the end of the question", || {
            Ok(Some(self.question(asked)?).filter(|question| question["status"] != "requested"))
        });
        settled.await.with_context(|| format!("{}\n{}", self.screen(), self.hub.log()))
    }

    pub async fn delivered(&self, asked: &Value, state: &str) -> Result<Value> {
        let found = until(state, || {
            Ok(Some(self.question(asked)?).filter(|question| question["delivery"]["state"] == state))
        });
        found.await.with_context(|| format!("{:#}", self.question(asked).unwrap_or_default()))
    }

    pub fn reply(&self, asked: &Value, body: Value) -> Result<()> {
        self.end(asked, "reply", body)
    }

    pub fn reject(&self, asked: &Value, body: Value) -> Result<()> {
        self.end(asked, "reject", body)
    }

    /// What the hub says to an outcome.
    pub fn try_end(&self, asked: &Value, how: &str, body: &Value) -> Result<(u16, Value)> {
        let id = asked["id"].as_str().context("no id")?;
        self.hub.http("POST", &format!("/v1/questions/{id}/{how}"), Some(body))
    }

    fn end(&self, asked: &Value, how: &str, body: Value) -> Result<()> {
        let (status, said) = self.try_end(asked, how, &body)?;
        ensure!(status == 200, "{status}: {said}");
        Ok(())
    }

    /// The result of the tool as the model saw it.
    pub async fn model_saw(&self, tool: &str) -> Result<ToolResult> {
        let named = |result: &ToolResult| result.name.as_deref() == Some(tool);
        let found = until("the model's request with the result", || {
            Ok(self.model.tool_results().into_iter().find(named))
        });
        found.await.with_context(|| format!("{}\n{}", self.screen(), self.hub.log()))
    }

    /// The hook processes of this stage that wait.
    pub fn hooks(&self) -> Vec<u32> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let data = self.hub.data.to_string_lossy().into_owned();
        let is_ours = |path: PathBuf| {
            let words = std::fs::read(path.join("cmdline")).unwrap_or_default();
            let text = String::from_utf8_lossy(&words).into_owned();
            let program = text.split('\0').next().unwrap_or_default();
            program.ends_with("/askd") && text.contains(&data) && text.contains("\0hook\0")
        };
        let pids = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(|pid| (pid, entry.path())));
        pids.filter(|(_, path)| is_ours(path.clone())).map(|(pid, _)| pid).collect()
    }

    pub async fn no_hook_left(&self) -> Result<()> {
        until("the end of the hooks", || Ok(self.hooks().is_empty().then_some(()))).await
    }
}
