//! How a question ended: one outcome, with its person, surface and reason.

use crate::delivery::Delivery;
use crate::{Answer, Item, ItemAnswer, ShownAnswer, Timestamp};

/// The state of a question: open, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Requested,
    Answered,
    Rejected,
    Cancelled,
    Expired,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 5] =
        [Self::Requested, Self::Answered, Self::Rejected, Self::Cancelled, Self::Expired];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Answered => "answered",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// The value with this name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// The effect of a rejection on the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RejectMode {
    /// The agent is told that the person declined, with the reason, and continues.
    Decline,
    /// The call is aborted.
    Cancel,
    /// The turn is stopped.
    Interrupt,
}

impl RejectMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decline => "decline",
            Self::Cancel => "cancel",
            Self::Interrupt => "interrupt",
        }
    }
}

/// The place where a question was ended: a surface, the agent's own screen, or the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    Web,
    Terminal,
    Cli,
    Api,
    Notification,
    /// The agent's own user interface.
    Agent,
    /// askd itself, for ends without a person (a deadline, an agent that exited).
    Hub,
}

impl Surface {
    /// Parses a surface that a client may name as its own.
    pub fn parse_claim(text: &str) -> Option<Self> {
        match text {
            "web" => Some(Self::Web),
            "terminal" => Some(Self::Terminal),
            "cli" => Some(Self::Cli),
            "api" => Some(Self::Api),
            "notification" => Some(Self::Notification),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Terminal => "terminal",
            Self::Cli => "cli",
            Self::Api => "api",
            Self::Notification => "notification",
            Self::Agent => "agent",
            Self::Hub => "hub",
        }
    }
}

/// The person and surface that ended a question.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct By {
    pub surface: Surface,
    /// The name of the token.
    pub actor: Option<String>,
}

impl By {
    /// The hub itself.
    pub fn hub() -> Self {
        Self { surface: Surface::Hub, actor: None }
    }

    /// The agent's own screen.
    pub fn agent() -> Self {
        Self { surface: Surface::Agent, actor: None }
    }
}

/// The reason for an end without a person's decision, or for the end of a session.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Cause {
    /// The agent took its question back.
    AgentWithdrew { detail: Option<String> },
    /// The agent's process ended.
    AgentExited {
        code: Option<i32>,
        signal: Option<i32>,
        stderr: Vec<String>,
        /// The command that continues the conversation, if the agent has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume: Option<String>,
    },
    /// The agent's own time-out ended, and it continued without an answer; `detail` has its words.
    AgentTimedOut { detail: Option<String> },
    /// The turn that asked was aborted.
    TurnAborted { detail: Option<String> },
    /// The conversation was ended.
    SessionEnded { detail: Option<String> },
    /// askd can no longer reach the question's source.
    SourceLost { detail: Option<String> },
    /// The program that asked took its question back.
    AskerWithdrew { reason: Option<String> },
    /// The asker's own deadline passed before an answer.
    DeadlinePassed,
}

/// The complete outcome for the agent, including the answers of secret items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    Answered(Answer),
    Rejected { mode: RejectMode, reason: Option<String> },
}

impl Settlement {
    pub fn reject_mode(&self) -> Option<RejectMode> {
        match self {
            Self::Answered(_) => None,
            Self::Rejected { mode, .. } => Some(*mode),
        }
    }
}

/// The answer that the agent took instead of the accepted one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentReceived {
    pub answers: Vec<ShownAnswer>,
    /// The agent's own channel, such as `terminal`.
    pub via: String,
}

/// An outcome that did not reach its agent and decided nothing there: the question opened again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedTry {
    /// 1 for the first try of a question.
    pub number: u32,
    pub outcome: Outcome,
    /// The delivery of the try; `error` has the reason why it failed.
    pub delivery: Delivery,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub status: Status,
    /// One for each item, in order; absent without an answer.
    pub answers: Option<Vec<ShownAnswer>>,
    pub notes: Option<Vec<Option<String>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_plan: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_mode: Option<String>,
    /// Items with a secret answer or note, which is therefore absent here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RejectMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub by: By,
    pub cause: Option<Cause>,
    pub at: Timestamp,
    pub agent_received: Option<AgentReceived>,
}

