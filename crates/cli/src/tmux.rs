//! `askd tmux`: allows or forbids keys in the terminal of a session.

use askd_core::SessionId;
use clap::Args;

use super::exit::Outcome;
use super::inside_agent::Guard;
use super::screen::Screen;
use crate::client::Client;

pub const EXAMPLES: &str = "\
A question for which no hook was ever there says so (`askd show`), and an answer to it is typed into its dialog. With this, the same is
done for all questions of a session when the hook that should bring the answer is gone.

Examples:
  askd tmux ses_01J...
  askd tmux ses_01J... --off";

#[derive(Debug, Args)]
pub struct TmuxArgs {
    /// The session, as `askd show` names it
    #[arg(value_name = "SESSION")]
    session: SessionId,
    /// No longer
    #[arg(long)]
    off: bool,
}

pub async fn tmux(args: TmuxArgs, client: &Client, screen: Screen, guard: Guard) -> Outcome {
    guard.refuse_inside_agent("let answers be typed")?;
    let session = client.set_tmux(&args.session, !args.off).await?;
    if screen.json {
        return Ok(screen.json(&session.json)?);
    }
    let what = if session.value.tmux { "may" } else { "may not" };
    Ok(screen.line(&format!("answers {what} be typed into the terminal of {}", session.value.id))?)
}
