//! `askd hook claude`: what Claude Code runs. It must never be in the way: whatever goes wrong, it prints nothing and ends well.
//!
//! In: the hook's input on stdin, the hub of the data folder. Out: the decision on stdout once a person has made it, or nothing.
//! Until the hub has acknowledged the question there is one short attempt; after that the hook comes back until it is over.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use askd_adapters::agents::claude_hook::{HookEvent, HookInput};
use askd_adapters::transport::process::{command_line, parent_chain};
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::data::{DataFolder, Missed, note_missed, read_secret};

/// What a hook may be given; Claude Code's largest plans are far below.
const MAX_INPUT: u64 = 4 << 20;
/// How long the hub may take to acknowledge a question. The dialog is on the screen meanwhile.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long a hook that only tells something may take; nobody waits for it.
const TELLING: Duration = Duration::from_secs(3);
/// One wait at the hub, in seconds; after that it is asked again.
const ONE_WAIT: u64 = 3600;
/// Pauses between attempts to reach a hub that has gone away.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(300), Duration::from_millis(1000)];
/// How often the hook looks whether Claude Code is still there.
const PARENT_EVERY: Duration = Duration::from_secs(2);
/// What stands between Claude Code and its hook.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "askd"];

#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// Whose hook this is
    #[arg(value_enum)]
    agent: HookAgent,
    /// This process was started by a hook that has ended already
    #[arg(long, hide = true)]
    apart: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum HookAgent {
    Claude,
}

/// The hub's answer to a report.
#[derive(Debug, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Word {
    Open {},
    Decided { question_id: String, output: Value },
    Over {},
}

pub(super) fn hook(args: &HookArgs, data: Option<PathBuf>) -> ExitCode {
    let HookAgent::Claude = args.agent;
    // Nothing that fails here concerns Claude Code: it asks its user itself.
    match attend(args.apart, data) {
        Some(()) | None => ExitCode::SUCCESS,
    }
}

fn attend(apart: bool, data: Option<PathBuf>) -> Option<()> {
    // Our own managed agent: its questions come by its own channel.
    if std::env::var_os("ASKD_SESSION").is_some() {
        return None;
    }
    let mut text = String::new();
    std::io::stdin().lock().take(MAX_INPUT).read_to_string(&mut text).ok()?;
    let input: HookInput = serde_json::from_str(&text).ok()?;
    let (event, _) = input.event()?;
    let folder = data.clone().map(DataFolder::at).or_else(DataFolder::from_environment)?;
    let decides = event == HookEvent::PermissionRequest;
    if !decides && !apart {
        // The dialog waits for this hook: somebody else tells the hub.
        return start_apart(&text, data);
    }
    let report = json!({ "hook": format!("{:032x}", crate::engine::new_bits()), "pid": agent_pid(apart), "input": input });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let hub = Hub { folder, report, http: reqwest::Client::builder().no_proxy().build().ok()? };
    let result = runtime.block_on(async {
        if !decides {
            return tokio::time::timeout(TELLING, hub.report(0)).await.ok()?.ok().map(drop);
        }
        let patience = std::env::var("ASKD_HOOK_PATIENCE_MS").ok().and_then(|text| text.parse().ok());
        let patience = patience.map_or(PATIENCE, Duration::from_millis);
        let first = match tokio::time::timeout(patience, hub.report(0)).await {
            Ok(Ok(first)) => first,
            Ok(Err(Trouble::Never)) => return None,
            Ok(Err(Trouble::Later)) | Err(_) => {
                hub.missed();
                return None;
            }
        };
        tokio::select! { done = hub.wait(first) => done, () = orphaned() => None }
    });
    runtime.shutdown_background();
    result
}

