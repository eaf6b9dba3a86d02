//! The grammar of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::hook::HookArgs;
use super::install::InstallArgs;
use super::up_options::{DemoArgs, UpArgs};
use askd_cli::answer::{self, AnswerArgs};
use askd_cli::attach::{self, AttachArgs};
use askd_cli::backup::{BackupArgs, RestoreArgs};
use askd_cli::client::Where;
use askd_cli::exit::EXIT_CODES;
use askd_cli::list::ListArgs;
use askd_cli::open::OpenArgs;
use askd_cli::reject::RejectArgs;
use askd_cli::run_agent::{self, RunArgs};
use askd_cli::show::ShowArgs;
use askd_cli::tmux::{self, TmuxArgs};
use askd_cli::token::TokenArgs;
use askd_cli::watch::WatchArgs;

/// One durable inbox for every question that your coding agents ask
#[derive(Debug, Parser)]
#[command(name = "askd", version, after_help = top_help())]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

fn top_help() -> String {
    format!(
        "\
Examples:
  askd demo                 try it: a scripted agent asks, you answer
  askd up                   run the hub
  askd list                 what is waiting
  askd answer 3F9K2A JWT    answer by the end of the id that the list shows

Hub and token are found by --url and --token, else --data, else ASKD_URL and ASKD_TOKEN, else the data folder (ASKD_DATA, \
or the platform's own). A data folder's hub is reached by its socket, and its token is shown to nothing else; an address needs a token \
of your own. The folder must be yours and closed to others (chmod 700). Results go to stdout, everything else to stderr. NO_COLOR turns colours off.

{EXIT_CODES}"
    )
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(super) struct Global {
    /// The hub's address
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// The token to show to the hub; others can see it in the process list, so prefer ASKD_TOKEN
    #[arg(long, global = true, value_name = "TOKEN")]
    token: Option<String>,
    /// The data folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// JSON on stdout, and errors as JSON on stderr
    #[arg(long, global = true)]
    pub(super) json: bool,
}

impl Global {
    pub(super) fn place(&self) -> Where {
        Where { url: self.url.clone(), token: self.token.clone(), data: self.data.clone() }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the hub: keep the questions, show the inbox, hand the answers back
    #[command(after_help = "\
Ctrl-C ends it cleanly. It prints its address on stdout and its log on stderr, and writes its tokens into the data folder.

Examples:
  askd up
  askd up --listen 127.0.0.1:0 --data ~/askd-work
  askd up --agent 'gemini=gemini --acp'
  askd up --listen 0.0.0.0:2753 --expose-beyond-loopback --allow-host hub.lan")]
    Up(UpArgs),
    /// Try it: a hub on a throw-away store and a scripted agent that asks real-looking questions
    #[command(after_help = "Examples:\n  askd demo\n  askd demo --no-inline --listen 127.0.0.1:8080")]
    Demo(DemoArgs),
    /// Start an agent managed by askd, show what it says, answer here or on any other surface
    #[command(after_help = run_agent::EXAMPLES)]
    Run(RunArgs),
    /// Connect the hub to a running server of an agent
    #[command(after_help = attach::EXAMPLES)]
    Attach(AttachArgs),
    /// List the questions: the open ones, longest waiting first
    #[command(after_help = "\
Examples:
  askd list
  askd list --all --agent claude
  askd list --status answered --limit 10
  askd list --json | jq -r '.questions[].id'")]
    List(ListArgs),
    /// Show a question with everything: options, previews, plan, outcome, delivery
    #[command(after_help = "\
Examples:
  askd show 3F9K2A
  askd show --oldest
  askd show 3F9K2A --body > plan.md
  askd show 3F9K2A --json | jq .outcome")]
    Show(ShowArgs),
    /// Answer a question, by arguments or by being asked
    #[command(
        after_help = answer::EXAMPLES,
        override_usage = "askd answer [OPTIONS] <ID> [ANSWER]...\n       askd answer [OPTIONS] --oldest [ANSWER]..."
    )]
    Answer(AnswerArgs),
    /// Reject a question in one of its reject modes
    #[command(after_help = "\
It says what will happen before it does it; `askd show` lists the modes that this agent can tell apart.

Examples:
  askd reject 3F9K2A
  askd reject 3F9K2A --reason 'neither; ask again after the release'
  askd reject 3F9K2A --mode interrupt
  askd reject 3F9K2A --reason 'leave the schema alone'    (a plan: back with feedback)")]
    Reject(RejectArgs),
    /// Show events as they happen, the open questions first
    #[command(after_help = "\
With --json every line is one event, as the API's /v1/events sends it. The connection is taken up again where it broke.

Examples:
  askd watch
  askd watch --bell
  askd watch --json | jq -r 'select(.type == \"question.requested\") | .question.id'")]
    Watch(WatchArgs),
    /// Open the inbox in a browser, by a log-in link for one use
    #[command(after_help = "Examples:\n  askd open\n  askd open --print")]
    Open(OpenArgs),
    /// Let answers be typed into the terminal of a session when its hook is gone
    #[command(after_help = tmux::EXAMPLES)]
    Tmux(TmuxArgs),
    /// Make, list and revoke tokens
    #[command(after_help = "\
Examples:
  askd token create --right ask --name ci
  askd token list
  askd token revoke ci")]
    Token(TokenArgs),
    /// Copy the store of the running hub into one file
    #[command(after_help = "\
The copy is made in one step, beside everything that goes on, and is for your eyes only. The key of secret answers is not in it.

Examples:
  askd backup ~/askd-2026-11-20.db
  askd backup --json /backup/askd.db | jq .bytes")]
    Backup(BackupArgs),
    /// Put a backup into an empty data folder
    #[command(after_help = "\
No hub may run on the folder. Programs that followed the old hub are told to list again.

Examples:
  askd restore ~/askd-2026-11-20.db
  askd restore ~/askd-2026-11-20.db --data ~/askd-restored")]
    Restore(RestoreArgs),
    /// Hook askd into an agent that you start yourself: its questions come to the inbox and stay on its
    /// screen
    #[command(after_help = "\
It adds a few lines to the agent's settings, or a small plugin, shows what it adds, and touches nothing else. askd uninstall takes it out again.

Examples:
  askd install claude --dry-run
  askd install claude
  askd install claude --project
  askd install opencode")]
    Install(InstallArgs),
    /// Take askd's hooks out of an agent's settings, or its plugin away
    #[command(
        after_help = "Examples:\n  askd uninstall claude --dry-run\n  askd uninstall claude --local\n  askd uninstall opencode"
    )]
    Uninstall(InstallArgs),
    /// Run by an agent's settings; reads the agent's report on stdin
    #[command(hide = true)]
    Hook(HookArgs),
    /// Print the settings that hold, and where each comes from
    #[command(after_help = "\
