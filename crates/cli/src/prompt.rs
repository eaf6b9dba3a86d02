//! The conversation of `askd answer ID` without answers: a [`Form`] on a terminal.
//!
//! In: an open question. Out: the question as the person settled it. While it is being asked the hub is
//! listened to, so that a person does not go on typing when the question was answered elsewhere. What the hub
//! does not take is asked again.

use askd_core::Question;

use super::exit::{Exit, Failure, Outcome};
use super::form::{Decided, Form, Notes, Step};
use super::screen::{Paint, say};
use super::terminal::{self, Typed};
use super::text::clean;
use super::{ending, render};
use crate::client::{Client, ClientError, Received};

/// Seconds of one wait for an answer from elsewhere; it is repeated.
const WAIT_SECONDS: u64 = 30;

/// The message for a question that stays open.
pub(super) const STILL_OPEN: &str = "nothing was sent; the question is still open";

/// The end of the conversation.
enum End {
    Decided(Decided),
    LeftOpen,
    /// By Ctrl-C or Ctrl-D.
    Interrupted,
}

/// What the person has seen already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    /// The asker, and its words before the question.
    Conversation,
}

/// The question as it was settled here; `None` if the person left it open by `q`.
pub(super) async fn ask(
    question: &Question,
    client: &Client,
    seen: Seen,
    notes: Option<Notes>,
) -> Outcome<Option<Received<Question>>> {
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
    // An answer without a response: the hub may have taken it.
    let mut unheard: Option<Decided> = None;
    loop {
        let decided = tokio::select! {
            biased;
            settled = settled_elsewhere(question, client) => {
                // The hub takes the same answer again and says so; it refuses another one.
                if let Some(decided) = &unheard
                    && let Ok(ours) = send(question, client, decided).await
                {
                    say("");
                    return Ok(Some(ours));
                }
                // Below the prompt and the typed text.
                say("");
                return Err(settled);
            }
            decided = converse(question, &mut form, paint) => decided?,
        };
        let decided = match decided {
            End::Decided(decided) => decided,
            End::LeftOpen => return Ok(None),
            End::Interrupted => return Err(left(seen)),
        };
        // The wait for another person's answer is over: it would see this one.
        let error = match send(question, client, &decided).await {
            Ok(settled) => return Ok(Some(settled)),
            Err(error) => error,
        };
        let passes = error.is_passing();
        let failure = Failure::of_answer(error, &question.ask);
        if !passes && failure.exit != Exit::InvalidAnswer {
            return Err(failure);
        }
        let so = if passes { "your answer is kept" } else { "the question is still open" };
        if passes {
            unheard = Some(decided);
        }
        terminal::forget_typed().await;
        say(&format!("askd: {}; {so}", clean(&failure.message)));
        let text = form.ask_again(passes);
        if !text.is_empty() {
            say(&text);
        }
    }
}

async fn converse(question: &Question, form: &mut Form<'_>, paint: Paint) -> Outcome<End> {
    let mut shown = None;
    // The moment from which the person has had time to read.
    let mut seen_at = None;
    loop {
        if let Some((i, item)) = form.item()
            && shown != Some(i)
        {
            shown = Some(i);
            say(&format!("\n{}", render::item_text(i, question.ask.questions.len(), item, paint).trim_end()));
        }
        if seen_at.as_ref() != Some(form.place()) {
            if !terminal::has_appeared(form.settles()).await? {
                return Ok(End::Interrupted);
            }
            seen_at = Some(form.place().clone());
        }
        let line = match terminal::read_answer(&paint.cyan(&form.prompt()), form.is_secret()).await? {
            Typed::Line(line) => line,
            Typed::End | Typed::Interrupted => return Ok(End::Interrupted),
            Typed::Keys => {
                say(&format!(
                    "Nothing was sent: arrows, Tab, Escape and such keys do not answer. {}",
                    form.how()
                ));
                continue;
            }
            Typed::SeveralLines => {
                say(&format!(
                    "Nothing was sent: several lines came at once, as from a paste. {}",
                    form.how()
                ));
                seen_at = None;
                continue;
            }
            Typed::TooLong => {
                say(
                    "Nothing was sent: the line is longer than the terminal takes. Use askd answer ID --stdin.",
                );
                seen_at = None;
                continue;
            }
        };
        match form.line(&line) {
            Step::Ask(text) => {
                if !text.is_empty() {
                    say(&text);
                }
                if form.item().is_none() {
                    shown = None;
                }
            }
            Step::Send(decided) => return Ok(End::Decided(decided)),
            Step::Quit => return Ok(End::LeftOpen),
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
        Seen::Nothing => STILL_OPEN,
        // The caller of the prompt decides about the question.
        Seen::Conversation => "nothing was sent",
    };
    Failure::new(Exit::Interrupted, message)
}

/// Ends when another answer won.
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