/// The answers for every reader: those of `secret` items are empty.
pub(crate) fn shown(answers: &[ItemAnswer], items: &[Item]) -> Vec<ShownAnswer> {
    let shown = |(i, answer): (usize, &ItemAnswer)| match items.get(i) {
        Some(item) if item.secret => ShownAnswer::default(),
        item => answer.shown(item),
    };
    answers.iter().enumerate().map(shown).collect()
}

impl Outcome {
    fn empty(status: Status, by: By, at: Timestamp) -> Self {
        Self {
            status,
            answers: None,
            notes: None,
            edited_plan: None,
            next_mode: None,
            withheld: Vec::new(),
            mode: None,
            reason: None,
            by,
            cause: None,
            at,
            agent_received: None,
        }
    }

    /// Answered; the answers and notes of secret items are not in the outcome.
    pub fn answered(answer: &Answer, items: &[Item], by: By, at: Timestamp) -> Self {
        let is_secret = |i: usize| items.get(i).is_some_and(|item| item.secret);
        let note = |i: usize| answer.notes.get(i).and_then(Option::as_ref);
        let mut outcome = Self::empty(Status::Answered, by, at);
        outcome.answers = Some(shown(&answer.answers, items));
        let notes = (0..answer.notes.len()).map(|i| note(i).filter(|_| !is_secret(i)).cloned());
        outcome.notes = Some(notes.collect()).filter(|notes: &Vec<_>| notes.iter().any(Option::is_some));
        outcome.edited_plan.clone_from(&answer.edited_plan);
        outcome.next_mode.clone_from(&answer.next_mode);
        let given = |i: usize| answer.answers.get(i).is_some_and(|answer| !answer.is_empty());
        outcome.withheld =
            (0..items.len()).filter(|i| is_secret(*i) && (given(*i) || note(*i).is_some())).collect();
        outcome
    }

    /// A rejected outcome.
    pub fn rejected(mode: RejectMode, reason: Option<String>, by: By, at: Timestamp) -> Self {
        let mut outcome = Self::empty(Status::Rejected, by, at);
        outcome.mode = Some(mode);
        outcome.reason = reason;
        outcome
    }

    /// A cancelled outcome.
    pub fn cancelled(cause: Cause, by: By, at: Timestamp) -> Self {
        let mut outcome = Self::empty(Status::Cancelled, by, at);
        outcome.cause = Some(cause);
        outcome
    }

    /// An expired outcome.
    pub fn expired(at: Timestamp) -> Self {
        let mut outcome = Self::empty(Status::Expired, By::hub(), at);
        outcome.cause = Some(Cause::DeadlinePassed);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_was_skipped_is_told_from_one_that_is_withheld() {
        let ask = r#"{"questions":[{"question":"?","options":[{"label":"Root","value":"root"}]},
            {"question":"?","secret":true},{"question":"?","secret":true}]}"#;
        let ask = serde_json::from_str::<crate::AskInput>(ask).unwrap().complete().unwrap();
        let answers =
            vec![ItemAnswer::picks(["root"]), ItemAnswer::words(["hunter2"]), ItemAnswer::default()];
        let answer = Answer { notes: vec![None; 3], answers, edited_plan: None, next_mode: None };
        let outcome = Outcome::answered(&answer, &ask.questions, By::hub(), Timestamp::from_millis(1));
        let root = ShownAnswer { picks: vec!["root".into()], labels: vec!["Root".into()], words: vec![] };
        assert_eq!(outcome.answers, Some(vec![root, ShownAnswer::default(), ShownAnswer::default()]));
        assert_eq!(outcome.withheld, [1]);
    }

    #[test]
    fn a_note_beside_a_secret_is_withheld_with_it() {
        let ask = r#"{"questions":[{"question":"?"},{"question":"?","secret":true},{"question":"?","secret":true}]}"#;
        let ask = serde_json::from_str::<crate::AskInput>(ask).unwrap().complete().unwrap();
        let answers = vec![ItemAnswer::words(["root"]), ItemAnswer::words(["x"]), ItemAnswer::default()];
        let note = |text: &str| Some(text.to_owned());
        let notes = vec![note("open"), note("it is hunter2"), note("ask Ada")];
        let answer = Answer { notes, answers, edited_plan: None, next_mode: None };
        let outcome = Outcome::answered(&answer, &ask.questions, By::hub(), Timestamp::from_millis(1));
        assert_eq!(outcome.notes, Some(vec![note("open"), None, None]));
        assert_eq!(outcome.withheld, [1, 2]);
    }
}
