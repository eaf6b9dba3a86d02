//! The stage: a hub, a scripted model, and Claude Code in a terminal of a tmux server of its own.
//!
//! In: what the model will say. Out: questions of the hub, what the terminal shows, what the model saw. Every wait has an end, and
//! the tmux server with all that runs in it ends with the stage.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use askd_testkit::hub::Hub;
use askd_testkit::model::{Script, ScriptedModel, ToolResult};
use askd_testkit::programs::{AgentEnv, ClaudeEnv, required};
use serde_json::{Value, json};

/// The longest that anything may take on a busy machine.
const STEP: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
/// Keys that come right after a dialog are dropped by Claude Code.
const GRACE: Duration = Duration::from_millis(1500);
static NUMBER: AtomicU32 = AtomicU32::new(0);

pub struct Stage {
    pub hub: Hub,
    pub model: ScriptedModel,
    env: ClaudeEnv,
    socket: String,
    program: &'static str,
}

pub async fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + STEP;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(Instant::now() < end, "did not see {what} within {STEP:?}");
        tokio::time::sleep(PAUSE).await;
    }
}

impl Stage {
    /// Everything but the terminal; nothing is installed.
    pub async fn prepare(turns: Value) -> Result<Self> {
        let model =
            ScriptedModel::start(Script::from_value(json!({ "scenarios": { "it": turns } }))?).await?;
        let env = ClaudeEnv::new(&model.base_url())?;
        let hub = Hub::builder(env!("CARGO_BIN_EXE_askd"))
            .env("CLAUDE_CONFIG_DIR", env.config_dir())
            .env("HOME", env.place().home())
            .start()?;
        let socket = format!("askd-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Ok(Self { hub, model, env, socket, program: "claude" })
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
        let quote = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let mut line = "exec env -i".to_owned();
        let mut all = self.env.env();
        // The machine of the tests may be busy with all the others.
        all.push(("ASKD_HOOK_PATIENCE_MS".to_owned(), "10000".to_owned()));
        for (name, value) in all {
            line.push_str(&format!(" {}", quote(&format!("{name}={value}"))));
        }
        line.push_str(&format!(" {}", quote(&required(self.program)?.to_string_lossy())));
        for arg in args.iter().copied().chain(["SCENARIO:it go"]) {
            line.push_str(&format!(" {}", quote(arg)));
        }
        let cwd = self.env.cwd().to_string_lossy().into_owned();
        self.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "120",
            "-y",
            "50",
            "-s",
            "it",
            "-c",
            &cwd,
            &line,
        ])?;
        Ok(())
    }

    pub fn tmux(&self, args: &[&str]) -> Result<String> {
        let out = Command::new("tmux").arg("-L").arg(&self.socket).args(args).env_remove("TMUX").output()?;
        ensure!(out.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    }

    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "it"]).unwrap_or_else(|error| error.to_string())
    }

    pub async fn shows(&self, text: &str) -> Result<()> {
        until(text, || Ok(self.screen().contains(text).then_some(()))).await.with_context(|| self.screen())
    }

    pub async fn gone(&self, text: &str) -> Result<()> {
        until("the end of it", || Ok((!self.screen().contains(text)).then_some(())))
            .await
            .with_context(|| self.screen())
    }

    pub async fn key(&self, key: &str) -> Result<()> {
        tokio::time::sleep(GRACE).await;
        self.tmux(&["send-keys", "-t", "it", key]).map(drop)
    }

    pub fn close_terminal(&self) -> Result<()> {
        self.tmux(&["kill-session", "-t", "it"]).map(drop)
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

    fn end(&self, asked: &Value, how: &str, body: Value) -> Result<()> {
        let id = asked["id"].as_str().context("no id")?;
        let (status, said) = self.hub.http("POST", &format!("/v1/questions/{id}/{how}"), Some(&body))?;
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

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.tmux(&["kill-server"]));
    }
}
