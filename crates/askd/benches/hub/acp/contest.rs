//! The two programs that are measured, each the real one on a folder of its own: askd, and sandbox-agent from npm. Both start
//! the same asking agent, `askd mock-agent`, under the name `mock`.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Result;
use crate::hub::{Hub, rss_mb};
use crate::wire::Wire;

const PATIENCE: Duration = Duration::from_secs(20);
/// How often a program that starts is asked whether it is healthy.
const EVERY: Duration = Duration::from_millis(1);

pub enum Program {
    Askd(Hub),
    SandboxAgent(SandboxAgent),
}

impl Program {
    pub async fn askd() -> Result<Self> {
        Ok(Self::Askd(Hub::start().await?))
    }

    /// Both, askd first.
    pub async fn both(other: &Path) -> Result<[Self; 2]> {
        Ok([Self::askd().await?, Self::SandboxAgent(SandboxAgent::start(other).await?)])
    }

    pub fn start_up_ms(&self) -> f64 {
        let time = match self {
            Self::Askd(hub) => hub.start_up,
            Self::SandboxAgent(other) => other.start_up,
        };
        time.as_secs_f64() * 1000.0
    }

    pub fn rss_mb(&self) -> Result<f64> {
        match self {
            Self::Askd(hub) => hub.rss_mb(),
            Self::SandboxAgent(other) => rss_mb(other.child.id()),
        }
    }

    pub async fn wire(&self) -> Result<Wire> {
        match self {
            Self::Askd(hub) => hub.wire().await,
            Self::SandboxAgent(other) => Wire::connect(&other.url, "none").await,
        }
    }
}

pub struct SandboxAgent {
    child: Child,
    url: String,
    start_up: Duration,
    _folder: TempDir,
}

impl SandboxAgent {
    async fn start(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // Its agent `mock` is whatever stands at this place.
        let launchers = folder.path().join("sandbox-agent/bin/agent_processes");
        std::fs::create_dir_all(&launchers)?;
        let launcher = launchers.join("mock-acp");
        std::fs::write(&launcher, format!("#!/bin/sh\nexec '{}' mock-agent\n", env!("CARGO_BIN_EXE_askd")))?;
        std::fs::set_permissions(&launcher, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}");
        let began = Instant::now();
        let child = Command::new(program)
            .args(["server", "--no-token", "--no-telemetry", "--port", &port.to_string()])
            .env("HOME", folder.path())
            .env("XDG_DATA_HOME", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut started = Self { child, url, start_up: Duration::ZERO, _folder: folder };
        while !started.is_healthy().await {
            if began.elapsed() > PATIENCE {
                return Err("sandbox-agent did not become healthy".into());
            }
            tokio::time::sleep(EVERY).await;
        }
        started.start_up = began.elapsed();
        Ok(started)
    }

    async fn is_healthy(&self) -> bool {
        let Ok(mut wire) = Wire::connect(&self.url, "none").await else { return false };
        matches!(wire.call("GET", "/v1/health", "").await, Ok((200, _)))
    }
}

impl Drop for SandboxAgent {
    fn drop(&mut self) {
        // Asked first, so that it can end its agents.
        drop(Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status());
        let give_up = Instant::now() + Duration::from_secs(5);
        while Instant::now() < give_up && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The program of sandbox-agent, installed from npm into the cache where it is not there yet.
pub fn install() -> Result<std::path::PathBuf> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sandbox-agent/install");
    let output = Command::new(script).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("sandbox-agent could not be installed".into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().into())
}
