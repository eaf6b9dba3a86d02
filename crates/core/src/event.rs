//! One entry of the event log. A stream of events is a cursor over the store.

use crate::{Question, Session, Timestamp};

/// A position in the event log. Numbers grow; a reader that has seen `n` continues after `n`.
pub type Seq = u64;

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub enum EventType {
    #[serde(rename = "question.requested")]
    QuestionRequested,
    #[serde(rename = "question.resolved")]
    QuestionResolved,
    /// The delivery ended: `confirmed` or `failed`.
    #[serde(rename = "question.delivered")]
    QuestionDelivered,
    /// Another change, such as `sent` or the answer that the agent received instead.
    #[serde(rename = "question.updated")]
    QuestionUpdated,
    #[serde(rename = "session.started")]
    SessionStarted,
    #[serde(rename = "session.ended")]
    SessionEnded,
}

impl EventType {
    /// Every type.
    pub const ALL: [Self; 6] = [
        Self::QuestionRequested,
        Self::QuestionResolved,
        Self::QuestionDelivered,
        Self::QuestionUpdated,
        Self::SessionStarted,
        Self::SessionEnded,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QuestionRequested => "question.requested",
            Self::QuestionResolved => "question.resolved",
            Self::QuestionDelivered => "question.delivered",
            Self::QuestionUpdated => "question.updated",
            Self::SessionStarted => "session.started",
            Self::SessionEnded => "session.ended",
        }
    }

    /// The type with this name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// One entry of the log, with the question or session as it stood then.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub seq: Seq,
    #[serde(rename = "type")]
    pub kind: EventType,
    pub at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}
