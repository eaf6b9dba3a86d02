//! Responses of the hub that are no values of core: lists, tokens, problems.
//!
//! They are parsed leniently (unknown fields are ignored), so that an older client understands a newer hub.

use askd_core::{FieldError, Question, Right, Seq, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionList {
    pub questions: Vec<Question>,
    #[serde(default)]
    pub next_cursor: Option<String>,
    /// The position of the list in the event log; the stream continues after it.
    pub seq: Seq,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Health {
    pub status: String,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub detail: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    pub id: String,
    #[serde(default)]
    pub name: Option<String>,
    pub rights: Vec<Right>,
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TokenList {
    pub tokens: Vec<TokenInfo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CreatedToken {
    #[serde(flatten)]
    pub info: TokenInfo,
    pub token: String,
}

/// A log-in link for one use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginCode {
    pub url: String,
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// The hub's typed refusal (problem+json).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    #[serde(default)]
    pub title: String,
    pub status: u16,
    /// Stable, for programs.
    pub code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// With 409: the question as it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<Question>>,
}

impl Problem {
    /// One sentence for people.
    pub fn sentence(&self) -> String {
        if !self.errors.is_empty() {
            let parts: Vec<String> =
                self.errors.iter().map(|error| format!("{}: {}", error.field, error.message)).collect();
            return parts.join("; ");
        }
        self.detail.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| self.title.clone())
    }
}
