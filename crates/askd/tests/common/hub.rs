//! Starts `askd up`, finds its address and ends it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::{Client, Events, within};

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
        Hub { url, owner, asker, data: self.data, child, _lines: lines, _folder: self.folder }
    }

    /// Starts a hub and kills it after that time, wherever it is by then.
    pub async fn killed_after(self, life: std::time::Duration) {
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

/// A running hub. It is killed when the value goes.
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
    _folder: Option<TempDir>,
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
        next._folder = self._folder.take();
        next
    }
}
