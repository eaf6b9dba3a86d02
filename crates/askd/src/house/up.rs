//! `askd up`: the hub.
//!
//! In: the command line's options. Out: the address on `stdout`, and at the end the agents that continue.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;

use super::{House, HubOptions, asked_to_stop};
use crate::up_options::UpOptions;
use askd_data::{AgentCommand, Config, DataFolder};
use askd_hub::{Discovery, EngineSettings, HeldAgent};
use askd_server::Doors;

/// The holder ends a managed agent that no hub has reached for a week and that has no open question.
const LINGER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub async fn up(mut options: UpOptions) -> anyhow::Result<()> {
    let stop = asked_to_stop()?;
    let data = match options.data {
        Some(path) => DataFolder::at(path),
        None => DataFolder::from_environment().context("there is no data folder; give one with --data")?,
    };
    if let Some(told) = data.mend_default() {
        eprint(&told);
    }
    // This comes before the first read: the folder's file of agents names programs to run.
    data.create()?;
    data.check_all()?;
    if let Some(told) = options.config.take_in(&data.agents())? {
        eprint(&told);
    }
    let agents = agents(options.agents, &options.config);
    let house = House::start(HubOptions {
        data,
        listen: options.listen,
        doors: Doors { hosts: options.allow_hosts, origins: options.allow_origins },
        beyond_loopback: options.expose_beyond_loopback,
        settings: EngineSettings { keep_days: options.keep_days },
        agents: agents.into_iter().map(|agent| (agent.name, agent.command)).collect(),
        linger: LINGER,
        observe: if options.observe { claude_folders().into_iter().next() } else { None },
        claude_folders: claude_folders(),
        discovery: options
            .discovery
            .then_some(Discovery { passwords: options.discovery_passwords, home: options.discovery_home }),
    })
    .await?;
    say(&if options.json {
        json!({ "url": house.url }).to_string()
    } else {
        format!("inbox: {}", house.url)
    })?;
    eprint(&format!("log in once with: {}", house.login_link()?));
    eprint("or later with: askd open");
    stop.await;
    let left = farewell(&house, options.end_agents).await?;
    house.stop().await?;
    all_ended(&left)
}

/// The agents of the command line, and those of the configuration that it does not name.
fn agents(mut given: Vec<AgentCommand>, config: &Config) -> Vec<AgentCommand> {
    let named: HashSet<String> = given.iter().map(|agent| agent.name.clone()).collect();
    let configured = config.agents.iter().map(|agent| &agent.value);
    given.extend(configured.filter(|agent| !named.contains(&agent.name)).cloned());
    given
}

/// The folders of this user's Claude Code: from the environment, and the default.
fn claude_folders() -> Vec<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folders = [set("CLAUDE_CONFIG_DIR"), set("HOME").map(|home| home.join(".claude"))];
    folders.into_iter().flatten().filter_map(|folder| std::path::absolute(folder).ok()).collect()
}

/// Ends the managed agents, or reports that they continue. Returns those that could not be ended.
async fn farewell(house: &House, end_agents: bool) -> anyhow::Result<Vec<HeldAgent>> {
    if end_agents {
        for agent in living(house).await? {
            eprint(&format!("ending: {}", named(&agent)));
        }
        return Ok(house.hub.connections.end_all().await?);
    }
    let left = house.hub.connections.agents_ended().await?;
    let mut going_on = living(house).await?;
    going_on.retain(|agent| left.iter().all(|left| left.session_id != agent.session_id));
    for agent in &going_on {
        eprint(&format!("leaving running: {}", named(agent)));
    }
    if !going_on.is_empty() {
        eprint("the next askd up takes them up again; askd up --end-agents would have ended them");
    }
    Ok(left)
}

async fn living(house: &House) -> anyhow::Result<Vec<HeldAgent>> {
    let mut held = house.hub.connections.held_agents().await?;
    held.retain(|agent| agent.alive);
    Ok(held)
}

fn named(agent: &HeldAgent) -> String {
    let pid = agent.agent_pid.map_or_else(String::new, |pid| format!(", process {pid}"));
    format!("{} {}{pid}", agent.agent, agent.session_id)
}

/// Says which agents the hub could not end, and how a person does; an error if there are any.
pub(super) fn all_ended(left: &[HeldAgent]) -> anyhow::Result<()> {
    for agent in left {
        // The holder, and the agent's group: a remaining holder would only wait for a hub.
        let how = |(holder, agent)| format!("; end it with: kill -s KILL -- {holder} -{agent}");
        let how = agent.holder_pid.zip(agent.agent_pid).map_or_else(String::new, how);
        eprint(&format!("could not be ended, and runs on: {}{how}", named(agent)));
    }
    ensure!(left.is_empty(), "agents that were to end run on: their holders could not be reached");
    Ok(())
}

pub(super) fn say(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// For people, beside the result.
pub(super) fn eprint(text: &str) {
    drop(writeln!(std::io::stderr(), "askd: {text}"));
}
