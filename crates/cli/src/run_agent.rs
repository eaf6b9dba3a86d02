//! `askd run AGENT`: an agent managed by askd, in this terminal and on every other surface.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use askd_core::{Cause, Session, SessionId};

use super::conversation::{Conversation, TurnOver};
use super::exit::{Exit, Failure, Outcome};
use super::inside_agent::Guard;
use super::screen::{Screen, say, unread};
use super::terminal::{self, Typed};
use crate::client::{Client, ClientError, Received};

pub const EXAMPLES: &str = "\
The agent is held by a process of its own: it outlives the hub, and its questions can be answered here, in the inbox, with
askd answer or through the API, whichever comes first. `q` at a question leaves it open and goes back to the session. With --prompt the session ends after that turn, unless --keep.
Ctrl-C, SIGTERM, a closed terminal and a closed output end the session, unless --keep, and so does Ctrl-D at a question.

Examples:
  askd run mock --prompt question
  askd run mock --prompt 'two plan' --keep
  askd run claude --cwd ~/app --prompt 'add a login page'
  askd run gemini -- --model gemini-pro";

/// More than the 20 seconds that an agent gets to end, so that the hub can still report that it did not.
const END_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The agent's name: see askd doctor
    agent: String,
    /// The agent's working folder; unless given, this one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The first thing to say to it; without it you are asked, line by line, until Ctrl-D
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Leave the agent running when this command ends
    #[arg(long)]
    keep: bool,
    /// Do not ask here; answer on another surface
    #[arg(long)]
    no_inline: bool,
    /// Arguments for the agent's own command
    #[arg(last = true)]
    args: Vec<String>,
}

pub async fn run(args: RunArgs, client: &Client, screen: Screen, guard: Guard) -> Outcome {
    let cwd = match &args.cwd {
        Some(cwd) => std::path::absolute(cwd)?,
        None => std::env::current_dir()?,
    };
    let Some(cwd) = cwd.to_str() else {
        return Err(Failure::usage(format!("the name of the folder {} is not UTF-8", cwd.display())));
    };
    if args.prompt.is_none() && !terminal::is_interactive() {
        return Err(Failure::usage("there is no terminal to type at; say what to do with --prompt"));
    }
    // The id is made here, so that it can be shown even if the start is not waited for.
    let id = SessionId::from_bits(uuid::Uuid::now_v7().as_u128());
    let request =
        json!({ "id": id, "agent": args.agent, "cwd": cwd, "prompt": args.prompt, "args": args.args });
    // Signals count from here on: a session that is starting is ended too.
    let mut signals = Signals::listen()?;
    let (started, left) = start(client, &request, &args.agent, &id, &mut signals).await?;
    let session = started.value;
    let over = match left {
        Some(exit) => Err(Failure::new(exit, "")),
        None => tokio::select! {
            // First, because a prompt hears Ctrl-C too and says more.
            biased;
            over = show(&args, client, &session, &started.json, screen, guard) => over,
            exit = signals.next() => Err(Failure::new(exit, "")),
            () = unread() => Err(Failure::new(Exit::Done, "")),
        },
    };
    if matches!(over, Ok(TurnOver::Session(_))) {
        return verdict(over?);
    }
    let after = if args.keep {
        format!("{} goes on as {}, and what it asked stays open", session.agent, session.id)
    } else {
        // A fresh listener: the signal that led here, which a prompt may have handled, is not a second one.
        end(client, &session, &mut Signals::listen()?).await?;
        "the session is ended, with all that it asked".to_owned()
    };
    match over {
        Err(left) if left.exit == Exit::Done => {
            say(&format!("askd: {after}"));
            Err(left)
        }
        Err(left) => {
            let before = if left.message.is_empty() { String::new() } else { format!("{}; ", left.message) };
            Err(Failure::new(left.exit, format!("{before}{after}")))
        }
        over => {
            if args.keep {
                say(&format!("askd: {after}"));
            }
            verdict(over?)
        }
    }
}

/// Starts the session. A signal meanwhile is handled once the session is known; a second signal does not wait
/// for that.
async fn start(
    client: &Client,
    request: &serde_json::Value,
    agent: &str,
    id: &SessionId,
    signals: &mut Signals,
) -> Outcome<(Received<Session>, Option<Exit>)> {
    let starting = async {
        client.start_session(request).await.map_err(|error| {
            let unsure = matches!(error, ClientError::Unsure { .. });
            let mut failure = Failure::from(error);
            if unsure {
                failure.message = format!("{}; {}", failure.message, may_go_on(agent, id));
            }
            failure
        })
    };
    let mut starting = pin!(starting);
    let exit = tokio::select! {
        biased;
        started = &mut starting => return Ok((started?, None)),
        exit = signals.next() => exit,
    };
    say(&format!("askd: {agent} is ended as soon as it has started; again to leave it"));
    tokio::select! {
        biased;
        started = tokio::time::timeout(END_WITHIN, &mut starting) => {
            if let Ok(started) = started {
                return Ok((started?, Some(exit)));
            }
        }
        _ = signals.insists() => {}
    }
    Err(Failure::new(exit, format!("the start was not waited for; {}", may_go_on(agent, id))))
}

