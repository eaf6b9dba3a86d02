//! The options of `askd up` and `askd demo`; `hub` carries them out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use askd_cli::exit::{Failure, Outcome};

/// 2753 spells ASKD on a phone.
pub const DEFAULT_PORT: u16 = 2753;
/// Turns discovery off for every hub with this variable.
const NO_DISCOVERY: &str = "ASKD_NO_DISCOVERY";
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How to run the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpOptions {
    pub listen: SocketAddr,
    /// `None`: `ASKD_DATA`, else the platform's folder.
    pub data: Option<PathBuf>,
    pub allow_hosts: Vec<String>,
    pub allow_origins: Vec<String>,
    pub agents: Vec<AgentCommand>,
    /// The second confirmation, for addresses that other machines can reach.
    pub expose_beyond_loopback: bool,
    /// How long settled questions are kept; `None`: for ever.
    pub keep_days: Option<u32>,
    /// True to end the managed agents with the hub.
    pub end_agents: bool,
    /// True to watch Claude Code's transcripts.
    pub observe: bool,
    /// True to look for servers of agents on this machine.
    pub discovery: bool,
    /// True to use a password from the environment of such a server.
    pub discovery_passwords: bool,
    /// Only servers with this home are found.
    pub discovery_home: Option<String>,
    /// True to print the address as JSON.
    pub json: bool,
}

/// How to run the demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoOptions {
    /// `None`: the default port if it is free, else any free one.
    pub listen: Option<SocketAddr>,
    /// True to ask questions in this terminal too.
    pub inline: bool,
    /// True to print the address and the agent's output as JSON.
    pub json: bool,
}

/// An agent of the user: a name and its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    pub name: String,
    pub command: String,
}

#[derive(Debug, Args)]
pub(super) struct UpArgs {
    /// The address and port to listen on, or a port of this machine only; port 0 is any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:2753", value_parser = parse_listen)]
    listen: SocketAddr,
    /// Also needed when --listen is not this machine only: every machine that reaches the port can try tokens
    #[arg(long)]
    expose_beyond_loopback: bool,
    /// Answer to this host name too (repeat for several); others are refused, so that no web page can reach
    /// the hub by DNS
    #[arg(long = "allow-host", value_name = "HOST")]
    allow_hosts: Vec<String>,
    /// Let pages of this origin use the API (repeat for several), such as http://localhost:5173
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allow_origins: Vec<String>,
    /// Register an ACP agent (repeat for several), such as --agent 'gemini=gemini --acp'
    #[arg(long = "agent", value_name = "NAME=COMMAND", value_parser = parse_agent)]
    agents: Vec<AgentCommand>,
    /// Forget settled questions after so many days; without it everything is kept
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    keep_days: Option<u32>,
    /// Ctrl-C also ends the agents that askd started; without it they go on and the next hub finds them
    #[arg(long)]
    end_agents: bool,
    /// Do not watch Claude Code's transcripts; its hooks and the agents that askd starts still ask
    #[arg(long)]
    no_observe: bool,
    /// Do not look for your own agents' servers on this machine (OpenCode); ASKD_NO_DISCOVERY=1 says the same
    #[arg(long, conflicts_with = "discovery_passwords")]
    no_discovery: bool,
    /// Let the hub use a password that it finds in the environment of such a server; without it you attach
    /// those yourself
    #[arg(long)]
    discovery_passwords: bool,
    /// Find only servers that were started with this HOME; for tests
    #[arg(long, hide = true)]
    discovery_home: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// The address to listen on; unless given, 127.0.0.1:2753 if that is free, else any free port
    #[arg(long, value_name = "ADDR", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    /// Do not ask in this terminal; answer on the page, with `askd answer` or by curl
    #[arg(long)]
    no_inline: bool,
}

