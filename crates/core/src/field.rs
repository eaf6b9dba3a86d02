//! Errors that name their field.
//!
//! In: the path of a field as the client wrote it, a stable code, a sentence. Out: a list that surfaces show
//! beside the fields.

use std::fmt;

/// One error in one field of a request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldError {
    /// The path in the body: `answers[1][0]`, `questions[0].options[2].label`.
    pub field: String,
    /// The index of the item, if the error belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// The error for programs.
    pub code: String,
    /// The error for people.
    pub message: String,
}

/// All errors of a request; never empty.
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

/// Collects errors until the whole request is read, so that a person sees all of them at once.
#[derive(Debug, Default)]
pub struct Collector(Vec<FieldError>);

impl Collector {
    /// Adds an error of a field.
    pub fn add(&mut self, field: impl fmt::Display, code: &str, message: impl Into<String>) {
        self.0.push(FieldError {
            field: field.to_string(),
            item: None,
            code: code.to_owned(),
            message: message.into(),
        });
    }

    /// Adds an error of an item's field.
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

    /// Adds an error if the text is longer than `max` bytes.
    pub fn bounded(&mut self, field: impl fmt::Display, text: &str, max: usize) {
        if text.len() > max {
            self.add(field, "too_long", format!("has {} bytes, at most {max} are allowed", text.len()));
        }
    }

    /// The errors so far, for a reader that cannot continue.
    pub fn into_errors(self) -> FieldErrors {
        FieldErrors(self.0)
    }

    /// `value` if there is no error.
    pub fn finish<T>(self, value: T) -> Result<T, FieldErrors> {
        if self.0.is_empty() { Ok(value) } else { Err(FieldErrors(self.0)) }
    }
}
