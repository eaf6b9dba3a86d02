//! The two programs that are measured, each the real one on a folder of its own: askd, and sandbox-agent from
//! npm. Both start the same asking agent by the same script, which can tell what the agent hears at the
//! moment that it hears it.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Result;
use crate::hub::{Hub, rss_mb};
use crate::wire::Wire;

const PATIENCE: Duration = Duration::from_secs(20);
/// The name under which askd knows the agent.
const ASKER: &str = "asker";
/// How often a program that starts is asked whether it is healthy.
const EVERY: Duration = Duration::from_millis(1);

pub enum Program {
    Askd { hub: Hub, _launcher: TempDir },
    SandboxAgent(SandboxAgent),
}

impl Program {
    /// Both, askd first. `ears` are pipes, one for each, into which goes what its agents hear.
    pub async fn both(other: &Path, ears: [Option<&Path>; 2]) -> Result<[Self; 2]> {
        let folder = tempfile::tempdir()?;
        let launcher = folder.path().join("asker");
        write_launcher(&launcher, ears[0])?;
        let hub = Hub::start_with(&[format!("--agent={ASKER}={}", launcher.display())], &[]).await?;
        let askd = Self::Askd { hub, _launcher: folder };
        Ok([askd, Self::SandboxAgent(SandboxAgent::start(other, ears[1]).await?)])
    }

    /// The name of the asking agent.
    pub fn agent(&self) -> &'static str {
        match self {
            Self::Askd { .. } => ASKER,
            Self::SandboxAgent(_) => "mock",
        }
    }

    pub fn start_up_ms(&self) -> f64 {
        let time = match self {
            Self::Askd { hub, .. } => hub.start_up,
            Self::SandboxAgent(other) => other.start_up,
        };
        time.as_secs_f64() * 1000.0
    }

    pub fn pid(&self) -> u32 {
        match self {
            Self::Askd { hub, .. } => hub.pid(),
            Self::SandboxAgent(other) => other.child.id(),
        }
    }

    pub fn rss_mb(&self) -> Result<f64> {
        rss_mb(self.pid())
    }

    pub async fn wire(&self) -> Result<Wire> {
        match self {
            Self::Askd { hub, .. } => hub.wire().await,
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
    async fn start(program: &Path, ears: Option<&Path>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // Its agent `mock` is whatever stands at this place.
        let launchers = folder.path().join("sandbox-agent/bin/agent_processes");
        std::fs::create_dir_all(&launchers)?;
        write_launcher(&launchers.join("mock-acp"), ears)?;
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

fn write_launcher(path: &Path, ears: Option<&Path>) -> Result {
    let agent = format!("'{}' mock-agent", env!("CARGO_BIN_EXE_askd"));
    let script = match ears {
        Some(ears) => format!("#!/bin/sh\ntee '{}' | {agent}\n", ears.display()),
        None => format!("#!/bin/sh\nexec {agent}\n"),
    };
    std::fs::write(path, script)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
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
