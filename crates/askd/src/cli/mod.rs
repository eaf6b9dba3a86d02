//! The command line.

use std::process::ExitCode;

use crate::data::DataFolder;
use crate::engine::EngineSettings;
use crate::http::Doors;
use crate::hub::{Hub, HubOptions, asked_to_stop};

pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("holder") => {
            return match askd_adapters::transport::holder::run(std::path::Path::new(&args[2])) {
                Ok(code) => code,
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            };
        }
        Some("mock-agent") => {
            let code =
                askd_adapters::agents::mock::run(std::io::stdin(), std::io::stdout(), std::io::stderr());
            return ExitCode::from(code as u8);
        }
        _ => {}
    }
    let Ok(runtime) = tokio::runtime::Runtime::new() else { return ExitCode::FAILURE };
    let result: anyhow::Result<()> = runtime.block_on(async {
        let dir = std::env::args().nth(2).unwrap_or_default();
        let options = HubOptions {
            data: DataFolder::at(dir),
            listen: ([127, 0, 0, 1], 0).into(),
            doors: Doors::default(),
            beyond_loopback: false,
            settings: EngineSettings::default(),
            agents: Vec::new(),
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