/// The session that is left behind, and the way to end it.
fn may_go_on(agent: &str, id: &SessionId) -> String {
    format!("{agent} may go on as {id}: end it on the page (askd open), or by: DELETE /v1/sessions/{id}")
}

async fn show(
    args: &RunArgs,
    client: &Client,
    session: &Session,
    started: &serde_json::Value,
    screen: Screen,
    guard: Guard,
) -> Outcome<TurnOver> {
    say(&format!("askd: session {}", session.id));
    if screen.json {
        screen.json_line(&started.to_string())?;
    }
    converse(args, client, session, screen.json, guard).await
}

/// Ends the session; a hub that does not answer, or another signal, ends the wait for it.
async fn end(client: &Client, session: &Session, signals: &mut Signals) -> Outcome {
    let goes_on = |exit: Exit, why: String| {
        Failure::new(exit, format!("{why}; {}", may_go_on(&session.agent, &session.id)))
    };
    let ending = async {
        match client.end_session(&session.id).await {
            // The connection belongs to an ended hub; a second end does no harm, and a new connection finds
            // the present hub.
            Err(ClientError::Broken { .. }) => client.end_session(&session.id).await,
            ended => ended,
        }
    };
    tokio::select! {
        ended = tokio::time::timeout(END_WITHIN, ending) => match ended {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                let failure = Failure::from(error);
                Err(goes_on(failure.exit, failure.message))
            }
            Err(_) => Err(goes_on(Exit::Error, format!("the hub did not end it within {} seconds", END_WITHIN.as_secs()))),
        },
        exit = signals.insists() => Err(goes_on(exit, "the end was not waited for".to_owned())),
    }
}

/// The signals with which a person, a script or a closed terminal ends this command.
struct Signals {
    hang_up: Signal,
    interrupt: Signal,
    quit: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// A person or script that does not want to wait. Not SIGHUP: a closed terminal is noticed by its input
    /// too, before or after.
    async fn insists(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.quit.recv() => Exit::Quit,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.hang_up.recv() => Exit::HungUp,
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.quit.recv() => Exit::Quit,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}

async fn converse(
    args: &RunArgs,
    client: &Client,
    session: &Session,
    json: bool,
    guard: Guard,
) -> Outcome<TurnOver> {
    let mut conversation = Conversation::new(client, &session.id, !args.no_inline, json, guard).await?;
    if args.prompt.is_some() {
        return conversation.turn().await;
    }
    loop {
        terminal::forget_typed().await;
        let line = match terminal::read_line("> ", false).await? {
            Typed::Line(line) => line,
            Typed::Keys | Typed::SeveralLines => {
                say("askd: nothing was said to the agent: keys such as arrows, Tab and Escape write no text");
                continue;
            }
            Typed::TooLong => {
                say(
                    "askd: nothing was said to the agent: the line is longer than the terminal takes; use --prompt",
                );
                continue;
            }
            Typed::End => return Ok(TurnOver::Turn("left".to_owned())),
            Typed::Interrupted => return Err(Failure::new(Exit::Interrupted, "")),
        };
        if line.trim().is_empty() {
            continue;
        }
        client.prompt(&session.id, line.trim_end()).await?;
        if let over @ TurnOver::Session(_) = conversation.turn().await? {
            return Ok(over);
        }
    }
}

/// An agent that fails makes the command fail.
fn verdict(over: TurnOver) -> Outcome {
    let failed = |message: String| Err(Failure::new(Exit::Error, message));
    match over {
        TurnOver::Turn(text) if text.starts_with("failed") => failed(format!("the turn {text}")),
        TurnOver::Turn(_) => Ok(()),
        TurnOver::Session(session) => match session.end {
            Some(Cause::AgentExited { code: Some(0), .. } | Cause::SessionEnded { detail: None }) | None => {
                Ok(())
            }
            Some(Cause::AgentExited { code, signal, stderr, .. }) => {
                let how = match (code, signal) {
                    (Some(code), _) => format!("exited with code {code}"),
                    (None, Some(signal)) => format!("was ended by signal {signal}"),
                    (None, None) => "ended".to_owned(),
                };
                let tail = stderr.into_iter().map(|line| format!("\n  {line}")).collect::<String>();
                failed(format!("the agent {how}{tail}"))
            }
            Some(Cause::SessionEnded { detail: Some(detail) }) => {
                failed(format!("the session ended: {detail}"))
            }
            Some(cause) => failed(format!("the session ended: {cause:?}")),
        },
    }
}
