//! A stage without Claude Code: its config folder, its list of living sessions and its transcripts are
//! written by the test, and its processes are ones that sleep.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::{Hub, PATIENCE};
use serde_json::{Value, json};

/// What Claude Code writes as the result of a call when it takes up a conversation in which the call has
/// none.
pub const CUT_OFF: &str = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]";
pub const SESSION: &str = "3337aed3-e7c1-49cf-a370-4ff895702544";

pub struct Stage {
    pub hub: Hub,
    pub config: PathBuf,
    _folder: tempfile::TempDir,
}

/// A process that stands for Claude Code.
pub struct Claude(Child);

impl Claude {
    pub fn start() -> Result<Self> {
        Ok(Self(Command::new("sleep").arg("600").spawn()?))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Ends it without warning: its entry in the list stays.
    pub fn kill(&mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Claude {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub fn questions() -> Value {
    json!({ "questions": [{ "question": "Which?", "header": "H", "multiSelect": false,
        "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }] }] })
}

impl Stage {
    pub fn new() -> Result<Self> {
        Self::with(|_| Ok(()))
    }

    /// `prepare` gets the config folder before the hub starts.
    pub fn with(prepare: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let config = folder.path().canonicalize()?.join("config");
        std::fs::create_dir_all(config.join("projects/-w-app"))?;
        std::fs::create_dir_all(config.join("sessions"))?;
        prepare(&config)?;
        let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).env("CLAUDE_CONFIG_DIR", &config).start()?;
        Ok(Self { hub, config, _folder: folder })
    }

    pub fn transcript(&self) -> PathBuf {
        self.config.join(format!("projects/-w-app/{SESSION}.jsonl"))
    }

    /// The process is in Claude Code's list of living sessions.
    pub fn registers(&self, claude: &Claude) -> Result<()> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis();
        let entry = json!({ "pid": claude.pid(), "sessionId": SESSION, "cwd": "/w/app", "startedAt": now,
            "updatedAt": now, "status": "waiting" });
        let path = self.config.join(format!("sessions/{}.json", claude.pid()));
        Ok(std::fs::write(path, entry.to_string())?)
    }

    pub fn append(&self, line: &Value) -> Result<()> {
        let mut file = std::fs::File::options().create(true).append(true).open(self.transcript())?;
        Ok(file.write_all(format!("{line}\n").as_bytes())?)
    }

    pub fn asks(&self, call: &str) -> Result<()> {
        self.asks_in(call, &questions())
    }

    pub fn asks_in(&self, call: &str, input: &Value) -> Result<()> {
        let block = json!({ "type": "tool_use", "id": call, "name": "AskUserQuestion", "input": input });
        self.append(
            &json!({ "type": "assistant", "isSidechain": false, "sessionId": SESSION, "cwd": "/w/app",
            "message": { "id": "msg_1", "role": "assistant", "content": [block] } }),
        )
    }

    pub fn result(&self, call: &str, told: &str, is_error: bool, result: &Value) -> Result<()> {
        let block =
            json!({ "type": "tool_result", "tool_use_id": call, "content": told, "is_error": is_error });
        self.append(&json!({ "type": "user", "sessionId": SESSION, "toolUseResult": result,
            "message": { "role": "user", "content": [block] } }))
    }

    pub fn picked(&self, call: &str, label: &str) -> Result<()> {
        self.result(call, "told", false, &json!({ "answers": { "Which?": label } }))
    }

    pub fn cut_off(&self, call: &str) -> Result<()> {
        self.result(call, CUT_OFF, true, &json!(CUT_OFF))
    }

    /// A hook of this process reports.
    pub fn hook(&self, claude: &Claude, hook: &str, event: &str, more: &Value) -> Result<Value> {
        let mut input = json!({ "session_id": SESSION, "transcript_path": self.transcript(), "cwd": "/w/app",
            "hook_event_name": event, "tool_name": "AskUserQuestion", "tool_input": questions() });
        for (name, value) in more.as_object().into_iter().flatten() {
            input[name] = value.clone();
        }
        let body = json!({ "hook": format!("{hook:0>32}"), "pid": claude.pid(), "input": input });
        self.report(&body)
    }

    pub fn report(&self, body: &Value) -> Result<Value> {
        let (status, word) =
            self.hub.http_as(&self.hub.ask_token()?, "POST", "/v1/hooks/claude", Some(body))?;
        ensure!(status == 200, "{status}: {word}");
        Ok(word)
    }

    pub fn waits(&self, claude: &Claude, hook: &str) -> Result<Value> {
        self.hook(claude, hook, "PermissionRequest", &json!({}))
    }

    pub fn questions(&self) -> Result<Vec<Value>> {
        let (_, list) = self.hub.http("GET", "/v1/questions?order=asc", None)?;
        Ok(list["questions"].as_array().cloned().unwrap_or_default())
    }

    pub fn open(&self) -> Result<Vec<Value>> {
        Ok(self.questions()?.into_iter().filter(|question| question["status"] == "requested").collect())
    }

    pub fn question(&self, id: &Value) -> Result<Value> {
        Ok(self.hub.http("GET", &format!("/v1/questions/{}", id.as_str().context("no id")?), None)?.1)
    }

    pub fn reply(&self, id: &Value, label: &str) -> Result<()> {
        let path = format!("/v1/questions/{}/reply", id.as_str().context("no id")?);
        let (status, body) = self.hub.http("POST", &path, Some(&json!({ "answers": [[label]] })))?;
        ensure!(status == 200, "{status}: {body}");
        Ok(())
    }

    /// The hook says that it printed the decision.
    pub fn took(&self, id: &Value, hook: &str) -> Result<()> {
        let path = format!("/v1/hooks/claude/{}/took", id.as_str().context("no id")?);
        let body = json!({ "hook": format!("{hook:0>32}") });
        let (status, said) = self.hub.http_as(&self.hub.ask_token()?, "POST", &path, Some(&body))?;
        ensure!(status == 204, "{status}: {said}");
        Ok(())
    }

    /// The question whose call has this name, once it is there.
    pub fn asked(&self, call: &str) -> Result<Value> {
        until(&format!("question of {call}"), || {
            Ok(self.questions()?.into_iter().find(|question| question["tool"]["callId"] == call))
        })
    }

    pub fn settled(&self, id: &Value) -> Result<Value> {
        until("end of the question", || {
            Ok(Some(self.question(id)?).filter(|question| question["status"] != "requested"))
        })
    }
}

pub fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(Instant::now() < end, "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
