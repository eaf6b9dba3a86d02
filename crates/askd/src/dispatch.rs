//! From arguments to an exit code.
//!
//! In: `argv`. Out: what a command printed, and an [`Exit`]. Commands run on one thread; the hub gets all of
//! them.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use super::args::{Cli, Command, Global};
use super::{config, doctor, hook, install};
use askd_agents::Registry;
use askd_cli::client::{Client, discover};
use askd_cli::exit::{Exit, Failure, Outcome};
use askd_cli::inside_agent::Guard;
use askd_cli::screen::{Screen, say};
use askd_cli::{answer, attach, backup, list, open, reject, run_agent, show, terminal, tmux, token, watch};
use askd_data::{Config, DataFolder};

/// The command line's test for agents.
pub const GUARD: Guard = Guard(agent_of_process);

fn agent_of_process(name: &str, arguments: &[String]) -> Option<String> {
    Registry::built_in().agent_of_process(name, arguments)
}

pub fn main() -> ExitCode {
    run(std::env::args_os())
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        // Claude Code blocks a tool whose hook ends with 2; the settings may come from a newer askd.
        Err(_) if is_hook(&arguments) => return ExitCode::SUCCESS,
        Err(error) => return not_run(&error, &arguments),
    };
    let json = cli.global.json;
    match dispatch(cli) {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    }
}

/// True if the first word of a command is `hook`.
fn is_hook(arguments: &[OsString]) -> bool {
    let grammar = Cli::command();
    let mut words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    words.find(|word| grammar.find_subcommand(word).is_some()) == Some("hook")
}

/// Help and version are results, wrong usage is not; clap knows their streams.
fn not_run(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        drop(error.print());
        return Exit::Done.into();
    }
    let mut flags = arguments.iter().take_while(|argument| *argument != "--");
    if flags.any(|flag| flag == "--json") {
        // The first paragraph is the error; the others are advice for people.
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
            let options = args.options(global.data, global.json, Config::load()?)?;
            serve(crate::house::up(options)).map(done)
        }
        Command::Demo(args) => {
            let options = args.options(global.data, global.json)?;
            serve(crate::house::demo(options)).map(done)
        }
        Command::Completions { shell } => completions(shell, global.json).map(done),
        // Both are processes of their own that must stay small: no runtime is made for them here.
        Command::Holder { spec } => Ok(crate::house::holder(&spec)),
        Command::MockAgent { .. } => Ok(crate::house::mock_agent()),
        Command::Hook(args) => Ok(hook::hook(&args, global.data)),
        Command::Config => config::config(&Config::load()?, Screen::new(global.json)).map(done),
        Command::Install(args) => {
            install::install_into(&args, global.data, Screen::new(global.json)).map(done)
        }
        Command::Uninstall(args) => {
            install::uninstall_from(&args, global.data, Screen::new(global.json)).map(done)
        }
        Command::Restore(args) => restore(&args.file, &global).map(done),
        command => talk(command, &global),
    }
}

fn restore(file: &Path, global: &Global) -> Outcome {
    let data = crate::house::restore(file, global.data.clone().map(DataFolder::at))?;
    let folder = data.path().display().to_string();
    let screen = Screen::new(global.json);
    if screen.json {
        return Ok(screen.json(&serde_json::json!({ "data": folder, "without": "secret-key" }))?);
    }
    say(
        "If you have kept the file secret-key of the old data folder, copy it into this one before you start the hub: without it secret answers that \
         were not read yet are lost.",
    );
    Ok(screen.line(&format!("Restored into {folder}. Start it with: askd up --data {folder}"))?)
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

/// The shell adds this to the number of the signal that ended a command.
const ENDED_BY_SIGNAL: i32 = 128;

/// Runs a command with a hub. Ctrl-C ends it anywhere, unless it has a session to end first. For another
/// signal it restores the terminal first.
fn talk(command: Command, global: &Global) -> Outcome<ExitCode> {
    let ends_itself = matches!(command, Command::Run(_));
    // `run` hears them itself. Only at a terminal there is something to change back; elsewhere a signal that
    // is ignored, as by nohup, stays ignored.
    let asks = terminal::is_interactive() && !ends_itself;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        tokio::select! {
            biased;
            result = command_of(command, global) => result.map(|()| Exit::Done.into()),
            number = ended_by_signal(), if asks => Ok(ExitCode::from(u8::try_from(ENDED_BY_SIGNAL + number?).unwrap_or(u8::MAX))),
            _ = tokio::signal::ctrl_c(), if !ends_itself => Err(Failure::new(Exit::Interrupted, "")),
        }
    });
    // A reader of the terminal may still be blocked.
    runtime.shutdown_background();
    result
}

/// The number of the signal.
async fn ended_by_signal() -> io::Result<i32> {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
    let [mut terminate, mut hang_up, mut quit] = [signal(kinds[0])?, signal(kinds[1])?, signal(kinds[2])?];
    let kind = tokio::select! {
        _ = terminate.recv() => kinds[0],
        _ = hang_up.recv() => kinds[1],
        _ = quit.recv() => kinds[2],
    };
    Ok(kind.as_raw_value())
}

async fn command_of(command: Command, global: &Global) -> Outcome {
    let screen = Screen::new(global.json);
    // Its data folder counts for every command, so a mistake in it is told before another folder is used.
    Config::load()?;
    if let Command::Doctor = command {
        return doctor::doctor(&global.place(), screen, GUARD).await;
    }
    let place = global.place();
    if let (None, Some(told)) = (&place.data, DataFolder::from_environment().and_then(|it| it.mend_default()))
    {
        say(&format!("askd: {told}"));
    }
    let found = discover(&place)?;
    let client = Client::new(&found, "cli")?;
    if let Err(no_token) = found.need_token() {
        // Without a hub that is the thing to say; its absence is why there is no token.
        client.health().await?;
        return Err(no_token.into());
    }
    match command {
        Command::Run(args) => run_agent::run(args, &client, screen, GUARD).await,
        Command::Attach(args) => attach::attach(args, &client, screen, GUARD).await,
        Command::List(args) => list::list(args, &client, screen).await,
        Command::Show(args) => show::show(args, &client, screen).await,
        Command::Answer(args) => answer::answer(args, &client, screen, GUARD).await,
        Command::Reject(args) => reject::reject(args, &client, screen, GUARD).await,
        Command::Watch(args) => watch::watch(args, &client, screen).await,
        Command::Open(args) => open::open(args, &client, screen, GUARD).await,
        Command::Tmux(args) => tmux::tmux(args, &client, screen, GUARD).await,
        Command::Token(args) => token::token(args, &client, screen, GUARD).await,
        Command::Backup(args) => backup::backup(args, &client, screen).await,
        Command::Up(_)
        | Command::Demo(_)
        | Command::Doctor
        | Command::Restore(_)
        | Command::Install(_)
        | Command::Uninstall(_)
        | Command::Hook(_)
        | Command::Config
        | Command::Completions { .. }
        | Command::Holder { .. }
        | Command::MockAgent { .. } => Ok(()),
    }
}

fn completions(shell: clap_complete::Shell, json: bool) -> Outcome {
    // Into memory first: the generator panics when the reader goes away.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "askd", &mut script);
    if json {
        let script = String::from_utf8_lossy(&script).into_owned();
        return Ok(
            Screen::new(true).json(&serde_json::json!({ "shell": shell.to_string(), "script": script }))?
        );
    }
    Ok(io::Write::write_all(&mut io::stdout().lock(), &script)?)
}
