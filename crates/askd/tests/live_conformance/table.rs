//! The table of the whole suite, as docs/agents.md shows it. In: descriptors, scripts, scenes and casts. Out:
//! a line per scenario with the word of each agent, the number of scripts behind it, and whether the real
//! program plays it.
//!
//! Each cell is judged elsewhere: scripts by `codec_conformance` of the adapters, scenes by their own tests
//! here.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use askd_agents::{Capability, ClaimState, Descriptor, Registry};

use super::{Part, casting, part};

const BEGIN: &str = "<!-- agents -->\n";
const END: &str = "<!-- /agents -->";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn word(state: ClaimState) -> &'static str {
    match state {
        ClaimState::Proven => "proven",
        ClaimState::Declared => "declared",
        ClaimState::No => "no",
    }
}

/// How many scripts of a suite play a scenario.
fn scripts(suite: &str, scenario: &str) -> usize {
    let folder = repository().join("crates/agents/conformance").join(suite);
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let of_scenario = |name: &str| {
        let stem = name.strip_suffix(".script").unwrap_or(name);
        stem.split("--").next() == Some(scenario)
    };
    names.filter(|name| name.to_str().is_some_and(of_scenario)).count()
}

fn cell(descriptor: &Descriptor, capability: Capability) -> String {
    let state = descriptor.claim(capability).map_or(ClaimState::No, |claim| claim.state);
    if state == ClaimState::No {
        return word(state).to_owned();
    }
    let count = match scripts(descriptor.suite, capability.scenario()) {
        0 => None,
        1 => Some("1 script".to_owned()),
        n => Some(format!("{n} scripts")),
    };
    let plays = |casting| part(casting, capability.scenario()) == Part::Plays;
    let live = casting(&descriptor.name).is_some_and(plays).then(|| "live".to_owned());
    let by: Vec<String> = count.into_iter().chain(live).collect();
    if by.is_empty() { word(state).to_owned() } else { format!("{}: {}", word(state), by.join(", ")) }
}

fn agent(descriptor: &Descriptor) -> String {
    let total = Capability::ALL.len();
    let with =
        |state: ClaimState| descriptor.capabilities.iter().filter(|claim| claim.state == state).count();
    let scenarios = match (with(ClaimState::Proven), with(ClaimState::Declared)) {
        (0, 0) => "-".to_owned(),
        (proven, 0) => format!("{proven} of {total} proven"),
        (proven, declared) => format!("{proven} proven, {declared} declared, of {total}"),
    };
    let Descriptor { name, title, questions, .. } = descriptor;
    format!("| `{name}` | {title} | {} | {scenarios} | {} |\n", word(questions.state), questions.why)
}

fn table() -> String {
    let registry = Registry::built_in();
    let mut table =
        "| name | agent | questions | scenarios | what to know |\n|---|---|---|---|---|\n".to_owned();
    table.extend(registry.iter().map(|adapter| agent(adapter.descriptor())));
    let built: Vec<&Descriptor> = registry
        .iter()
        .filter(|adapter| adapter.codec().is_ok())
        .map(|adapter| adapter.descriptor())
        .collect();
    let names: Vec<&str> = built.iter().map(|descriptor| descriptor.name.as_str()).collect();
    table.push_str(&format!("\n| scenario | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len())));
    for &capability in Capability::ALL {
        let cells: Vec<String> = built.iter().map(|descriptor| cell(descriptor, capability)).collect();
        table.push_str(&format!("| {} | {} |\n", capability.scenario(), cells.join(" | ")));
    }
    table
}

pub fn the_document_shows_it() -> anyhow::Result<()> {
    let path = repository().join("docs/agents.md");
    let document = std::fs::read_to_string(&path)?;
    let (before, rest) = document.split_once(BEGIN).context("docs/agents.md has no place for the table")?;
    let (written, after) = rest.split_once(END).context("the table does not end")?;
    let wanted = table();
    println!("{wanted}");
    if written != wanted && std::env::var_os("UPDATE_AGENTS").is_some() {
        return Ok(std::fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}"))?);
    }
    ensure!(
        written == wanted,
        "write it again with: UPDATE_AGENTS=1 cargo nextest run -p askd --test live_conformance table"
    );
    Ok(())
}
