//! `./bench`: the numbers of the hub as one table, each with what it is measured against in the same run.
//!
//! In: names of sections (all but `history` unless given). Out: a table on stdout. Machines are noisy, so what counts is the ratio.

mod fanout;
mod hub;
mod latency;
mod lists;
mod memory;
mod raw;
mod sessions;
mod startup;
mod table;
mod throughput;
mod transcripts;
mod wire;

use table::Table;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const SECTIONS: [&str; 8] =
    ["startup", "throughput", "latency", "fanout", "memory", "sessions", "transcripts", "history"];

#[tokio::main]
async fn main() -> Result {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if let Some(unknown) = given.iter().find(|name| !SECTIONS.contains(&name.as_str())) {
        return Err(format!("there is no section {unknown}; the sections are {}", SECTIONS.join(", ")).into());
    }
    let wanted = |name: &str| given.is_empty() || given.iter().any(|given| given == name);
    let mut table = Table::default();
    if wanted("startup") {
        startup::run(&mut table).await?;
    }
    if wanted("throughput") {
        throughput::run(&mut table).await?;
    }
    if wanted("latency") {
        latency::run(&mut table).await?;
    }
    if wanted("fanout") {
        fanout::run(&mut table).await?;
    }
    if wanted("memory") {
        memory::run(&mut table).await?;
    }
    if wanted("sessions") {
        sessions::run(&mut table).await?;
    }
    if wanted("transcripts") {
        transcripts::run(&mut table).await?;
    }
    if wanted("history") {
        lists::run(&mut table).await?;
    }
    println!("\n{}", table.text());
    Ok(())
}
