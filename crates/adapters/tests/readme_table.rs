//! The README's table of agents is made from the descriptors: what askd claims in the product is what its front page says.

use std::path::Path;

use askd_adapters::{Capability, ClaimState, Descriptor, Registry};

const BEGIN: &str = "<!-- agents -->\n";
const END: &str = "<!-- /agents -->";

fn word(state: ClaimState) -> &'static str {
    match state {
        ClaimState::Proven => "proven",
        ClaimState::Declared => "declared",
        ClaimState::No => "no",
    }
}

fn row(descriptor: &Descriptor) -> String {
    let total = Capability::ALL.len();
    let with =
        |state: ClaimState| descriptor.capabilities.iter().filter(|claim| claim.state == state).count();
    let scenarios = match (with(ClaimState::Proven), with(ClaimState::Declared)) {
        (0, 0) => "-".to_owned(),
        (proven, 0) => format!("{proven} of {total} proven"),
        (proven, declared) => format!("{proven} proven, {declared} declared, of {total}"),
    };
    let questions = &descriptor.questions;
    format!(
        "| `{}` | {} | {} | {scenarios} | {} |\n",
        descriptor.name,
        descriptor.title,
        word(questions.state),
        questions.why
    )
}

fn table() -> String {
    let mut table =
        "| name | agent | questions | scenarios | what to know |\n|---|---|---|---|---|\n".to_owned();
    for adapter in Registry::built_in().iter() {
        table.push_str(&row(adapter.descriptor()));
    }
    table.push('\n');
    table.push_str(&scenarios());
    table
}

/// The suite's own table: every scenario, and what each agent with an adapter claims of it.
fn scenarios() -> String {
    let registry = Registry::built_in();
    let built: Vec<&Descriptor> = registry
        .iter()
        .filter(|adapter| adapter.codec().is_ok())
        .map(|adapter| adapter.descriptor())
        .collect();
    let names: Vec<&str> = built.iter().map(|descriptor| descriptor.name.as_str()).collect();
    let mut table = format!("| scenario | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for &capability in Capability::ALL {
        let states: Vec<&str> = built
            .iter()
            .map(|descriptor| descriptor.claim(capability).map_or("no", |claim| word(claim.state)))
            .collect();
        table.push_str(&format!("| {} | {} |\n", capability.scenario(), states.join(" | ")));
    }
    table
}

#[test]
fn the_readme_says_of_each_agent_what_its_descriptor_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the README has a place for the table");
    let (written, after) = rest.split_once(END).expect("the table ends");
    let wanted = table();
    if written != wanted && std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(
        written, wanted,
        "write it anew with: UPDATE_README=1 cargo nextest run -p askd-adapters readme"
    );
}
