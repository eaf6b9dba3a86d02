//! `askd run AGENT`: an agent managed by askd, in this terminal and on every other surface.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use askd_core::{Cause, Session};

use super::conversation::{Conversation, TurnOver};
use super::exit::{Exit, Failure, Outcome};
use super::screen::{Screen, say};
use super::terminal::{self, Typed};
use crate::client::Client;

pub(super) const EXAMPLES: &str = "\
The agent is held by a process of its own: it outlives the hub, and its questions can be answered here, in the inbox, with
askd answer or through the API, whichever comes first. With --prompt the session ends after that turn, unless --keep.
Ctrl-C ends the session, unless --keep.

Examples:
  askd run mock --prompt question
  askd run mock --prompt 'two plan' --keep
  askd run claude --cwd ~/app --prompt 'add a login page'
  askd run gemini -- --model gemini-pro";

/// More than an agent gets to end by itself (20 seconds), so that the hub can still say that it did not.
const END_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The agent's name: see askd doctor
    agent: String,
    /// The folder in which it works; this one unless given
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

pub(super) async fn run(args: RunArgs, client: &Client, screen: Screen) -> Outcome {
    let cwd = match &args.cwd {
        Some(cwd) => std::path::absolute(cwd)?,
        None => std::env::current_dir()?,
    };
    if args.prompt.is_none() && !terminal::is_interactive() {
        return Err(Failure::usage("there is no terminal to type at; say what to do with --prompt"));
    }
    let request = json!({ "agent": args.agent, "cwd": cwd, "prompt": args.prompt, "args": args.args });
    // Heard from here on: a session that is just being started is ended too.
    let mut ctrl_c = signal(SignalKind::interrupt())?;
    let started = client.start_session(&request).await?;
    let session = started.value;
    if screen.json {
        screen.json_line(&started.json.to_string())?;
    }
    say(&format!("askd: session {}", session.id));
    let over = tokio::select! {
        // First, because a prompt hears Ctrl-C too and says more.
        biased;
        over = converse(&args, client, &session) => over,
        _ = ctrl_c.recv() => Err(Failure::new(Exit::Interrupted, "")),
    };
    if matches!(over, Ok(TurnOver::Session(_))) {
        return verdict(over?);
    }
    let after = if args.keep {
        format!("{} goes on as {}, and what it asked stays open", session.agent, session.id)
    } else {
        end(client, &session).await?;
        "the session is ended, with all that it asked".to_owned()
    };
    match over {
        Err(left) if left.exit == Exit::Interrupted => {
            let before = if left.message.is_empty() { String::new() } else { format!("{}; ", left.message) };
            Err(Failure::new(Exit::Interrupted, format!("{before}{after}")))
        }
        over => {
            if args.keep {
                say(&format!("askd: {after}"));
            }
            verdict(over?)
        }
    }
}

/// Ends the session; a hub that does not answer, or another Ctrl-C, ends the wait for it.
async fn end(client: &Client, session: &Session) -> Outcome {
    let unknown = |exit: Exit| Failure::new(exit, format!("the session {} may go on", session.id));
    tokio::select! {
        ended = tokio::time::timeout(END_WITHIN, client.end_session(&session.id)) => match ended {
            Ok(ended) => Ok(ended?),
            Err(_) => Err(unknown(Exit::Error)),
        },
        _ = tokio::signal::ctrl_c() => Err(unknown(Exit::Interrupted)),
    }
}

async fn converse(args: &RunArgs, client: &Client, session: &Session) -> Outcome<TurnOver> {
    let mut conversation = Conversation::new(client, &session.id, !args.no_inline).await?;
    if args.prompt.is_some() {
        return conversation.turn().await;
    }
    loop {
        terminal::forget_typed().await;
        let line = match terminal::read_line("> ", false).await? {
            Typed::Line(line) => line,
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
