//! A real hub for tests: the binary under test, started on a data folder of its own and ended with the test.
//!
//! In: the path of the binary (`env!("CARGO_BIN_EXE_askd")`). Out: its address, its tokens, its log, small
//! HTTP requests and runs of the command line against it. It can be killed without warning and started again
//! on the same data and port. Everything has an end: what takes longer than [`PATIENCE`] fails with what was
//! seen so far.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpSocket;

/// How long anything may take: generous, because CI has two slow cores.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long a holder may take to end its agent before it is killed.
const FAREWELL: Duration = Duration::from_secs(20);
/// Any free port of this machine.
const ANYWHERE: &str = "127.0.0.1:0";
/// How often the port of a killed hub is tried again, in case the system has not freed it yet.
const RESTARTS: usize = 20;

/// How to start a hub.
#[derive(Debug, Clone)]
pub struct HubBuilder {
    exe: PathBuf,
    data: Option<PathBuf>,
    listen: String,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
}

impl HubBuilder {
    /// A data folder that outlives the hub; without it one is made and removed.
    pub fn data(mut self, path: impl Into<PathBuf>) -> Self {
        self.data = Some(path.into());
        self
    }

    /// Where to listen; any free port of this machine unless given.
    pub fn listen(mut self, address: &str) -> Self {
        self.listen = address.to_owned();
        self
    }

    /// One more argument of `askd up`.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn start(mut self) -> anyhow::Result<Hub> {
        let port = if self.listen == ANYWHERE { Some(reserved_port()?) } else { None };
        if let Some(port) = &port {
            self.listen = port.local_addr()?.to_string();
        }
        let temporary = tempfile::Builder::new().prefix("askd-test-").tempdir()?;
        let data = self.data.clone().unwrap_or_else(|| temporary.path().join("data"));
        let log = temporary.path().join("hub.log");
        let url = String::new();
        let mut hub = Hub { url, data, log, child: None, how: self, _port: port, _temporary: temporary };
        hub.spawn()?;
        Ok(hub)
    }
}

/// A throw-away folder that a hub takes for its data: others cannot use it.
pub fn private_folder() -> std::io::Result<TempDir> {
    tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o700)).tempdir()
}

/// A running hub. It is killed when it goes out of scope.
#[derive(Debug)]
pub struct Hub {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    /// The data folder.
    pub data: PathBuf,
    log: PathBuf,
    child: Option<Child>,
    how: HubBuilder,
    /// Kept from others while the hub is down.
    _port: Option<TcpSocket>,
    _temporary: TempDir,
}

/// A port that the system gives to nobody else. A socket that is bound and does not listen stands in nobody's
/// way who names it.
fn reserved_port() -> anyhow::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(ANYWHERE.parse()?)?;
    Ok(socket)
}

impl Hub {
    pub fn start(exe: impl AsRef<Path>) -> anyhow::Result<Self> {
        Self::builder(exe).start()
    }

    pub fn builder(exe: impl AsRef<Path>) -> HubBuilder {
        let exe = exe.as_ref().to_owned();
        HubBuilder { exe, data: None, listen: ANYWHERE.to_owned(), args: Vec::new(), env: Vec::new() }
    }

    /// The token with all rights.
    pub fn token(&self) -> anyhow::Result<String> {
        self.secret("token")
    }

    /// The token that may only ask.
    pub fn ask_token(&self) -> anyhow::Result<String> {
        self.secret("ask-token")
    }

