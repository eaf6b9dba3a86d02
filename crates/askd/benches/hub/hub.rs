//! The hub under measurement: the real binary on a folder of its own, ended by its id.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Result;
use crate::wire::Wire;

pub const ASK: &str = r#"{"questions":[{"question":"Which auth method should we use?","header":"Auth method","options":[{"label":"JWT","description":"Stateless tokens"},{"label":"Session cookies","description":"Server-side sessions"}]}],"context":{"cwd":"/home/me/app","title":"add a login page"}}"#;
pub const REPLY: &str = r#"{"answers":[["JWT"]]}"#;

pub struct Hub {
    child: Child,
    pub url: String,
    pub token: String,
    /// From the start of the process until it answered as healthy.
    pub start_up: Duration,
    folder: TempDir,
}

impl Hub {
    pub async fn start() -> Result<Self> {
        Self::start_with(&[], &[]).await
    }

    /// With these arguments and these in its environment.
    pub async fn start_with(args: &[String], environment: &[(&str, &Path)]) -> Result<Self> {
        Self::start_as_installed(&[&["--no-discovery".to_owned()], args].concat(), environment).await
    }

    /// The same, and it looks for agents' servers on this machine, as it does for everybody.
    pub async fn start_as_installed(args: &[String], environment: &[(&str, &Path)]) -> Result<Self> {
        let private = std::fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().permissions(private).tempdir()?;
        let began = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_askd"))
            .args(["up", "--listen", "127.0.0.1:0", "--end-agents", "--data"])
            .arg(folder.path())
            .args(args)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
        let url = line.trim().trim_start_matches("inbox: ").to_owned();
        let token = std::fs::read_to_string(folder.path().join("token"))?.trim().to_owned();
        let (status, _) = Wire::connect(&url, &token).await?.call("GET", "/v1/health", "").await?;
        if status != 200 {
            return Err(format!("health answered {status}").into());
        }
        Ok(Self { child, url, token, start_up: began.elapsed(), folder })
    }

    pub async fn wire(&self) -> Result<Wire> {
        Wire::connect(&self.url, &self.token).await
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn data(&self) -> &Path {
        self.folder.path()
    }

    pub fn rss_mb(&self) -> Result<f64> {
        rss_mb(self.pid())
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // Politely first, so that managed agents end; the patience is for them.
        let pid = self.child.id().to_string();
        drop(Command::new("kill").args(["-TERM", &pid]).status());
        let give_up = Instant::now() + Duration::from_secs(20);
        while Instant::now() < give_up && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Resident memory of a process, in megabytes.
pub fn rss_mb(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kb: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kb / 1024.0)
}

/// Seconds that a process has had a processor, with the threads that it had before.
pub fn processor_seconds(pid: u32) -> Result<f64> {
    // In hundredths, as Linux tells it to programs on every machine.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field =
        |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).ok_or("no processor time");
    Ok((field(11)? + field(12)?) / TICKS)
}

/// The seconds that the threads of a process have had a processor, to the nanosecond, also of those that have
/// ended since a look.
#[derive(Default)]
pub struct ThreadTimes(HashMap<OsString, f64>);

impl ThreadTimes {
    pub fn look(&mut self, pid: u32) -> Result {
        for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = thread?;
            // A thread may have ended since.
            let Ok(text) = std::fs::read_to_string(thread.path().join("schedstat")) else { continue };
            let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse()?;
            self.0.insert(thread.file_name(), nanoseconds / 1e9);
        }
        Ok(())
    }

    pub fn seconds(&self) -> f64 {
        self.0.values().sum()
    }
}
