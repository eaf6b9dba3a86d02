//! `askd attach`: connect the hub to a running server of an agent.
//!
//! In: which agent, where, and its password by environment, standard input or prompt; never as an argument,
//! which others could see in the process list. Out: the source, once it is connected or could not be reached.

use std::io::{BufRead as _, IsTerminal as _};
use std::time::{Duration, Instant};

use askd_core::{Source, SourceState};
use clap::Args;
use serde_json::json;

use super::exit::{Exit, Failure, Outcome};
use super::inside_agent::Guard;
use super::screen::Screen;
use super::terminal::{self, Typed};
use super::text::one_line;
use crate::client::Client;

/// How long the first connection may take before it is left to the hub.
const PATIENCE: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(100);
/// The variable for the password; set and empty it means that there is none.
const PASSWORD: &str = "ASKD_SOURCE_PASSWORD";

pub const EXAMPLES: &str = "\
The password is read from ASKD_SOURCE_PASSWORD, from standard input with --password-stdin, or asked for at the terminal. The hub
keeps it, shows it to nobody, and attaches again whenever the server or the hub was away.

Examples:
  askd attach opencode
  askd attach opencode http://127.0.0.1:4096
  ASKD_SOURCE_PASSWORD=... askd attach opencode http://127.0.0.1:4096
  pass show opencode | askd attach opencode http://127.0.0.1:4096 --password-stdin";

#[derive(Debug, Args)]
pub struct AttachArgs {
    /// The agent of the server, such as opencode
    #[arg(value_name = "KIND")]
    kind: String,
    /// The server's address; unless given, the agent's usual one
    // Not called `url`: everywhere that is the hub's own address.
    #[arg(value_name = "URL")]
    server: Option<String>,
    /// The server's user name; the agent's usual one unless given
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// Read the password from standard input
    #[arg(long)]
    password_stdin: bool,
}

pub async fn attach(args: AttachArgs, client: &Client, screen: Screen, guard: Guard) -> Outcome {
    guard.refuse_inside_agent("attach a server")?;
    let mut body = json!({ "kind": args.kind });
    for (name, value) in [
        ("url", args.server),
        ("username", args.username),
        ("password", password(args.password_stdin).await?),
    ] {
        if let Some(value) = value {
            body[name] = value.into();
        }
    }
    let attached = client.attach(&body).await?;
    let source = settled(client, attached.value).await?;
    if screen.json {
        screen.json(&serde_json::to_value(&source).unwrap_or_default())?;
    }
    let label = one_line(&source.label);
    match source.state {
        SourceState::Connected if screen.json => Ok(()),
        SourceState::Connected => {
            screen.line(&format!("Attached to {} at {label} ({}).", source.kind, source.id))?;
            Ok(())
        }
        _ => {
            let why = one_line(source.last_error.as_deref().unwrap_or("it has not answered yet"));
            let message = format!(
                "{label} cannot be reached: {why}. The hub keeps trying; detach it with: DELETE /v1/sources/{}",
                source.id
            );
            Err(Failure::new(Exit::Error, message))
        }
    }
}

async fn password(from_stdin: bool) -> Outcome<Option<String>> {
    if !from_stdin {
        return match std::env::var(PASSWORD) {
            Ok(password) => Ok(Some(password).filter(|password| !password.is_empty())),
            Err(_) if terminal::is_interactive() => asked().await,
            Err(_) => Ok(None),
        };
    }
    if std::io::stdin().is_terminal() {
        return Err(Failure::new(
            Exit::Usage,
            "--password-stdin reads a pipe; leave it out to be asked for the password here",
        ));
    }
    let mut line = String::new();
    // A program before this one in a pipe that failed has told no password, not an empty one.
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(Failure::usage(format!(
            "there is no password on standard input; where the server has none, set {PASSWORD} to nothing"
        )));
    }
    Ok(Some(without_line_end(&line)))
}

/// The password as it is typed, without being shown.
async fn asked() -> Outcome<Option<String>> {
    let typed = terminal::read_line("Password of the server (Enter if it has none): ", true).await?;
    let line = match typed {
        Typed::Line(line) => line,
        Typed::End | Typed::Interrupted => return Err(Failure::new(Exit::Interrupted, "")),
        Typed::Keys | Typed::SeveralLines | Typed::TooLong => {
            return Err(Failure::usage(
                "keys that write no text, or too many of them, were in the password; give it by --password-stdin",
            ));
        }
    };
    Ok(Some(without_line_end(&line)).filter(|password| !password.is_empty()))
}

fn without_line_end(line: &str) -> String {
    line.trim_end_matches(['\n', '\r']).to_owned()
}

/// The source when it is connected or known not to be.
async fn settled(client: &Client, mut source: Source) -> Outcome<Source> {
    let end = Instant::now() + PATIENCE;
    while source.state == SourceState::Connecting && Instant::now() < end {
        tokio::time::sleep(LOOK).await;
        if let Some(found) = client.sources().await?.into_iter().find(|found| found.id == source.id) {
            source = found;
        }
    }
    Ok(source)
}
