//! One conversation with Claude Code: in a terminal of its own, with or without hooks, or managed by askd.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::signal;
use askd_testkit::programs::{AgentEnv as _, required};
use askd_testkit::terminal::Terminal;
use serde_json::{Value, json};

use crate::world::World;

/// The longest that anything may take on a busy machine.
pub const STEP: Duration = Duration::from_secs(60);
/// Claude Code drops keys that come right after a dialog appears.
const GRACE: Duration = Duration::from_millis(1500);
/// Keys that follow each other faster are merged by Claude Code.
const BETWEEN_KEYS: Duration = Duration::from_millis(400);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(150);
/// Claude Code's own time-out, where a conversation has one.
const TIMES_OUT_MS: &str = "9000";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Hooked,
    Unhooked,
    Managed,
}

/// How a conversation begins.
#[derive(Debug, Clone)]
pub struct Start {
    pub kind: Kind,
    pub version: &'static str,
    pub prompt: String,
    /// The conversation that goes on.
    pub resume: Option<String>,
    pub times_out: bool,
}

pub struct Conversation<'a> {
    world: &'a World,
    pub start: Start,
    terminal: Terminal,
    /// askd's session, where askd has started it.
    session: Option<String>,
    pid: u32,
}

pub fn until<T>(limit: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
    let end = Instant::now() + limit;
    loop {
        match look()? {
            Some(found) => return Ok(Some(found)),
            None if Instant::now() >= end => return Ok(None),
            None => std::thread::sleep(LOOK),
        }
    }
}

impl<'a> Conversation<'a> {
    pub fn start(world: &'a World, start: Start) -> Result<Self> {
        let mut env = world.env.env();
        if start.kind != Kind::Managed {
            // The machine may be busy with the other conversations.
            env.push(("ASKD_HOOK_PATIENCE_MS".to_owned(), "10000".to_owned()));
        }
        if start.times_out {
            env.push(("CLAUDE_AFK_TIMEOUT_MS".to_owned(), TIMES_OUT_MS.to_owned()));
        }
        let resume = start.resume.as_deref().map_or(vec![], |id| vec!["--resume", id]);
        let terminal = Terminal::new();
        let (session, pid) = match start.kind {
            Kind::Managed => {
                let mut env: serde_json::Map<String, Value> =
                    env.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
                let path = env.get("PATH").and_then(Value::as_str).unwrap_or_default().to_owned();
                let bin = world.env.place().home().join(start.version);
                env.insert("PATH".to_owned(), Value::from(format!("{}:{path}", bin.display())));
                let wish = json!({ "agent": "claude", "cwd": world.env.cwd(), "prompt": start.prompt,
                    "args": resume, "env": env });
                let (status, session) = world.http("POST", "/v1/sessions", Some(&wish))?;
                ensure!(status == 201, "{status}: {session}");
                let id = session["id"].as_str().context("no id")?.to_owned();
                let pid = until(STEP, || Ok(Self::session_of(world, &id)?["pid"].as_u64()))?;
                (Some(id), pid.and_then(|pid| u32::try_from(pid).ok()).context("no process")?)
            }
            kind => {
                let hooked = world.hooked.to_string_lossy();
                let settings: &[&str] = if kind == Kind::Hooked { &["--settings", &hooked] } else { &[] };
                let args = [settings, &resume, &[start.prompt.as_str()]].concat();
                terminal.open(world.env.cwd(), &env, &required(start.version)?, &args)?;
                (None, terminal.pid()?)
            }
        };
        Ok(Self { world, start, terminal, session, pid })
    }

    fn session_of(world: &World, id: &str) -> Result<Value> {
        Ok(world.http("GET", &format!("/v1/sessions/{id}"), None)?.1)
    }

    pub fn is_managed(&self) -> bool {
        self.session.is_some()
    }

    /// What Claude Code says of itself in its list of living sessions.
    fn entry(&self) -> Option<Value> {
        let path = self.world.env.config_dir().join(format!("sessions/{}.json", self.pid));
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Its name in Claude Code's own words.
    pub fn native(&self) -> Result<Option<String>> {
        let found = match &self.session {
            Some(id) => Self::session_of(self.world, id)?["nativeId"].clone(),
            None => self.entry().map(|entry| entry["sessionId"].clone()).unwrap_or_default(),
        };
        Ok(found.as_str().map(str::to_owned))
    }

    pub fn screen(&self) -> String {
        if self.is_managed() { "managed".to_owned() } else { self.terminal.screen() }
    }

    pub fn shows_dialog(&self) -> bool {
        self.screen().contains("Enter to select")
    }

    /// Waits until it can be talked to.
    pub fn is_idle(&self) -> Result<bool> {
        if self.is_managed() {
            return Ok(true);
        }
        let idle = until(STEP, || Ok(self.entry().filter(|entry| entry["status"] == "idle")))?;
        Ok(idle.is_some())
    }

    pub fn say(&self, text: &str) -> Result<()> {
        if let Some(id) = &self.session {
            let say = json!({ "text": text });
            let (status, said) =
                self.world.http("POST", &format!("/v1/sessions/{id}/messages"), Some(&say))?;
            ensure!(status == 202, "{status}: {said}");
            return Ok(());
        }
        self.terminal.key("C-u")?;
        std::thread::sleep(BETWEEN_KEYS);
        self.terminal.tmux(&["send-keys", "-t", "it", "-l", text])?;
        std::thread::sleep(2 * BETWEEN_KEYS);
        self.terminal.key("Enter")
    }

    /// Waits until the dialog takes keys; `false` if there is none.
    pub fn is_ready_for_keys(&self) -> Result<bool> {
        let shown = until(Duration::from_secs(20), || Ok(self.shows_dialog().then_some(())))?;
        std::thread::sleep(GRACE);
        Ok(shown.is_some() && self.shows_dialog())
    }

    pub fn keys(&self, keys: &[String]) -> Result<()> {
        for key in keys {
            self.terminal.key(key)?;
            std::thread::sleep(BETWEEN_KEYS);
        }
        Ok(())
    }

    /// Presses a key at once.
    pub fn press(&self, key: &str) -> Result<()> {
        self.terminal.key(key)
    }

    pub fn kill(&self) -> Result<()> {
        signal(self.pid, "KILL")
    }

    /// Ends it as a person does.
    pub fn close(self) -> Result<()> {
        if let Some(id) = &self.session {
            self.world.http("DELETE", &format!("/v1/sessions/{id}"), None)?;
        }
        // The tmux server ends with its terminal.
        Ok(())
    }
}
