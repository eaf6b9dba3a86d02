//! A managed session in this terminal: the agent's output, and its questions if a person can answer them
//! here.
//!
//! In: a session and the hub's streams. Out: the agent's words on `stdout`, everything else on `stderr`,
//! answers to the hub. A question that is answered elsewhere ends its prompt here; a lost hub is waited for,
//! because the agent lives on.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use askd_core::{EventType, Question, Session, SessionId, Status};

use super::exit::{Exit, Outcome};
use super::inside_agent::Guard;
use super::screen::{Paint, plain_json, say};
use super::text::clean;
use super::{ending, ids, prompt, terminal};
use crate::client::{Client, Events, Filter, Heard, ListQuery};

/// A transcript that is silent for this long has no more words before the question.
const STILL: Duration = Duration::from_millis(100);

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOver {
    /// The agent has finished with the prompt, in its own word.
    Turn(String),
    /// The session is over.
    Session(Box<Session>),
}

/// Shows one turn, and answers here if `inline` and there is a terminal; `false` if the person left with
/// Ctrl-C.
pub async fn follow_turn(
    client: &Client,
    session: &Session,
    inline: bool,
    json: bool,
    guard: Guard,
) -> anyhow::Result<bool> {
    let mut conversation = Conversation::new(client, &session.id, inline, json, guard)
        .await
        .context("cannot follow the session")?;
    match conversation.turn().await {
        Ok(_) => Ok(true),
        Err(failure) if failure.exit == Exit::Interrupted => Ok(false),
        Err(failure) => Err(anyhow::anyhow!(failure.message)),
    }
}

/// One entry of the transcript.
#[derive(Debug, Deserialize)]
struct Said {
    text: Option<String>,
}

pub struct Conversation<'a> {
    client: &'a Client,
    session: SessionId,
    inline: bool,
    /// True to print the API's entries, one on a line.
    json: bool,
    transcript: Events,
    events: Events,
    waiting: VecDeque<Question>,
    /// True while the connection is known to be lost, so that this is reported once.
    lost: bool,
}

impl<'a> Conversation<'a> {
    pub(super) async fn new(
        client: &'a Client,
        session: &SessionId,
        inline: bool,
        json: bool,
        guard: Guard,
    ) -> Result<Self, crate::client::ClientError> {
        let filter = Filter { session: Some(session.clone()), ..Filter::default() };
        let open = Filter { status: Some(Status::Requested), ..filter.clone() };
        let list = client
            .questions(&ListQuery { filter: open, oldest_first: true, ..ListQuery::default() })
            .await?
            .value;
        // Also a terminal may be an agent's: then the questions wait for another surface.
        let inline = inline && terminal::is_interactive() && guard.refuse_inside_agent("answer here").is_ok();
        if !inline {
            list.questions.iter().for_each(say_waiting);
        }
        Ok(Self {
            client,
            session: session.clone(),
            inline,
            json,
            transcript: Events::transcript(client.clone(), session),
            events: Events::new(client.clone(), filter, list.seq),
            waiting: list.questions.into(),
            lost: false,
        })
    }

    /// Until the agent has finished with a prompt, or is gone.
    pub(super) async fn turn(&mut self) -> Outcome<TurnOver> {
        loop {
            let asking = self.waiting.front().cloned().filter(|_| self.inline);
            if let Some(question) = asking {
                // The agent's words before the question come first.
                while let Ok(heard) = tokio::time::timeout(STILL, self.transcript.next()).await {
                    if let Some(over) = self.said(heard?).await? {
                        return Ok(over);
                    }
                }
                self.ask(&question).await?;
                self.waiting.pop_front();
                continue;
            }
            tokio::select! {
                heard = self.transcript.next() => if let Some(over) = self.said(heard?).await? { return Ok(over) },
                heard = self.events.next() => self.happened(heard?),
            }
        }
    }

    async fn said(&mut self, heard: Heard) -> Outcome<Option<TurnOver>> {
        let event = match heard {
            Heard::Event(event) => event,
            Heard::Lost(_) => return self.lost().await,
            Heard::Connected => {
                if std::mem::take(&mut self.lost) {
                    say("askd: connected again");
                }
                return Ok(None);
            }
            Heard::Trimmed(_) => {
                say("askd: the beginning of this session is not kept any more");
                return Ok(None);
            }
        };
        let text =
            serde_json::from_str::<Said>(&event.json).ok().and_then(|said| said.text).unwrap_or_default();
        let paint = Paint::for_terminal(io::stderr().is_terminal());
        if self.json {
            print(&format!("{}\n", plain_json(&event.json)))?;
            return Ok((event.name == "turn").then_some(TurnOver::Turn(text)));
        }
        match event.name.as_str() {
            "agent" => print(&clean(&text))?,
            "thought" | "tool" | "error" if !text.is_empty() => say(&paint.dim(&clean(&text))),
            "turn" => return Ok(Some(TurnOver::Turn(text))),
            _ => {}
        }
        Ok(None)
    }

