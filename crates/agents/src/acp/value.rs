//! The values of a form: JSON in the schema and in the content, text in questions and answers.
//!
//! In: a JSON value, or the text of an answer. Out: the other one, by the type that the schema gives; `None`
//! where it does not fit. `3.0` and `3` are the same number, and are written in the same way.

use serde_json::{Number, Value};

/// Up to here every integer has a double of its own.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Significant digits that a double preserves.
const EXACT_DIGITS: usize = 17;

/// How the text of an answer becomes a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Integer,
    Number,
    Boolean,
    /// JSON if the answer is JSON, else text: for an unknown type, or several in one list.
    Any,
}

impl Type {
    /// The value of an answer.
    pub(crate) fn value(self, text: &str) -> Option<Value> {
        let integer =
            || text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok();
        match self {
            Self::Text => Some(Value::from(text)),
            Self::Any => Some(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))),
            Self::Boolean => text.parse::<bool>().map(Value::from).ok(),
            Self::Integer => integer(),
            Self::Number => {
                let finite = || text.parse::<f64>().ok().filter(|n| n.is_finite()).map(Value::from);
                integer().or_else(|| finite().filter(|_| is_exact(text)))
            }
        }
    }

    /// The answer for a value.
    pub(crate) fn pick(self, value: &Value) -> Option<String> {
        let fits = match self {
            Self::Text => value.is_string(),
            Self::Integer | Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Any => true,
        };
        fits.then(|| text_of(value))
    }
}

/// True if a double preserves all digits of the number: the agent must not receive another number.
fn is_exact(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').trim_end_matches('0').len() <= EXACT_DIGITS
}

/// A value as answers carry it: text as it is, anything else as its JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number_text(number),
        other => other.to_string(),
    }
}

fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|n| !number.is_i64() && n.fract() == 0.0 && n.abs() < EXACT) {
        Some(whole) => format!("{whole:.0}"),
        None => number.to_string(),
    }
}