/// Hands the input to a process of its own and does not wait for it.
fn start_apart(text: &str, data: Option<PathBuf>) -> Option<()> {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(std::env::current_exe().ok()?);
    if let Some(data) = data {
        command.arg("--data").arg(data);
    }
    command.args(["hook", "claude", "--apart"]).env("ASKD_HOOK_AGENT_PID", agent_pid(false)?.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()
}

/// The process of Claude Code: the nearest parent that is no shell.
fn agent_pid(apart: bool) -> Option<u32> {
    if apart {
        return std::env::var("ASKD_HOOK_AGENT_PID").ok()?.parse().ok();
    }
    let own = i32::try_from(std::process::id()).ok()?;
    let chain = parent_chain(own).ok()?;
    let is_agent = |pid: i32| {
        let words = command_line(pid).ok().flatten().unwrap_or_default();
        let name = words.first().map(|word| word.rsplit('/').next().unwrap_or(word).trim_start_matches('-'));
        name.is_some_and(|name| !SHELLS.contains(&name))
    };
    let found = chain.iter().skip(1).find(|process| process.pid > 1 && is_agent(process.pid))?;
    u32::try_from(found.pid).ok()
}

/// Ends when the process that started this one is gone: nobody reads what the hook prints.
async fn orphaned() {
    let parent = rustix::process::getppid();
    while rustix::process::getppid() == parent {
        tokio::time::sleep(PARENT_EVERY).await;
    }
}

struct Hub {
    folder: DataFolder,
    report: Value,
    http: reqwest::Client,
}

/// Whether it is worth to come back.
enum Trouble {
    Later,
    Never,
}

impl Hub {
    /// Where the hub is now, and the token for hooks. A hub that has ended is not spoken to: its port may be another's.
    fn address(&self) -> Option<(String, String)> {
        let info = self.folder.read_hub_info()?;
        let pid = i32::try_from(info.pid).ok().and_then(rustix::process::Pid::from_raw)?;
        rustix::process::test_kill_process(pid).ok()?;
        Some((info.url, read_secret(&self.folder.ask_token()).ok()??))
    }

    async fn post(&self, path: &str, body: &Value) -> Result<reqwest::Response, Trouble> {
        let (url, token) = self.address().ok_or(Trouble::Later)?;
        let request = self.http.post(format!("{url}{path}")).bearer_auth(token).json(body);
        let response = request.send().await.map_err(|_| Trouble::Later)?;
        match response.status().as_u16() {
            200..=299 => Ok(response),
            400 | 404 | 405 | 413 => Err(Trouble::Never),
            _ => Err(Trouble::Later),
        }
    }

    async fn report(&self, wait: u64) -> Result<Word, Trouble> {
        let response = self.post(&format!("/v1/hooks/claude?wait={wait}"), &self.report).await?;
        // A broken body is a broken connection: the hub may have been killed in the middle.
        response.json().await.map_err(|_| Trouble::Later)
    }

    /// The question is left to the terminal; `askd doctor` tells of it.
    fn missed(&self) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let input = &self.report["input"];
        let missed = Missed {
            at: super::when::now(),
            agent: "claude".to_owned(),
            cwd: text(&input["cwd"]),
            question: text(&input["tool_input"]["questions"][0]["question"])
                .or_else(|| text(&input["tool_name"])),
        };
        // Nothing that fails here concerns Claude Code.
        drop(note_missed(&self.folder.missed(), &missed));
    }

    /// Comes back until there is a word that ends it.
    async fn wait(&self, first: Word) -> Option<()> {
        let mut word = first;
        let mut failures = 0;
        loop {
            match word {
                Word::Over {} => return None,
                Word::Decided { question_id, output } => {
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "{output}").and_then(|()| out.flush()).ok()?;
                    drop(out);
                    let took = json!({ "hook": self.report["hook"] });
                    let path = format!("/v1/hooks/claude/{question_id}/took");
                    drop(tokio::time::timeout(PATIENCE, self.post(&path, &took)).await);
                    return Some(());
                }
                Word::Open {} => {}
            }
            word = match self.report(ONE_WAIT).await {
                Ok(word) => {
                    failures = 0;
                    word
                }
                Err(Trouble::Never) => return None,
                Err(Trouble::Later) => {
                    tokio::time::sleep(PAUSES[failures.min(PAUSES.len() - 1)]).await;
                    failures += 1;
                    Word::Open {}
                }
            };
        }
    }
}