    fn secret(&self, name: &str) -> anyhow::Result<String> {
        let path = self.data.join(name);
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.trim().to_owned())
    }

    /// The process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The holders of the agents that this hub has started: they outlive a killed hub on purpose, but not the
    /// test.
    pub fn holders(&self) -> Vec<u32> {
        let Ok(data) = self.data.canonicalize() else { return Vec::new() };
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let ours = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).skip(1);
            words.next().as_deref() == Some("holder")
                && words.next().is_some_and(|spec| Path::new(spec.as_ref()).starts_with(&data))
        };
        pids.filter(ours).collect()
    }

    /// What the hub wrote to stderr, over all its starts.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it without warning (SIGKILL).
    pub fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    pub fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        self.end_by("TERM")
    }

    /// The same as Ctrl-C (SIGINT).
    pub fn interrupt(&mut self) -> anyhow::Result<ExitStatus> {
        self.end_by("INT")
    }

    fn end_by(&mut self, name: &str) -> anyhow::Result<ExitStatus> {
        let mut child = self.child.take().context("the hub does not run")?;
        signal(child.id(), name)?;
        let ended = wait(&mut child, PATIENCE);
        if ended.is_err() {
            drop(child.kill());
            drop(child.wait());
        }
        ended.with_context(|| format!("the hub did not end at SIG{name}; its log:\n{}", self.log()))
    }

    /// Starts it again on the same data and port, after `kill` or `stop`.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        ensure!(self.child.is_none(), "the hub still runs");
        self.how.listen = self.url.trim_start_matches("http://").to_owned();
        for _ in 1..RESTARTS {
            if self.spawn().is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(100));
        }
        self.spawn()
    }

    /// Starts it again on the same data and any free port, after `kill` or `stop`.
    pub fn restart_elsewhere(&mut self) -> anyhow::Result<()> {
        ensure!(self.child.is_none(), "the hub still runs");
        ANYWHERE.clone_into(&mut self.how.listen);
        self.spawn()
    }

    fn spawn(&mut self) -> anyhow::Result<()> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(&self.how.exe);
        clean_environment(&mut command);
        command
            .arg("up")
            .args(["--listen", &self.how.listen])
            .arg("--data")
            .arg(&self.data)
            .args(&self.how.args);
        // Other tests' servers are none of its business, unless a test says otherwise.
        command.env("ASKD_NO_DISCOVERY", "1");
        command.env("ASKD_CONFIG", self.data.join("config.toml"));
        command.envs(self.how.env.iter().map(|(name, value)| (name, value)));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()?;
        let stdout = child.stdout.take().context("no stdout")?;
        self.child = Some(child);
        let (sender, address) = mpsc::channel();
        thread::spawn(move || {
            // Read to the end, so that the hub never waits for us.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(url) = line.split_whitespace().find(|word| word.starts_with("http://")) {
                    drop(sender.send(url.split("/#").next().unwrap_or(url).trim_end_matches('/').to_owned()));
                }
            }
        });
        match address.recv_timeout(PATIENCE) {
            Ok(url) => {
                self.url = url;
                Ok(())
            }
            Err(_) => {
                drop(self.kill());
                bail!("the hub did not say its address; its log:\n{}", self.log())
            }
        }
    }

    /// One request with the all-rights token: the status, and the JSON of the answer (`null` where there is
    /// none).
    pub fn http(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<(u16, Value)> {
        self.http_as(&self.token()?, method, path, body)
    }

    /// The same from another surface, such as `web`.
    pub fn http_on(
        &self,
        surface: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(u16, Value)> {
        self.request(&self.token()?, &format!("Askd-Surface: {surface}\r\n"), method, path, body)
    }

    /// The same with another token.
    pub fn http_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(u16, Value)> {
        self.request(token, "", method, path, body)
    }

    fn request(
        &self,
        token: &str,
        more: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(u16, Value)> {
        let host = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).with_context(|| format!("no hub at {host}"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = body.map(Value::to_string);
        let content = if body.is_some() { "Content-Type: application/json\r\n" } else { "" };
        let body = body.unwrap_or_default();
        // HTTP/1.0: the answer ends with the connection and is not in chunks.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{more}{content}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let text = String::from_utf8(answer).context("the answer is not text")?;
        let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("not an answer: {text}"))?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
        let json = if body.trim().is_empty() { Value::Null } else { serde_json::from_str(body)? };
        Ok((status, json))
    }

    /// Asks, and gives the question.
    pub fn ask(&self, question: &Value) -> anyhow::Result<Value> {
        let (status, json) = self.http("POST", "/v1/questions", Some(question))?;
        ensure!(status == 201, "asking gave {status}: {json}");
        Ok(json)
    }

    /// The command line of the same binary, set up for this hub and nothing else of the machine.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.how.exe);
        clean_environment(&mut command);
        command.env("ASKD_DATA", &self.data).env("ASKD_CONFIG", self.data.join("config.toml")).args(args);
        command
    }

    /// Runs a command to its end.
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> anyhow::Result<Ran> {
        run(&mut self.command(args), "")
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        drop(self.kill());
        let end = Instant::now() + FAREWELL;
        let mut asked: Vec<u32> = Vec::new();
        // The folder goes away after this, so they must have written their last words before.
        loop {
            let holders = self.holders();
            if holders.is_empty() {
                return;
            }
            let late = Instant::now() > end;
            for pid in holders {
                if late {
                    drop(signal(pid, "KILL"));
                } else if !asked.contains(&pid) {
                    asked.push(pid);
                    drop(signal(pid, "TERM"));
                }
            }
            if late {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; -1 if a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("not JSON: {self:?}"))
    }
}

/// Runs a command to its end with `stdin` as its input; one that does not end is killed and is an error.
pub fn run(command: &mut Command, stdin: &str) -> anyhow::Result<Ran> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("no stdin")?;
    let stdin = stdin.to_owned();
    // A command that does not read its input is not at fault.
    thread::spawn(move || drop(input.write_all(stdin.as_bytes())));
    let stdout = collect(child.stdout.take().context("no stdout")?);
    let stderr = collect(child.stderr.take().context("no stderr")?);
    let ended = wait(&mut child, PATIENCE);
    if ended.is_err() {
        drop(child.kill());
        drop(child.wait());
    }
    let text = |thread: thread::JoinHandle<String>| thread.join().unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    let status = ended.with_context(|| format!("{command:?}\nstdout: {stdout}\nstderr: {stderr}"))?;
    Ok(Ran { code: status.code().unwrap_or(-1), stdout, stderr })
}

fn collect(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(from.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a process.
pub fn wait(child: &mut Child, patience: Duration) -> anyhow::Result<ExitStatus> {
    let end = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        ensure!(Instant::now() < end, "process {} did not end in {patience:?}", child.id());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal to one process: `signal(pid, "TERM")`.
pub fn signal(pid: u32, name: &str) -> anyhow::Result<()> {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status()?;
    ensure!(status.success(), "cannot send SIG{name} to {pid}");
    Ok(())
}

/// Nothing of the user's own askd, and no refusal because the tests themselves were started by an agent.
fn clean_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("ASKD_")) {
            command.env_remove(name);
        }
    }
    command.env("ASKD_ALLOW_INSIDE_AGENT", "1");
}
