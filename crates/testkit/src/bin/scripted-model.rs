//! `scripted-model SCRIPT`: the scripted model as a program, for trying an agent by hand.
//!
//! In: a script file (its form is described in `askd_testkit::model`), `--listen`. Out: the base address on
//! stdout, then answers until it is killed; `GET /__log` shows what the agents said.

use std::net::SocketAddr;
use std::path::PathBuf;

use askd_testkit::model::{Script, ScriptedModel};
use clap::Parser;

#[derive(Debug, Parser)]
#[command(about = "A model provider on loopback that says what a script says")]
struct Args {
    /// The script: a JSON file
    script: PathBuf,
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let model = ScriptedModel::start_on(args.listen, Script::from_file(&args.script)?)?;
    println!("{}", model.base_url());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
