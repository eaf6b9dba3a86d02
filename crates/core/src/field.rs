//! Errors that name the field they are about.
//!
//! In: the path of a field as the client wrote it, a stable code, a sentence. Out: a list that surfaces show beside the fields.

use std::fmt;

/// One thing wrong with one field of a request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldError {
    /// Where, as a path into the body: `answers[1][0]`, `questions[0].options[2].label`.
    pub field: String,
    /// The index of the item that it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// What, for programs.
    pub code: String,
    /// What, for people.
    pub message: String,
}

/// All that is wrong with a request; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct FieldErrors(pub Vec<FieldError>);

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", error.field, error.message)?;
        }
        Ok(())
    }
}

/// Collects errors while a request is read to its end, so that a person sees all of them at once.
#[derive(Debug, Default)]
pub struct Collector(Vec<FieldError>);

impl Collector {
    pub fn add(&mut self, field: impl fmt::Display, code: &str, message: impl Into<String>) {
        self.0.push(FieldError {
            field: field.to_string(),
            item: None,
            code: code.to_owned(),
            message: message.into(),
        });
    }

    pub fn add_item(
        &mut self,
        item: usize,
        field: impl fmt::Display,
        code: &str,
        message: impl Into<String>,
    ) {
        self.0.push(FieldError {
            field: field.to_string(),
            item: Some(item),
            code: code.to_owned(),
            message: message.into(),
        });
    }

    /// A text that must not be longer than `max` bytes.
    pub fn bounded(&mut self, field: impl fmt::Display, text: &str, max: usize) {
        if text.len() > max {
            self.add(field, "too_long", format!("has {} bytes, at most {max} are allowed", text.len()));
        }
    }

    /// What was found, for a reader that cannot go on.
    pub fn into_errors(self) -> FieldErrors {
        FieldErrors(self.0)
    }

    pub fn finish<T>(self, value: T) -> Result<T, FieldErrors> {
        if self.0.is_empty() { Ok(value) } else { Err(FieldErrors(self.0)) }
    }
}
