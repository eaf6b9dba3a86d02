//! To be written: stand-ins until the hub is merged.

use std::path::Path;
use std::process::ExitCode;

use crate::cli::up::{DemoOptions, UpOptions};

pub async fn up(_options: UpOptions) -> anyhow::Result<()> {
    anyhow::bail!("the hub is not built yet")
}

pub async fn demo(_options: DemoOptions) -> anyhow::Result<()> {
    anyhow::bail!("the hub is not built yet")
}

pub fn holder(_spec: &Path) -> ExitCode {
    ExitCode::FAILURE
}

pub fn mock_agent(_args: &[String]) -> ExitCode {
    ExitCode::FAILURE
}
