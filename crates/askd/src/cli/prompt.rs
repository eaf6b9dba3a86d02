//! The conversation of `askd answer ID` without answers: a [`Form`] on a terminal.
//!
//! In: an open question. Out: what the person decided. While it is being asked the hub is listened to, so that a person does not
//! go on typing when the question was answered elsewhere.

use askd_core::Question;

use super::exit::{Exit, Failure, Outcome};
use super::form::{Decided, Form, Step};
use super::screen::{Paint, say};
use super::{ending, render, terminal};
use crate::client::{Client, ClientError};

/// Seconds of one wait for somebody else's answer; it is repeated.
const WAIT_SECONDS: u64 = 30;

/// What the person already knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    /// Who asks, and what was said before it.
    Conversation,
}

pub(super) async fn ask(question: &Question, client: &Client, seen: Seen) -> Outcome<Decided> {
    if !terminal::is_interactive() {
        return Err(Failure::usage(
            "there is no answer on the command line and no terminal to ask at; see: askd answer --help",
        ));
    }
    tokio::select! {
        biased;
        settled = settled_elsewhere(question, client) => Err(settled),
        decided = converse(question, seen) => decided,
    }
}

async fn converse(question: &Question, seen: Seen) -> Outcome<Decided> {
    let paint = Paint::for_terminal(true);
    let mut form = Form::new(question);
    match seen {
        Seen::Nothing => say(&render::introduction(question, paint)),
        Seen::Conversation => say(&render::body(question, paint)),
    }
    say(&paint.dim(form.hint()));
    let mut shown = None;
    loop {
        if let Some((i, item)) = form.item()
            && shown != Some(i)
        {
            shown = Some(i);
            say(&format!("\n{}", render::item_text(i, question.ask.questions.len(), item, paint).trim_end()));
        }
        let line = terminal::read_line(&paint.cyan(&form.prompt()), form.is_secret()).await?;
        let Some(line) = line else { return Err(left()) };
        match form.line(&line) {
            Step::Ask(text) => {
                if !text.is_empty() {
                    say(&text);
                }
                if form.item().is_none() {
                    shown = None;
                }
            }
            Step::Send(decided) => return Ok(decided),
            Step::Quit => return Err(left()),
        }
    }
}

fn left() -> Failure {
    Failure::new(Exit::Interrupted, "nothing was sent; the question is still open")
}

/// Ends when somebody else was first.
async fn settled_elsewhere(question: &Question, client: &Client) -> Failure {
    loop {
        match client.wait(&question.id, WAIT_SECONDS).await {
            Ok(now) if !now.value.is_open() => {
                return Failure::new(Exit::Conflict, format!("\n{}", ending::conflict(&now.value)));
            }
            Ok(_) => {}
            // The hub may come back before the person has decided; sending will tell.
            Err(ClientError::Problem(problem)) if problem.status < 500 && problem.status != 429 => {
                return ClientError::Problem(problem).into();
            }
            Err(_) => tokio::time::sleep(std::time::Duration::from_secs(2)).await,
        }
    }
}
