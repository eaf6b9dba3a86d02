//! From arguments to an exit code.
//!
//! In: `argv`. Out: what a command printed, and an [`Exit`]. Commands run on one thread; the hub gets all of them.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use super::args::{Cli, Command, Global};
use super::exit::{Exit, Failure, Outcome};
use super::screen::Screen;
use super::{answer, attach, doctor, hook, install, list, open, reject, run_agent, show, tmux, token, watch};
use crate::client::{Client, discover};

pub fn main() -> ExitCode {
    run(std::env::args_os())
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return not_run(&error, &arguments),
    };
    let json = cli.global.json;
    match dispatch(cli) {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    }
}

/// Help and version are results, wrong usage is not; clap knows which goes where.
fn not_run(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        drop(error.print());
        return Exit::Done.into();
    }
    let mut flags = arguments.iter().take_while(|argument| *argument != "--");
    if flags.any(|flag| flag == "--json") {
        // The first paragraph says what is wrong; the others are advice for people.
        let text = error.to_string();
        let reason: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let reason = reason.join(" ");
        return Failure::usage(reason.trim_start_matches("error: ")).report(true);
    }
    drop(error.print());
    Exit::Usage.into()
}

fn dispatch(cli: Cli) -> Outcome<ExitCode> {
    let global = cli.global;
    let done = |()| ExitCode::from(Exit::Done);
    match cli.command {
        Command::Up(args) => {
            let options = args.options(global.data)?;
            serve(crate::hub::up(options)).map(done)
        }
        Command::Demo(args) => {
            let options = args.options(global.data)?;
            serve(crate::hub::demo(options)).map(done)
        }
        Command::Completions { shell } => completions(shell).map(done),
        // Both are processes of their own that must stay small: no runtime is made for them here.
        Command::Holder { spec } => Ok(crate::hub::holder(&spec)),
        Command::MockAgent { .. } => Ok(crate::hub::mock_agent()),
        Command::Hook(args) => Ok(hook::hook(&args, global.data)),
        Command::Install(args) => {
            install::install_into(&args, global.data, Screen::new(global.json)).map(done)
        }
        Command::Uninstall(args) => {
            install::uninstall_from(&args, global.data, Screen::new(global.json)).map(done)
        }
        command => talk(command, &global).map(done),
    }
}

/// Runs the hub on as many threads as the machine has.
fn serve(hub: impl Future<Output = anyhow::Result<()>>) -> Outcome {
    log_to_stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(hub);
    runtime.shutdown_background();
    Ok(result?)
}

/// Warnings and errors unless `ASKD_LOG` wants more, such as `ASKD_LOG=info`.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("ASKD_LOG");
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}

/// Runs a command that talks to a hub. Ctrl-C ends it wherever it is, but for the one that has a session to end first.
fn talk(command: Command, global: &Global) -> Outcome {
    let ends_itself = matches!(command, Command::Run(_));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        tokio::select! {
            biased;
            result = command_of(command, global) => result,
            _ = tokio::signal::ctrl_c(), if !ends_itself => Err(Failure::new(Exit::Interrupted, "")),
        }
    });
    // A reader of the terminal may still be blocked.
    runtime.shutdown_background();
    result
}

async fn command_of(command: Command, global: &Global) -> Outcome {
    let screen = Screen::new(global.json);
    if let Command::Doctor = command {
        return doctor::doctor(&global.place(), screen).await;
    }
    let found = discover(&global.place())?;
    let client = Client::new(&found, "cli")?;
    if let Err(no_token) = found.need_token() {
        // Without a hub that is the thing to say; its absence is why there is no token.
        client.health().await?;
        return Err(no_token.into());
    }
    match command {
        Command::Run(args) => run_agent::run(args, &client, screen).await,
        Command::Attach(args) => attach::attach(args, &client, screen).await,
        Command::List(args) => list::list(args, &client, screen).await,
        Command::Show(args) => show::show(args, &client, screen).await,
        Command::Answer(args) => answer::answer(args, &client, screen).await,
        Command::Reject(args) => reject::reject(args, &client, screen).await,
        Command::Watch(args) => watch::watch(args, &client, screen).await,
        Command::Open(args) => open::open(args, &client, screen).await,
        Command::Tmux(args) => tmux::tmux(args, &client, screen).await,
        Command::Token(args) => token::token(args, &client, screen).await,
        Command::Up(_)
        | Command::Demo(_)
        | Command::Doctor
        | Command::Install(_)
        | Command::Uninstall(_)
        | Command::Hook(_)
        | Command::Completions { .. }
        | Command::Holder { .. }
        | Command::MockAgent { .. } => Ok(()),
    }
}

fn completions(shell: clap_complete::Shell) -> Outcome {
    // Into memory first: the generator panics when the reader goes away.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "askd", &mut script);
    Ok(io::Write::write_all(&mut io::stdout().lock(), &script)?)
}
