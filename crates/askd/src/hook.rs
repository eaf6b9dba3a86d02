//! `askd hook claude`: what Claude Code runs. It must never be in the way: whatever goes wrong, it prints
//! nothing and ends well.
//!
//! In: the hook's input on stdin, the hub of the data folder, or the one that `ASKD_URL` and `ASKD_TOKEN`
//! name (from a container). Out: the decision on stdout once a person has made it, or nothing. There is one
//! short attempt to reach the hub; once the question was sent, the hook waits for it and comes back until it
//! is over.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use askd_agents::claude_hook::{HookEvent, HookInput, TIME_OUT_VARIABLE, time_out};
use askd_data::regular::open_regular;
use askd_data::socket_path::SocketPath;
use askd_holder::process::{command_line, in_container, inner_pid, own_namespace, own_pid, parent_chain};
use askd_wire::readable::readable;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, json};

use super::install::user_settings;
use askd_cli::client::{SOCKET_URL, over_address, over_socket};
use askd_data::{DataFolder, Missed, note_missed};

/// Bytes of a hook's input; Claude Code's largest plans are far below.
const MAX_INPUT: u64 = 4 << 20;
/// How long it may take to reach the hub. A hub that is reached may take its time: the dialog is on the
/// screen meanwhile.
const PATIENCE: Duration = Duration::from_millis(300);
/// The time for a report of a hook for which Claude Code does not wait.
const TELLING: Duration = Duration::from_secs(3);
/// Seconds of one wait at the hub; then the hook asks again.
const ONE_WAIT: u64 = 3600;
/// Pauses between attempts to reach a hub that has stopped.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(300), Duration::from_millis(1000)];
/// The pause between checks that Claude Code still lives.
const PARENT_EVERY: Duration = Duration::from_secs(2);
/// The shells between Claude Code and its hook.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "askd"];

#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// The agent of this hook
    #[arg(value_enum)]
    agent: HookAgent,
    /// This process was started by a hook that has already ended
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
    // No failure here concerns Claude Code: it asks its user itself.
    match attend(args.apart, data) {
        Some(()) | None => ExitCode::SUCCESS,
    }
}

