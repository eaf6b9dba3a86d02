//! The published OpenCode SDK as a client of a hub. In: a hub, and how its next question is to be answered.
//! Out: the request and the last state of its tool part, as that client saw them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use askd_testkit::hub::Hub;
use askd_testkit::programs::{Running, required};
use serde_json::Value;

/// Where the SDK is installed; `./test` does it.
pub const PACKAGES: &str = "tests/opencode-sdk";
/// The longest that anything may take on a busy machine.
const STEP: Duration = Duration::from_secs(60);

pub struct Renderer(Running);

impl Renderer {
    /// Listens from now on, and does this to the first question that is asked.
    pub async fn start(hub: &Hub, wish: &Value) -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PACKAGES);
        let mut command = Command::new(required("node")?);
        command.current_dir(folder).arg("renderer.js").arg(format!("{}/opencode", hub.url));
        command.arg(wish.to_string()).env("PASSWORD", hub.token()?);
        let mut running = Running::start(command)?;
        running.line("that it listens", STEP, |line| (line == "listening").then_some(())).await?;
        Ok(Self(running))
    }

    /// `request` and `part`, once the part is over.
    pub async fn seen(mut self) -> Result<Value> {
        Ok(self.0.line("the end of the part", STEP, |line| serde_json::from_str(line).ok()).await?)
    }
}