    /// The transcript ends with its session; otherwise the hub is gone and will be back.
    async fn lost(&mut self) -> Outcome<Option<TurnOver>> {
        if let Ok(session) = self.client.session(&self.session).await
            && !session.value.live
        {
            return Ok(Some(TurnOver::Session(Box::new(session.value))));
        }
        if !std::mem::replace(&mut self.lost, true) {
            say("askd: the hub is gone; the agent goes on, and so does this when the hub is back");
        }
        Ok(None)
    }

    fn happened(&mut self, heard: Heard) {
        let Heard::Event(event) = heard else { return };
        let Some(event) = event.parse() else { return };
        let Some(question) = event.question else { return };
        match event.kind {
            EventType::QuestionRequested => {
                if !self.inline {
                    say_waiting(&question);
                }
                self.waiting.push_back(question);
            }
            EventType::QuestionResolved => {
                self.waiting.retain(|waiting| waiting.id != question.id);
                if let Some(outcome) = question.outcome.as_ref().filter(|_| !self.inline) {
                    say(&format!("askd: {}", ending::ended(outcome)));
                }
            }
            EventType::QuestionUpdated if is_open_again(&question, &self.waiting) => {
                let failed = question.failed_tries.last().and_then(|failed| failed.delivery.error.as_ref());
                let why =
                    failed.and_then(|error| error.detail.as_deref()).unwrap_or("the agent did not take it");
                say(&format!("askd: the answer did not arrive: {}", clean(why)));
                if !self.inline {
                    say_waiting(&question);
                }
                self.waiting.push_back(question);
            }
            _ => {}
        }
    }

    async fn ask(&mut self, question: &Question) -> Outcome {
        match prompt::ask(question, self.client, prompt::Seen::Conversation, None).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => {
                let id = ids::short(&question.id);
                say(&format!(
                    "askd: nothing was sent; the question is still open: askd answer {id}\naskd: the session goes on; Ctrl-C ends it"
                ));
                Ok(())
            }
            // Another answer won: the agent continues with that.
            Err(failure) if failure.exit == Exit::Conflict => {
                say(&failure.message);
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }
}

/// True if an answer did not reach the agent, and the question has to be asked again.
fn is_open_again(question: &Question, waiting: &VecDeque<Question>) -> bool {
    let is_known = waiting.iter().any(|known| known.id == question.id);
    question.is_open() && !question.failed_tries.is_empty() && !is_known
}

/// Shows where it can be answered, if not here.
fn say_waiting(question: &Question) {
    say(&format!("askd: waiting for an answer: askd answer {}", ids::short(&question.id)));
}

/// Prints the agent's words as they come, which may be parts of a line.
fn print(text: &str) -> Outcome {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use askd_core::delivery::Delivery;
    use askd_core::outcome::FailedTry;
    use askd_core::{AskInput, By, Outcome, QuestionId, Timestamp};

    use super::*;

    #[test]
    fn a_question_whose_answer_did_not_arrive_is_asked_again_once() {
        let input: AskInput = serde_json::from_str(r#"{"questions":[{"question":"Which?"}]}"#).unwrap();
        let at = Timestamp::from_millis(1);
        let mut question = Question {
            id: QuestionId::from_bits(1),
            ask: input.complete().unwrap().into(),
            status: Status::Requested,
            outcome: None,
            delivery: None,
            created_at: at,
            seq: 1,
            road: None,
            agent_times_out_at: None,
            failed_tries: Vec::new(),
        };
        assert!(!is_open_again(&question, &VecDeque::new()), "something else about it has changed");
        let outcome = Outcome::cancelled(askd_core::Cause::DeadlinePassed, By::hub(), at);
        question.failed_tries.push(FailedTry { number: 1, outcome, delivery: Delivery::queued(at) });
        assert!(is_open_again(&question, &VecDeque::new()));
        assert!(!is_open_again(&question, &VecDeque::from([question.clone()])));
        question.status = Status::Answered;
        assert!(!is_open_again(&question, &VecDeque::new()), "it was answered elsewhere");
    }
}