impl UpArgs {
    pub(super) fn options(self, data: Option<PathBuf>, json: bool) -> Outcome<UpOptions> {
        if !self.listen.ip().is_loopback() && !self.expose_beyond_loopback {
            return Err(Failure::usage(format!(
                "--listen {} can be reached from other machines; if that is meant, add --expose-beyond-loopback",
                self.listen
            )));
        }
        Ok(UpOptions {
            listen: self.listen,
            data,
            allow_hosts: self.allow_hosts,
            allow_origins: self.allow_origins,
            agents: self.agents,
            expose_beyond_loopback: self.expose_beyond_loopback,
            keep_days: self.keep_days,
            end_agents: self.end_agents,
            observe: !self.no_observe,
            discovery: !self.no_discovery
                && std::env::var_os(NO_DISCOVERY).is_none_or(|word| word.is_empty()),
            discovery_passwords: self.discovery_passwords,
            discovery_home: self.discovery_home,
            json,
        })
    }
}

impl DemoArgs {
    pub(super) fn options(self, data: Option<PathBuf>, json: bool) -> Outcome<DemoOptions> {
        if data.is_some() {
            let message = "the demo keeps nothing: its data folder is its own and goes with it; use askd up --data to keep one";
            return Err(Failure::usage(message));
        }
        match self.listen {
            Some(listen) if !listen.ip().is_loopback() => Err(Failure::usage(
                "the demo is for this machine only; use askd up to be reached from others",
            )),
            listen => Ok(DemoOptions { listen, inline: !self.no_inline, json }),
        }
    }
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(LOOPBACK, port));
    }
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::new(LOOPBACK, port));
    }
    text.parse().map_err(|_| "use an address and a port such as 127.0.0.1:2753, or a port alone".to_owned())
}

/// The agents of a file: a line `NAME=COMMAND` for each; empty lines and those that begin with `#` say
/// nothing.
pub fn parse_agents(text: &str) -> Result<Vec<AgentCommand>, String> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let told = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    told.map(|(n, line)| parse_agent(line).map_err(|why| format!("line {n}: {why}"))).collect()
}

fn parse_agent(text: &str) -> Result<AgentCommand, String> {
    let valid = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    };
    match text.split_once('=') {
        Some((name, command)) if valid(name) && !command.trim().is_empty() => {
            Ok(AgentCommand { name: name.to_owned(), command: command.trim().to_owned() })
        }
        _ => Err("use NAME=COMMAND, such as 'gemini=gemini --acp'".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(listen: &str, expose: bool) -> UpArgs {
        UpArgs {
            listen: parse_listen(listen).unwrap(),
            expose_beyond_loopback: expose,
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            agents: Vec::new(),
            keep_days: None,
            end_agents: false,
            no_observe: false,
            no_discovery: false,
            discovery_passwords: false,
            discovery_home: None,
        }
    }

    #[test]
    fn the_world_is_let_in_only_when_said_twice() {
        assert!(args("127.0.0.1:0", false).options(None, false).is_ok());
        assert!(args("[::1]:1", false).options(None, false).is_ok());
        let error = args("0.0.0.0:2753", false).options(None, false).unwrap_err();
        assert!(error.message.contains("--expose-beyond-loopback"), "{}", error.message);
        assert!(args("0.0.0.0:2753", true).options(None, false).is_ok());
    }

    #[test]
    fn an_address_can_be_a_port_and_an_agent_has_a_name() {
        assert_eq!(parse_listen("0").unwrap().to_string(), "127.0.0.1:0");
        assert_eq!(parse_listen("localhost:9").unwrap().to_string(), "127.0.0.1:9");
        assert!(parse_listen("nowhere").is_err());
        let agent = parse_agent("gemini=gemini --acp --x=1").unwrap();
        assert_eq!((agent.name.as_str(), agent.command.as_str()), ("gemini", "gemini --acp --x=1"));
        for bad in ["gemini", "=x", "a b=x", "a="] {
            assert!(parse_agent(bad).is_err(), "{bad}");
        }
        let file = "# mine\n\n  gemini=gemini --acp\nother=x\n";
        let names: Vec<_> = parse_agents(file).unwrap().into_iter().map(|agent| agent.name).collect();
        assert_eq!(names, ["gemini", "other"]);
        assert!(parse_agents("a=b\n\nnonsense").unwrap_err().starts_with("line 3: use NAME=COMMAND"));
    }
}