fn attend(apart: bool, data: Option<PathBuf>) -> Option<()> {
    // Our own managed agent: its questions come by its own channel.
    if std::env::var_os("ASKD_SESSION").is_some() {
        return None;
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_INPUT).read_to_end(&mut bytes).ok()?;
    let text = readable(&bytes).into_owned();
    let input: HookInput = serde_json::from_str(&text).ok()?;
    let (event, _) = input.event()?;
    let decides = event == HookEvent::PermissionRequest;
    if !decides && !apart {
        // The dialog waits for this hook: another process reports to the hub.
        return start_apart(&text, data);
    }
    let mut report = json!({ "hook": format!("{:032x}", askd_hub::new_bits()), "input": input });
    if let Some((pid, namespace)) = agent_pid(apart).and_then(named_for_all) {
        report["pid"] = json!(pid);
        report["pidNamespace"] = json!(namespace);
    }
    if let Some(time) = times_out(&input) {
        report["timesOutMs"] = json!(u64::try_from(time.as_millis()).ok()?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let patience = std::env::var("ASKD_HOOK_PATIENCE_MS").ok().and_then(|text| text.parse().ok());
    let patience = patience.map_or(PATIENCE, Duration::from_millis);
    let hub = Hub::find(data, report, patience)?;
    let result = runtime.block_on(async {
        if !decides {
            return tokio::time::timeout(TELLING, hub.report(0)).await.ok()?.ok().map(drop);
        }
        let first = tokio::select! { first = hub.report(0) => first, () = orphaned() => return None };
        let first = match first {
            Ok(first) => first,
            // The hub may have the question: then it is to find its hook.
            Err(Trouble::Unknown) => Word::Open {},
            Err(Trouble::Never) => return None,
            Err(Trouble::Later) => {
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

/// Claude Code's own time-out, from its environment, which this process shares, and from its settings.
fn times_out(input: &HookInput) -> Option<Duration> {
    let project = input.cwd.as_deref().map(|cwd| Path::new(cwd).join(".claude"));
    let project = project
        .iter()
        .flat_map(|folder| ["settings.local.json", "settings.json"].map(|name| folder.join(name)));
    let files = project.chain(user_settings());
    let settings: Vec<Value> = files
        .filter_map(|path| {
            let mut bytes = Vec::new();
            open_regular(&path).ok()?.take(MAX_INPUT).read_to_end(&mut bytes).ok()?;
            serde_json::from_slice(&bytes).ok()
        })
        .collect();
    time_out(std::env::var(TIME_OUT_VARIABLE).ok().as_deref(), &settings)
}

/// Claude Code's process: the nearest parent that is no shell, numbered by the mounted `/proc`.
fn agent_pid(apart: bool) -> Option<i32> {
    if apart {
        return std::env::var("ASKD_HOOK_AGENT_PID").ok()?.parse().ok();
    }
    let chain = parent_chain(own_pid()?).ok()?;
    let is_agent = |pid: i32| {
        let words = command_line(pid).ok().flatten().unwrap_or_default();
        let name = words.first().map(|word| word.rsplit('/').next().unwrap_or(word).trim_start_matches('-'));
        name.is_some_and(|name| !SHELLS.contains(&name))
    };
    // The first process of a machine is none of ours; in a container it may be Claude Code.
    let first = if in_container() { 1 } else { 2 };
    let found = chain.iter().skip(1).find(|process| process.pid >= first && is_agent(process.pid))?;
    Some(found.pid)
}

/// The number of the agent's process in its PID namespace, and that namespace: the hub may live in another
/// one, where the number means another process. The hook runs in the namespace of its agent.
fn named_for_all(pid: i32) -> Option<(u32, u64)> {
    Some((inner_pid(pid)?, own_namespace()?))
}

/// Ends when the parent process has ended: then no program reads the hook's output.
async fn orphaned() {
    let parent = rustix::process::getppid();
    while rustix::process::getppid() == parent {
        tokio::time::sleep(PARENT_EVERY).await;
    }
}

struct Hub {
    place: Place,
    report: Value,
    http: reqwest::Client,
}

/// The address of the hub.
enum Place {
    /// The data folder of a hub on this machine.
    Folder {
        folder: DataFolder,
        /// Keeps a short name of a long path alive.
        _socket: SocketPath,
    },
    /// A hub that the environment names, with the token for it: how a container reaches the hub of its
    /// machine.
    Address { url: String, token: String },
}

/// Whether another attempt is useful.
enum Trouble {
    Later,
    /// The request was sent, and no answer came.
    Unknown,
    Never,
}

impl Hub {
    /// Looks for the hub in the data folder of the installation first, then in the environment, then in the
    /// usual data folder: the order of every other command. Settings that a container shares with its machine
    /// may name a missing folder.
    fn find(data: Option<PathBuf>, report: Value, patience: Duration) -> Option<Self> {
        let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        if data.as_ref().is_none_or(|folder| !folder.exists())
            && let Some(url) = named("ASKD_URL")
        {
            // Without a token nothing is sent: the token of a data folder is shown to no address.
            let token = named("ASKD_TOKEN")?.trim().to_owned();
            let http = over_address(&url).ok()?.connect_timeout(patience).build().ok()?;
            let url = url.trim_end_matches('/').to_owned();
            return Some(Self { place: Place::Address { url, token }, report, http });
        }
        let folder = data.map(DataFolder::at).or_else(DataFolder::from_environment)?;
        let socket = folder.socket_path().ok()?;
        let http = over_socket(&socket).connect_timeout(patience).build().ok()?;
        Some(Self { place: Place::Folder { folder, _socket: socket }, report, http })
    }

    /// The beginning of the hub's address, and the token for hooks. A folder's token is shown only to the
    /// socket of that folder, which only this user can use.
    fn address(&self) -> Option<(&str, String)> {
        match &self.place {
            Place::Address { url, token } => Some((url, token.clone())),
            Place::Folder { folder, .. } => {
                if !folder.check_socket().ok()? {
                    return None;
                }
                Some((SOCKET_URL, folder.read_token(&folder.ask_token()).ok()??))
            }
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Result<reqwest::Response, Trouble> {
        let (url, token) = self.address().ok_or(Trouble::Later)?;
        let request = self.http.post(format!("{url}{path}")).bearer_auth(token).json(body);
        let trouble =
            |error: reqwest::Error| if error.is_connect() { Trouble::Later } else { Trouble::Unknown };
        let response = request.send().await.map_err(trouble)?;
        match response.status().as_u16() {
            200..=299 => Ok(response),
            400 | 404 | 405 | 413 => Err(Trouble::Never),
            _ => Err(Trouble::Later),
        }
    }

    async fn report(&self, wait: u64) -> Result<Word, Trouble> {
        let response = self.post(&format!("/v1/hooks/claude?wait={wait}"), &self.report).await?;
        // A broken body is a broken connection: the hub may have been killed in the middle.
        response.json().await.map_err(|_| Trouble::Unknown)
    }

    /// The question is left to the terminal; `askd doctor` tells of it.
    fn missed(&self) {
        // A container has no folder of the hub, and nothing is written into a folder that others can use.
        let Place::Folder { folder, .. } = &self.place else { return };
        if folder.check().is_err() {
            return;
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let input = &self.report["input"];
        let missed = Missed {
            at: askd_cli::when::now(),
            agent: "claude".to_owned(),
            cwd: text(&input["cwd"]),
            question: text(&input["tool_input"]["questions"][0]["question"])
                .or_else(|| text(&input["tool_name"])),
        };
        // No failure here concerns Claude Code.
        drop(note_missed(&folder.missed(), &missed));
    }

    /// Asks again until there is a final reply.
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
                Err(Trouble::Later | Trouble::Unknown) => {
                    tokio::time::sleep(PAUSES[failures.min(PAUSES.len() - 1)]).await;
                    failures += 1;
                    Word::Open {}
                }
            };
        }
    }
}
