//! The end of a command: an exit code for scripts, and a sentence that says what to do.

use std::io;
use std::process::ExitCode;

use askd_core::{Ask, FieldError};
use askd_data::ConfigError;
use serde_json::{Value, json};

use super::ending;
use super::render::item_name;
use super::screen::{plain_json, say};
use super::terminal::Closed;
use super::text::clean;
use crate::client::ClientError;

/// The exit codes, as `askd --help` and docs/cli.md list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Done = 0,
    Error = 1,
    Usage = 2,
    NoHub = 3,
    NotFound = 4,
    /// It was settled in another way before.
    Conflict = 5,
    /// By rights, or inside an agent's process tree.
    Refused = 6,
    InvalidAnswer = 7,
    /// The terminal went away.
    HungUp = 129,
    /// By Ctrl-C or the end of input.
    Interrupted = 130,
    /// By SIGQUIT.
    Quit = 131,
    /// By `SIGTERM`.
    Terminated = 143,
}

pub const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    error
  2    wrong usage
  3    no hub answers
  4    not found
  5    already settled in another way
  6    refused: by rights, or inside an agent's process tree
  7    the answer does not fit the question, or there is none
  130  ended by Ctrl-C; a prompt that is left sends nothing
  129, 131, 143  ended by SIGHUP, SIGQUIT, SIGTERM";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The hub's code for an answer that no channel can carry.
const UNCARRIED: &str = "channel_cannot_carry";

/// The reason why a command failed.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
    /// For programs: the hub's own words.
    problem: Option<Value>,
}

pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), problem: None }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Exit::InvalidAnswer, message)
    }

    /// The hub did not take an answer to `ask`.
    pub fn of_answer(error: ClientError, ask: &Ask) -> Self {
        let misfits = error.problem().map(|problem| misfits(&problem.errors, ask));
        let is_misfit = error
            .problem()
            .is_some_and(|problem| matches!(problem.status, 400 | 422) && !problem.errors.is_empty());
        let mut failure = Self::from(error);
        if is_misfit {
            failure.exit = Exit::InvalidAnswer;
        }
        if let Some(misfits) = misfits.filter(|text| !text.is_empty()) {
            failure.message = misfits;
        }
        failure
    }

    /// Writes the reason to `stderr` and gives the code.
    pub fn report(&self, as_json: bool) -> ExitCode {
        if !self.message.is_empty() {
            let text = if as_json {
                let mut value = json!({ "error": self.message, "exitCode": self.exit as u8 });
                if let Some(problem) = &self.problem {
                    value["problem"] = problem.clone();
                }
                plain_json(&value.to_string())
            } else {
                format!("askd: {}", clean(&self.message))
            };
            say(&text);
        }
        self.exit.into()
    }
}

/// The errors of an answer, each with the name of its item in `askd show`.
fn misfits(errors: &[FieldError], ask: &Ask) -> String {
    let sentence = |error: &FieldError| {
        let note = error.field.starts_with("notes");
        let item = error
            .item
            .or_else(|| index(&error.field))
            .and_then(|i| ask.questions.get(i).map(|item| (i, item)));
        let place = match item {
            Some((i, item)) if ask.questions.len() > 1 => {
                format!("{}. {}: ", i + 1, item_name(item))
            }
            Some(_) => String::new(),
            None => format!("{}: ", error.field),
        };
        format!("{place}{}{}", if note { "the note " } else { "" }, error.message)
    };
    errors.iter().map(sentence).collect::<Vec<_>>().join("; ")
}

/// The first index in a path such as `answers[1][0]`.
fn index(field: &str) -> Option<usize> {
    field.split_once('[')?.1.split_once(']')?.0.parse().ok()
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let mut message = error.to_string();
        let exit = match &error {
            ClientError::NotRunning { .. } => Exit::NoHub,
            ClientError::NoToken { .. } | ClientError::Unauthorized { .. } => Exit::Refused,
            ClientError::BadUrl { .. } => Exit::Usage,
            ClientError::NotPrivate(_)
            | ClientError::Unsure { .. }
            | ClientError::Broken { .. }
            | ClientError::Unreadable { .. } => Exit::Error,
            ClientError::Problem(problem) => match (problem.status, &problem.question) {
                (409, Some(question)) => {
                    message = ending::conflict(question);
                    Exit::Conflict
                }
                (404, _) => Exit::NotFound,
                (401 | 403, _) => Exit::Refused,
                // Errors of the command line; for errors of an answer see `of_answer`.
                (400 | 422, _) if !problem.errors.is_empty() => Exit::Usage,
                (409, _) if problem.code == UNCARRIED => Exit::InvalidAnswer,
                _ => Exit::Error,
            },
        };
        let problem = error.problem().and_then(|problem| serde_json::to_value(problem).ok());
        Self { exit, message, problem }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // The reader of `stdout` has enough, as in `askd list | head -1`.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Exit::Done, "");
        }
        // The signal of a closed terminal may come after the failed write, and never to a process that
        // ignores it.
        if error.get_ref().is_some_and(|inner| inner.is::<Closed>()) {
            return Self::new(Exit::HungUp, "");
        }
        Self::new(Exit::Error, error.to_string())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<ClientError>() {
            Ok(error) => error.into(),
            Err(error) => Self::new(Exit::Error, format!("{error:#}")),
        }
    }
}