Flags of askd up beat the environment, and the environment beats the file. docs/cli.md lists the keys.

Examples:
  askd config
  askd config --json | jq -r .file")]
    Config,
    /// Show what is found and reachable, what is not, and what to do about it
    #[command(after_help = "\
Exit code 0 means that the inbox can be used.

Examples:
  askd doctor
  askd doctor --json | jq '.checks[] | select(.state != \"ok\")'")]
    Doctor,
    /// Print a script that completes askd's commands in your shell
    #[command(after_help = "\
Examples:
  askd completions bash > ~/.local/share/bash-completion/completions/askd
  askd completions zsh > ~/.zfunc/_askd
  askd completions fish > ~/.config/fish/completions/askd.fish")]
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Hold one agent's process apart from the hub
    #[command(hide = true)]
    Holder {
        /// The file with the agent to start
        spec: PathBuf,
    },
    /// The scripted agent of the demo
    #[command(hide = true)]
    MockAgent {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_grammar_is_sound_and_every_command_has_examples() {
        let mut cli = Cli::command();
        cli.clone().debug_assert();
        for command in cli.get_subcommands_mut().filter(|command| !command.is_hide_set()) {
            let help = command.render_long_help().to_string();
            assert!(help.contains("askd "), "no example in the help of {}", command.get_name());
            if command.get_name() != "answer" {
                assert!(help.contains("Examples:"), "no examples in the help of {}", command.get_name());
            }
        }
    }

    #[test]
    fn global_flags_go_before_and_after_the_command() {
        for line in [["askd", "--json", "list"], ["askd", "list", "--json"]] {
            assert!(Cli::try_parse_from(line).unwrap().global.json);
        }
    }

    #[test]
    fn a_question_is_named_or_the_oldest() {
        for good in [
            &["askd", "answer", "X", "-5"][..],
            &["askd", "answer", "--oldest", "JWT"],
            &["askd", "show", "X"],
        ] {
            assert!(Cli::try_parse_from(good).is_ok(), "{good:?}");
        }
        for bad in [
            &["askd", "answer"][..],
            &["askd", "show"],
            &["askd", "reject", "X", "--oldest"],
            &["askd", "reject", "X", "--mode", "maybe"],
            &["askd", "token", "create"],
            &["askd", "token", "create", "--right", "everything"],
            &["askd", "answer", "X", "--stdin", "-i", "1=x"],
        ] {
            assert!(Cli::try_parse_from(bad).is_err(), "{bad:?}");
        }
    }
}
