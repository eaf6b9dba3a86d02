//! Starts `askd up`, finds its address and ends it, with all that it has started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::{Client, Events, LIMIT, within};

/// Between two looks at processes that are about to end.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A hub that is about to be started.
pub struct Starting {
    data: PathBuf,
    folder: Option<TempDir>,
    args: Vec<String>,
    env: Vec<(String, String)>,
    /// What bash does before it becomes the hub.
    prelude: Option<String>,
    log: Option<PathBuf>,
}

impl Starting {
    /// On a new data folder that is deleted afterwards.
    pub fn fresh() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        Self { data, folder: Some(folder), args: Vec::new(), env: Vec::new(), prelude: None, log: None }
    }

    /// On a data folder that somebody else looks after.
    pub fn on(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            folder: None,
            args: Vec::new(),
            env: Vec::new(),
            prelude: None,
            log: None,
        }
    }

    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes everything that the hub logs, down to the least of it, into a file.
    pub fn log_all_to(mut self, path: &Path) -> Self {
        self.log = Some(path.to_owned());
        self.env("ASKD_LOG", "trace")
    }

    /// Lines of bash that are run in the hub's process before it becomes the hub.
    pub fn prelude(mut self, lines: &str) -> Self {
        self.prelude = Some(format!("{lines}; exec \"$@\""));
        self
    }

    fn command(&self) -> Command {
        let binary = env!("CARGO_BIN_EXE_askd");
        let mut command = match &self.prelude {
            None => Command::new(binary),
            Some(prelude) => {
                let mut shell = Command::new("bash");
                shell.args(["-c", prelude, "bash", binary]);
                shell
            }
        };
        command.arg("up").arg("--data").arg(&self.data);
        if !self.args.iter().any(|arg| arg == "--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        // The hub must not find the developer's own one.
        for name in ["ASKD_DATA", "ASKD_URL", "ASKD_TOKEN", "ASKD_SESSION", "ASKD_LOG"] {
            command.env_remove(name);
        }
        command.env("ASKD_NO_DISCOVERY", "1");
        command.env("ASKD_CONFIG", self.data.join("config.toml"));
        command.args(&self.args).envs(self.env.iter().cloned());
        if let Some(path) = &self.log {
            command.stderr(fs::File::create(path).unwrap());
        }
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Starts it and waits until it says where it is.
    pub async fn start(self) -> Hub {
        let mut child = self.command().stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = within("the hub to say where it is", async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some(url) = address(&line) {
                    return url;
                }
            }
            panic!("the hub ended without saying where it is: {:?}", child.wait().await);
        })
        .await;
        let read = |name: &str| fs::read_to_string(self.data.join(name)).unwrap().trim().to_owned();
        let owner = Client::new(&url, Some(&read("token")));
        let asker = Client::new(&url, Some(&read("ask-token")));
        Hub { url, owner, asker, data: self.data, child, _lines: lines, folder: self.folder }
    }

    /// Starts a hub and kills it after that time, wherever it is by then.
    pub async fn killed_after(self, life: Duration) {
        let mut child = self.command().stdout(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(life).await;
        child.kill().await.unwrap();
    }

    /// Starts a hub that must refuse to run, and gives back what it said about that.
    pub async fn refused(self) -> String {
        let mut child = self.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        within("the hub to refuse", async {
            let (mut said, mut printed) = (String::new(), String::new());
            err.read_to_string(&mut said).await.unwrap();
            out.read_to_string(&mut printed).await.unwrap();
            let status = child.wait().await.unwrap();
            assert!(!status.success(), "the hub ran: {printed}");
            assert_eq!(address(&printed), None, "a hub that refuses opens no port");
            said
        })
        .await
    }
}

fn address(line: &str) -> Option<String> {
    let start = line.find("http://")?;
    let rest = &line[start..];
    let end = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches('/').to_owned())
}

/// The processes that hold agents of this data folder.
pub fn holders(data: &Path) -> Vec<u32> {
    let Ok(data) = data.canonicalize() else { return Vec::new() };
    let is_ours = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).skip(1);
        words.next().as_deref() == Some("holder")
            && words.next().is_some_and(|spec| Path::new(spec.as_ref()).starts_with(&data))
    };
    processes().into_iter().filter(is_ours).collect()
}

fn processes() -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The processes that these have started, and all that those have.
fn started_by(parents: &[u32]) -> Vec<u32> {
    let parent_of = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let pairs: Vec<_> = processes().into_iter().filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let mut family = parents.to_vec();
    let mut at = 0;
    while let Some(parent) = family.get(at).copied() {
        family.extend(pairs.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    family.split_off(parents.len())
}

fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// A running hub. When the value goes it is killed, and so are the agents that it has started, which would
/// live on.
pub struct Hub {
    pub url: String,
    /// With the token that may do everything.
    pub owner: Client,
    /// With the token for hooks, which may only ask.
    pub asker: Client,
    pub data: PathBuf,
    child: Child,
    /// Kept open, so that the hub can go on printing.
    _lines: Lines<BufReader<ChildStdout>>,
    folder: Option<TempDir>,
}

impl Drop for Hub {
    fn drop(&mut self) {
        // Another hub goes on with a folder that is not this one's, and with its agents.
        if self.folder.is_none() {
            return;
        }
        let end = Instant::now() + LIMIT;
        let _ = self.child.start_kill();
        // A hub that still runs may start another agent. One that was waited for before has ended.
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(LOOK_AGAIN);
        }
        loop {
            let holders = holders(&self.data);
            if holders.is_empty() || Instant::now() > end {
                return;
            }
            // Found first: an agent whose holder is gone has another parent.
            let agents = started_by(&holders);
            holders.into_iter().chain(agents).for_each(kill);
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Hub {
    pub async fn start() -> Self {
        Starting::fresh().start().await
    }

    /// The address without `http://`.
    pub fn authority(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub async fn events(&self, query: &str) -> Events {
        self.owner.events(query).await
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    pub async fn ended(&mut self) -> ExitStatus {
        within("the hub to end", self.child.wait()).await.unwrap()
    }

    /// Ends it as a power cut would.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.ended().await;
    }

    /// Ends it politely and starts another one on the same data.
    pub async fn restarted(mut self) -> Self {
        self.signal(Signal::TERM);
        assert!(self.ended().await.success());
        let mut next = Starting::on(&self.data).start().await;
        next.folder = self.folder.take();
        next
    }
}
