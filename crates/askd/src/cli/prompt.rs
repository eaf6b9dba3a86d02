//! The conversation of `askd answer ID` without answers: a [`Form`] on a terminal.
//!
//! In: an open question. Out: the question as the person settled it. While it is being asked the hub is listened to, so that a
//! person does not go on typing when the question was answered elsewhere. What the hub does not take is asked again.

use askd_core::Question;

use super::exit::{Exit, Failure, Outcome};
use super::form::{Decided, Form, Notes, Step};
use super::screen::{Paint, say};
use super::terminal::{self, Typed};
use super::text::clean;
use super::{ending, render};
use crate::client::{Client, ClientError, Received};

/// Seconds of one wait for somebody else's answer; it is repeated.
const WAIT_SECONDS: u64 = 30;

/// What the person already knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    /// Who asks, and what was said before it.
    Conversation,
}

pub(super) async fn ask(
    question: &Question,
    client: &Client,
    seen: Seen,
    notes: Option<Notes>,
) -> Outcome<Received<Question>> {
    if !terminal::is_interactive() {
        return Err(Failure::usage(
            "there is no answer on the command line and no terminal to ask at; see: askd answer --help",
        ));
    }
    let paint = Paint::for_terminal(true);
    let mut form = Form::new(question, notes);
    terminal::forget_typed().await;
    match seen {
        Seen::Nothing => say(&render::introduction(question, paint)),
        Seen::Conversation => say(&render::body(question, paint)),
    }
    say(&paint.dim(form.hint()));
    loop {
        let decided = tokio::select! {
            biased;
            settled = settled_elsewhere(question, client) => {
                // Below the prompt and what was typed at it.
                say("");
                return Err(settled);
            }
            decided = converse(question, &mut form, paint) => decided?,
        };
        let Some(decided) = decided else { return Err(left(seen)) };
        // Not while somebody else's answer is waited for: that would hear of this one.
        let error = match send(question, client, &decided).await {
            Ok(settled) => return Ok(settled),
            Err(error) => error,
        };
        let passes = error.is_passing();
        let failure = Failure::of_answer(error, &question.ask);
        if !passes && failure.exit != Exit::InvalidAnswer {
            return Err(failure);
        }
        let so = if passes { "your answer is kept" } else { "the question is still open" };
        terminal::forget_typed().await;
        say(&format!("askd: {}; {so}", clean(&failure.message)));
        let text = form.ask_again(passes);
        if !text.is_empty() {
            say(&text);
        }
    }
}

/// What the person decided; `None` if that was to leave.
async fn converse(question: &Question, form: &mut Form<'_>, paint: Paint) -> Outcome<Option<Decided>> {
    let mut shown = None;
    loop {
        if let Some((i, item)) = form.item()
            && shown != Some(i)
        {
            shown = Some(i);
            say(&format!("\n{}", render::item_text(i, question.ask.questions.len(), item, paint).trim_end()));
        }
        let typed = terminal::read_line(&paint.cyan(&form.prompt()), form.is_secret()).await?;
        let Typed::Line(line) = typed else { return Ok(None) };
        let place = form.place().clone();
        let step = form.line(&line);
        if *form.place() != place {
            terminal::forget_typed().await;
        }
        match step {
            Step::Ask(text) => {
                if !text.is_empty() {
                    say(&text);
                }
                if form.item().is_none() {
                    shown = None;
                }
            }
            Step::Send(decided) => return Ok(Some(decided)),
            Step::Quit => return Ok(None),
        }
    }
}

async fn send(
    question: &Question,
    client: &Client,
    decided: &Decided,
) -> Result<Received<Question>, ClientError> {
    match decided {
        Decided::Reply(reply) => client.reply(&question.id, reply).await,
        Decided::Reject(rejection) => client.reject(&question.id, rejection).await,
    }
}

fn left(seen: Seen) -> Failure {
    let message = match seen {
        Seen::Nothing => "nothing was sent; the question is still open",
        // Whoever runs the agent decides what becomes of the question.
        Seen::Conversation => "nothing was sent",
    };
    Failure::new(Exit::Interrupted, message)
}

/// Ends when somebody else was first.
async fn settled_elsewhere(question: &Question, client: &Client) -> Failure {
    loop {
        match client.wait(&question.id, WAIT_SECONDS).await {
            Ok(now) if !now.value.is_open() => {
                return Failure::new(Exit::Conflict, ending::conflict(&now.value));
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
