//! The command line.

use std::process::ExitCode;

use crate::data::DataFolder;
use crate::engine::EngineSettings;
use crate::http::Doors;
use crate::hub::{Hub, HubOptions, asked_to_stop};

pub fn main() -> ExitCode {
    let Ok(runtime) = tokio::runtime::Runtime::new() else { return ExitCode::FAILURE };
    let result: anyhow::Result<()> = runtime.block_on(async {
        let dir = std::env::args().nth(2).unwrap_or_default();
        let options = HubOptions {
            data: DataFolder::at(dir),
            listen: ([127, 0, 0, 1], 0).into(),
            doors: Doors::default(),
            beyond_loopback: false,
            settings: EngineSettings::default(),
        };
        let hub = Hub::start(options).await?;
        println!("{}\n{}", hub.url, hub.login_link()?);
        asked_to_stop().await?;
        hub.stop().await
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
