//! What all conversations of the soak share: one hub, one scripted model, and a place for Claude Code.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use askd_testkit::hub::Hub;
use askd_testkit::model::{Script, ScriptedModel};
use askd_testkit::programs::{AgentEnv as _, ClaudeEnv, required};
use serde_json::{Value, json};

/// The versions of which half the conversations are.
pub const VERSIONS: [&str; 2] = ["claude", "claude-2.1.328"];
/// How long answers may still be on their way when the last conversation has done its last step.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);

pub struct World {
    pub hub: RwLock<Hub>,
    pub model: ScriptedModel,
    pub env: ClaudeEnv,
    /// Settings that have askd's hooks, for those conversations that are started with them.
    pub hooked: PathBuf,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    /// Questions whose agent was killed or interrupted: its model may not have been told any more.
    unheard: HashSet<String>,
    troubles: Vec<String>,
}

/// The scenarios that one actor plays; its number in each question tells whose it is.
fn scenarios(actor: usize) -> Vec<(String, Value)> {
    let item = |text: &str, multiple: bool| {
        let options: Vec<Value> = ["Red", "Green", "Blue"]
            .iter()
            .map(|label| json!({ "label": label, "description": format!("It is {label}") }))
            .collect();
        json!({ "question": format!("Actor {actor}: {text}?"), "header": "Soak", "options": options,
            "multiSelect": multiple })
    };
    let asks = |items: &[Value]| json!({ "name": "AskUserQuestion", "args": { "questions": items } });
    let one = asks(&[item("one", false)]);
    let turns = [
        ("one", vec![one.clone()]),
        ("many", vec![asks(&[item("many", true)])]),
        ("both", vec![asks(&[item("first", false), item("second", false)])]),
        ("alike", vec![one.clone(), one]),
    ];
    let script = |(name, calls): (&str, Vec<Value>)| {
        let turns = json!([{ "text": "A question.", "calls": calls }, { "text": format!("Done {name}.") }]);
        (format!("{name}{actor}"), turns)
    };
    turns.map(script).into()
}

impl World {
    pub fn new(actors: usize) -> Result<Self> {
        let all: serde_json::Map<String, Value> = (0..actors).flat_map(scenarios).collect();
        let script =
            Script::from_value(json!({ "scenarios": all, "default": "one0", "plain": "A summary." }))?;
        let model = ScriptedModel::start_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), script)?;
        let env = ClaudeEnv::new(&model.base_url())?;
        for version in VERSIONS {
            let bin = env.place().home().join(version);
            std::fs::create_dir(&bin)?;
            let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", required(version)?.display());
            std::fs::write(bin.join("claude"), text)?;
            std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755))?;
        }
        let hub = Hub::builder(env!("CARGO_BIN_EXE_askd"))
            .env("CLAUDE_CONFIG_DIR", env.config_dir())
            .env("HOME", env.place().home())
            .start()?;
        let hooked = env.place().home().join("hooked.json");
        let ran =
            hub.run(["install".as_ref(), "claude".as_ref(), "--settings".as_ref(), hooked.as_os_str()])?;
        ensure!(ran.code == 0 && ran.stdout.contains("PermissionRequest"), "{ran:?}");
        Ok(Self { hub: RwLock::new(hub), model, env, hooked, notes: Mutex::default() })
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn may_be_unheard(&self, question: &Value) {
        self.notes().unheard.extend(question["id"].as_str().map(str::to_owned));
    }

    pub fn is_unheard(&self, question: &Value) -> bool {
        question["id"].as_str().is_some_and(|id| self.notes().unheard.contains(id))
    }

    pub fn trouble(&self, what: String) {
        eprintln!("trouble: {what}");
        self.notes().troubles.push(what);
    }

    pub fn troubles(&self) -> Vec<String> {
        std::mem::take(&mut self.notes().troubles)
    }

    pub fn http(&self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        self.hub.read().unwrap_or_else(PoisonError::into_inner).http(method, path, body)
    }

    /// Kills the hub, does something while there is none, and starts it again on the same data.
    pub fn without_hub(&self, meanwhile: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut hub = self.hub.write().unwrap_or_else(PoisonError::into_inner);
        hub.kill()?;
        let did = meanwhile();
        hub.restart()?;
        did
    }

    pub fn questions(&self, query: &str) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/questions?order=asc&limit=500&{query}{cursor}");
            let (status, mut page) = self.http("GET", &path, None)?;
            ensure!(status == 200, "{page}");
            all.extend(page["questions"].as_array_mut().map(std::mem::take).unwrap_or_default());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(all),
            }
        }
    }

    pub fn question(&self, id: &Value) -> Result<Value> {
        let (status, question) =
            self.http("GET", &format!("/v1/questions/{}", id.as_str().context("no id")?), None)?;
        ensure!(status == 200, "{question}");
        Ok(question)
    }

    /// Waits until nothing is on its way any more; what still is then is a difference.
    pub fn all_arrived(&self) {
        let is_on_its_way =
            |question: &Value| matches!(question["delivery"]["state"].as_str(), Some("queued" | "sent"));
        let end = Instant::now() + ARRIVES_WITHIN;
        while Instant::now() < end && !self.questions("").is_ok_and(|all| !all.iter().any(is_on_its_way)) {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
