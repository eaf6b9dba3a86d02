//! `askd show`: one question, whole.

use clap::Args;

use super::exit::{Exit, Failure, Outcome};
use super::screen::Screen;
use super::text::clean;
use super::{ids, render};
use crate::client::{Client, Received};

/// The question: an id, or the one that has waited longest.
#[derive(Debug, Args)]
pub struct Target {
    /// The question's id, a unique beginning of it, or its last 6 characters or more
    #[arg(value_name = "ID", required_unless_present = "oldest", conflicts_with = "oldest")]
    id: Option<String>,
    /// The open question that has waited longest
    #[arg(long)]
    oldest: bool,
}

impl Target {
    pub async fn find(&self, client: &Client) -> Outcome<Received<askd_core::Question>> {
        match &self.id {
            Some(id) => ids::find(client, id).await,
            None => ids::oldest(client).await,
        }
    }
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    target: Target,
    /// Only its plan, command or diff, unchanged
    #[arg(long)]
    body: bool,
}

pub async fn show(args: ShowArgs, client: &Client, screen: Screen) -> Outcome {
    let question = args.target.find(client).await?;
    if args.body {
        let Some(body) = &question.value.ask.body else {
            return Err(Failure::new(Exit::NotFound, format!("{} has no body", question.value.id)));
        };
        if screen.json {
            return Ok(screen.json(&question.json["body"])?);
        }
        // A file receives the exact text; a terminal receives cleaned text.
        return Ok(match screen.width {
            Some(_) => screen.line(&clean(&body.text)),
            None => screen.text(&body.text),
        }?);
    }
    if screen.json {
        return Ok(screen.json(&question.json)?);
    }
    Ok(screen.line(&render::question(&question.value, screen.paint))?)
}
