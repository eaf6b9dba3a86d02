//! `askd reject`: the person rejects a question in one of its reject modes.

use askd_core::RejectMode;
use askd_core::answer::Rejection;
use clap::{Args, ValueEnum};

use super::exit::{Failure, Outcome};
use super::inside_agent::Guard;
use super::screen::{Screen, say};
use super::show::Target;
use super::{ending, ids};
use crate::client::Client;

#[derive(Debug, Args)]
pub struct RejectArgs {
    #[command(flatten)]
    target: Target,
    /// The reject mode; unless given, decline
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Why, for the agent; sends a plan back with feedback
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The agent is told that you declined, and goes on
    Decline,
    /// The call that asked is aborted
    Cancel,
    /// The agent's turn is stopped
    Interrupt,
}

impl From<Mode> for RejectMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Decline => Self::Decline,
            Mode::Cancel => Self::Cancel,
            Mode::Interrupt => Self::Interrupt,
        }
    }
}

pub async fn reject(args: RejectArgs, client: &Client, screen: Screen, guard: Guard) -> Outcome {
    guard.refuse_inside_agent("reject a question")?;
    let question = args.target.find(client).await?.value;
    let rejection = Rejection { mode: args.mode.map(RejectMode::from), reason: args.reason };
    // The mode that the hub will use, so that its effect can be shown in advance. The hub explains a refusal.
    if let Ok((mode, reason)) = rejection.clone().check(&question.ask)
        && question.is_open()
        && !screen.json
    {
        let effect = ending::reject_effect(mode, question.ask.kind, reason.is_some());
        say(&format!("Rejecting {} ({}): {effect}.", ids::short(&question.id), mode.as_str()));
    }
    let sent = client.reject(&question.id, &rejection).await;
    let settled = sent.map_err(|error| Failure::of_answer(error, &question.ask))?;
    if screen.json {
        return Ok(screen.json(&settled.json)?);
    }
    let text = settled.value.outcome.as_ref().map(ending::ended).unwrap_or_default();
    let delivery = ending::delivery(settled.value.delivery.as_ref(), settled.value.ask.session_id.is_some());
    Ok(screen.line(&format!("{}  {text}\n{delivery}", ids::short(&settled.value.id)))?)
}
