//! The options of `askd up` and `askd demo`; `hub` carries them out.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use askd_cli::exit::{Failure, Outcome};
use askd_data::{AgentCommand, Config, parse_agent, parse_listen};

/// How to run the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpOptions {
    pub listen: SocketAddr,
    /// `None`: `ASKD_DATA`, else the platform's folder.
    pub data: Option<PathBuf>,
    pub allow_hosts: Vec<String>,
    pub allow_origins: Vec<String>,
    /// The agents of the command line; those of the configuration are added to them.
    pub agents: Vec<AgentCommand>,
    pub config: Config,
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

/// Each flag beats the environment and the configuration file; `askd config` prints what those say.
#[derive(Debug, Default, Args)]
pub(super) struct UpArgs {
    /// The address and port to listen on, or a port of this machine only; port 0 is any free one [default:
    /// 127.0.0.1:2753]
    #[arg(long, value_name = "ADDR", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    /// Also needed when --listen is not this machine only: every machine that reaches the port can try tokens
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    expose_beyond_loopback: Option<bool>,
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
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    end_agents: Option<bool>,
    /// Do not watch Claude Code's transcripts; its hooks and the agents that askd starts still ask
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    no_observe: Option<bool>,
    /// Do not look for your own agents' servers on this machine (OpenCode); ASKD_NO_DISCOVERY=1 says the same
    #[arg(long, conflicts_with = "discovery_passwords", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    no_discovery: Option<bool>,
    /// Let the hub use a password that it finds in the environment of such a server; without it you attach
    /// those yourself
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    discovery_passwords: Option<bool>,
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
    pub(super) fn options(self, data: Option<PathBuf>, json: bool, config: Config) -> Outcome<UpOptions> {
        let listen = self.listen.unwrap_or(config.listen.value);
        let exposed = self.expose_beyond_loopback.unwrap_or(config.expose_beyond_loopback.value);
        if !listen.ip().is_loopback() && !exposed {
            return Err(Failure::usage(format!(
                "--listen {listen} can be reached from other machines; if that is meant, add --expose-beyond-loopback"
            )));
        }
        let given_or = |given: Vec<String>, configured: &Vec<String>| {
            if given.is_empty() { configured.clone() } else { given }
        };
        Ok(UpOptions {
            listen,
            data: data.or_else(|| config.data.value.clone()),
            allow_hosts: given_or(self.allow_hosts, &config.allow_hosts.value),
            allow_origins: given_or(self.allow_origins, &config.allow_origins.value),
            agents: self.agents,
            expose_beyond_loopback: exposed,
            keep_days: self.keep_days.or(config.keep_days.value),
            end_agents: self.end_agents.unwrap_or(config.end_agents.value),
            observe: self.no_observe.map_or(config.observe.value, |no| !no),
            discovery: self.no_discovery.map_or(config.discovery.value, |no| !no),
            discovery_passwords: self.discovery_passwords.unwrap_or(config.discovery_passwords.value),
            discovery_home: self.discovery_home,
            json,
            config,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn up(listen: &str, expose: bool) -> Outcome<UpOptions> {
        let listen = Some(parse_listen(listen).unwrap());
        let expose_beyond_loopback = expose.then_some(true);
        let args = UpArgs { listen, expose_beyond_loopback, ..UpArgs::default() };
        args.options(None, false, Config::defaults())
    }

    #[test]
    fn the_world_is_let_in_only_when_said_twice() {
        assert!(up("127.0.0.1:0", false).is_ok());
        assert!(up("[::1]:1", false).is_ok());
        let error = up("0.0.0.0:2753", false).unwrap_err();
        assert!(error.message.contains("--expose-beyond-loopback"), "{}", error.message);
        assert!(up("0.0.0.0:2753", true).is_ok());
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
    }

    #[test]
    fn a_flag_beats_the_configuration() {
        let mut config = Config::defaults();
        config.end_agents.value = true;
        config.observe.value = false;
        config.keep_days.value = Some(7);
        config.allow_hosts.value = vec!["file.lan".to_owned()];
        let options = UpArgs::default().options(None, false, config.clone()).unwrap();
        assert_eq!((options.end_agents, options.observe, options.keep_days), (true, false, Some(7)));
        assert_eq!(options.allow_hosts, ["file.lan"]);
        let args = UpArgs {
            end_agents: Some(false),
            no_observe: Some(false),
            keep_days: Some(1),
            allow_hosts: vec!["flag.lan".to_owned()],
            ..UpArgs::default()
        };
        let options = args.options(None, false, config).unwrap();
        assert_eq!((options.end_agents, options.observe, options.keep_days), (false, true, Some(1)));
        assert_eq!(options.allow_hosts, ["flag.lan"]);
    }
}
