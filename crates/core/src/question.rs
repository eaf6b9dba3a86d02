//! The question as every surface shows it: what was asked, how it stands, how it ended, whether the agent has it.

use std::sync::Arc;

use serde_json::Number;

use crate::delivery::Delivery;
use crate::limits::MAX_PATTERN_BYTES;
use crate::outcome::FailedTry;
use crate::{Ask, DeliveryId, Outcome, QuestionId, Seq, Status, Timestamp};

/// Where the number of a try is in the name of its delivery: among the random bits of an id.
const TRY_BIT: u32 = 64;

/// What sort of decision is wanted.
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
    /// Whether a person consents with an answer, so that an answer with nothing in it could be taken for consent.
    pub fn is_consent(self) -> bool {
        matches!(self, Self::Plan | Self::Permission)
    }
}

/// One thing to pick.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub label: String,
    /// What the answer carries; the label unless the asker said otherwise.
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
    /// A link to open; picking `opened` says that it was.
    Url,
}

/// What an answer to a typed item must satisfy.
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
    /// A regular expression; one that askd cannot compile is shown but not enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// Whether one number is below another. Integers are compared as such, because doubles do not tell large ones apart.
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

    /// Whether answers are checked against the pattern, if there is one; look-around and references back are not understood.
    pub fn checks_pattern(&self) -> bool {
        self.pattern.is_none() || self.regex().is_some()
    }

    pub(crate) fn regex(&self) -> Option<regex_lite::Regex> {
        let pattern = self.pattern.as_ref().filter(|pattern| pattern.len() <= MAX_PATTERN_BYTES)?;
        regex_lite::Regex::new(pattern).ok()
    }
}

/// One prompt in a question.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub question: String,
    pub header: Option<String>,
    pub options: Vec<Choice>,
    pub multiple: bool,
    /// Whether own words are allowed beside or instead of the options.
    pub custom: bool,
    /// Whether the answer must be kept from every eye but the asker's.
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
    /// The name of this item in the agent's own schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What a person needs to understand the question without seeing the agent's screen.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Context {
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub title: Option<String>,
    /// What the agent said just before.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BodyFormat {
    Markdown,
    Command,
    Diff,
    Text,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    pub id: QuestionId,
    // Shared, because it hardly ever changes: only its call, where two alike calls were taken for each other.
    #[serde(flatten)]
    pub ask: Arc<Ask>,
    pub status: Status,
    pub outcome: Option<Outcome>,
    pub delivery: Option<Delivery>,
    /// Outcomes that did not get to the agent while its call waited on, oldest first; of many the newest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tries: Vec<FailedTry>,
    pub created_at: Timestamp,
    /// The place of its `question.requested` in the log.
    pub seq: Seq,
    /// By which road an answer would go now, where that can change: an open question of an agent in a terminal of its user's.
    /// Found out when the question is read, so it is in no event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub road: Option<AnswerRoad>,
    /// When the agent's own time-out is over, where its user has set one: then it goes on without an answer, unless a key is pressed in its
    /// terminal before. Found out when the question is read, so it is in no event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_times_out_at: Option<Timestamp>,
}

/// How an answer gets to an agent that askd did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnswerRoad {
    /// A hook waits for it.
    Hook,
    /// It would be typed into the agent's dialog, in its tmux pane.
    Keys,
    /// No channel: only a person at that terminal can answer there. An answer from elsewhere is refused.
    Terminal,
}

impl Question {
    /// The items whose answers must be sealed.
    pub fn secret_items(&self) -> Vec<usize> {
        self.ask.secret_items()
    }

    pub fn is_open(&self) -> bool {
        self.status == Status::Requested
    }

    /// Whether it is open although its deadline has passed: then only its expiry is left.
    pub fn is_overdue(&self, at: Timestamp) -> bool {
        self.is_open() && self.ask.deadline.is_some_and(|deadline| deadline <= at)
    }

    /// Whether its outcome is on its way to the agent.
    pub fn is_being_delivered(&self) -> bool {
        self.delivery.as_ref().is_some_and(Delivery::is_pending)
    }

    /// The name of the delivery of its outcome: each try has another one.
    pub fn delivery_id(&self) -> DeliveryId {
        let tries = self.failed_tries.last().map_or(0, |last| last.number);
        // Ids of one millisecond may follow each other closely: the tries of one must not meet the next one's.
        DeliveryId::from_bits(self.id.bits() ^ (u128::from(tries) << TRY_BIT))
    }

    /// Whether anything is still to come of it.
    pub fn is_under_way(&self) -> bool {
        self.is_open() || self.is_being_delivered()
    }
}
