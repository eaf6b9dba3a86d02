//! The question as every surface shows it: the ask, its status, its outcome and the delivery.

use std::sync::Arc;

use serde_json::Number;

use crate::delivery::Delivery;
use crate::limits::MAX_PATTERN_BYTES;
use crate::outcome::FailedTry;
use crate::{Ask, DeliveryId, Outcome, QuestionId, Seq, Status, Timestamp};

/// The bit of a delivery id that holds the number of the try, among the random bits.
const TRY_BIT: u32 = 64;

/// The sort of decision.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    #[default]
    Choice,
    /// Approve, approve with edits, or send back.
    Plan,
    /// One of the agent's own options.
    Permission,
    /// Typed fields.
    Form,
}

impl Kind {
    /// True if an answer of this kind gives consent: an empty answer could then be mistaken for it.
    pub fn is_consent(self) -> bool {
        matches!(self, Self::Plan | Self::Permission)
    }
}

/// One option of an item.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub label: String,
    /// The value that the answer carries; the label unless the asker gives another.
    pub value: String,
    pub description: Option<String>,
    pub preview: Option<String>,
}

/// The type of a field in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    Text,
    Multiline,
    Number,
    Integer,
    Boolean,
    Date,
    Datetime,
    Email,
    Uri,
    /// A link to open; the pick `opened` confirms it.
    Url,
}

/// Constraints on the answer to a typed item.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bounds {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub minimum: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub maximum: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// A regular expression. One that askd cannot compile is shown but not enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// Compares two numbers. Integers are compared as integers, because a double cannot tell large ones apart.
pub(crate) fn is_less(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one < other,
        _ => one.as_f64() < other.as_f64(),
    }
}

impl Bounds {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True unless the item has a pattern that askd cannot compile (look-around, back references).
    pub fn checks_pattern(&self) -> bool {
        self.pattern.is_none() || self.regex().is_some()
    }

    pub(crate) fn regex(&self) -> Option<regex_lite::Regex> {
        let pattern = self.pattern.as_ref().filter(|pattern| pattern.len() <= MAX_PATTERN_BYTES)?;
        regex_lite::Regex::new(pattern).ok()
    }
}

/// One item of a question.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub question: String,
    pub header: Option<String>,
    pub options: Vec<Choice>,
    pub multiple: bool,
    /// Own words are allowed beside or instead of the options.
    pub custom: bool,
    /// Only the asker may read the answer.
    pub secret: bool,
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Bounds::is_empty")]
    pub bounds: Bounds,
    /// The link of an item with `input: url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The field name in the agent's own schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The context that a person needs without the agent's screen.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Context {
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub title: Option<String>,
    /// The agent's text just before the question.
    #[serde(default)]
    pub excerpt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// The tool call that asked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolRef {
    #[serde(default)]
    pub message_id: Option<String>,
    #[serde(default)]
    pub call_id: Option<String>,
}

/// The long text that a question is about: a plan, a command, a diff.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Body {
    pub format: BodyFormat,
    pub text: String,
}

/// The format of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BodyFormat {
    Markdown,
    Command,
    Diff,
    Text,
}

/// A question with its status, outcome and delivery.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    pub id: QuestionId,
    // Shared, because it changes only when two identical calls were matched the wrong way round: then their
    // `tool` is exchanged.
    #[serde(flatten)]
    pub ask: Arc<Ask>,
    pub status: Status,
    pub outcome: Option<Outcome>,
    pub delivery: Option<Delivery>,
    /// Outcomes that did not reach the agent while its call still waited, oldest first; only the newest are
    /// kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tries: Vec<FailedTry>,
    pub created_at: Timestamp,
    /// The position of `question.requested` in the event log.
    pub seq: Seq,
    /// The channel that an answer would use now, if that can change: for an open question of a local agent.
    /// The hub computes it at each read, so no event has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub road: Option<AnswerRoad>,
    /// The end of the agent's own time-out, if its user has set one: the agent then continues without an
    /// answer, unless a key is pressed in its terminal first. The hub computes it at each read, so no event
    /// has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_times_out_at: Option<Timestamp>,
}

/// The channel of an answer to a local agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnswerRoad {
    /// A hook waits for the answer.
    Hook,
    /// Keys are typed into the agent's dialog, in its tmux pane.
    Keys,
    /// No channel: only a person at that terminal can answer, and any other answer is refused.
    Terminal,
}

impl Question {
    /// The indexes of the items with sealed answers.
    pub fn secret_items(&self) -> Vec<usize> {
        self.ask.secret_items()
    }

    pub fn is_open(&self) -> bool {
        self.status == Status::Requested
    }

    /// True if the question is open although its deadline has passed: it can only expire.
    pub fn is_overdue(&self, at: Timestamp) -> bool {
        self.is_open() && self.ask.deadline.is_some_and(|deadline| deadline <= at)
    }

    /// True while the outcome has a pending delivery.
    pub fn is_being_delivered(&self) -> bool {
        self.delivery.as_ref().is_some_and(Delivery::is_pending)
    }

    /// The id of the outcome's delivery. Each try has its own.
    pub fn delivery_id(&self) -> DeliveryId {
        let tries = self.failed_tries.last().map_or(0, |last| last.number);
        // Ids of the same millisecond can follow each other closely; this bit keeps the tries of one question
        // apart from the next question's id.
        DeliveryId::from_bits(self.id.bits() ^ (u128::from(tries) << TRY_BIT))
    }

    /// True while the question is open or its delivery is pending.
    pub fn is_under_way(&self) -> bool {
        self.is_open() || self.is_being_delivered()
    }
}
