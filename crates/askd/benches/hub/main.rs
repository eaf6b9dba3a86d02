//! `./bench`: the numbers of the hub as one table, each with what it is measured against in the same run.
//!
//! In: names of sections (all of them unless given). Out: a table on stdout. Machines are noisy, so what
//! counts is the ratio.

mod acp;
mod fanout;
mod hub;
mod latency;
mod lists;
mod memory;
mod opencode;
mod page;
mod raw;
mod sessions;
mod startup;
mod table;
mod throughput;
mod transcripts;
mod wire;

use table::Table;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// In the order in which they are run and printed.
const SECTIONS: &[&str] = &[
    "startup",
    "throughput",
    "latency",
    "fanout",
    "memory",
    "sessions",
    "transcripts",
    "acp",
    "opencode",
    "page",
    "history",
];

#[tokio::main]
async fn main() -> Result {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if let Some(unknown) = given.iter().find(|name| !SECTIONS.contains(&name.as_str())) {
        return Err(format!("there is no section {unknown}; the sections are {}", SECTIONS.join(", ")).into());
    }
    let wanted = |name: &str| given.is_empty() || given.iter().any(|given| given == name);
    let mut table = Table::default();
    for section in SECTIONS.iter().copied().filter(|section| wanted(section)) {
        match section {
            "startup" => startup::run(&mut table).await?,
            "throughput" => throughput::run(&mut table).await?,
            "latency" => latency::run(&mut table).await?,
            "fanout" => fanout::run(&mut table).await?,
            "memory" => memory::run(&mut table).await?,
            "sessions" => sessions::run(&mut table).await?,
            "transcripts" => transcripts::run(&mut table).await?,
            "acp" => acp::run(&mut table).await?,
            // Only who names one is told that it cannot be had.
            "opencode" if given.is_empty() && opencode::missing().is_some() => {
                let why = opencode::missing().unwrap_or_default();
                table.row("opencode", "not measured".to_owned(), why, "");
            }
            "opencode" => opencode::run(&mut table).await?,
            "page" if given.is_empty() && page::missing().is_some() => {
                let why = page::missing().unwrap_or_default().to_owned();
                table.row("page", "not measured".to_owned(), why, "");
            }
            "page" => page::run(&mut table).await?,
            _ => lists::run(&mut table).await?,
        }
    }
    println!("\n{}", table.text());
    Ok(())
}
