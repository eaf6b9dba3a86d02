//! The common parts of the three request types when they become an [`Ask`].

use askd_core::question::{Choice, Item};
use askd_core::{Ask, Kind, RejectMode};
use serde_json::{Value, json};

pub(crate) fn ask(agent: &str, kind: Kind, mut questions: Vec<Item>, modes: &[RejectMode]) -> Ask {
    // A skip is no consent.
    questions.iter_mut().for_each(|item| item.required |= kind.is_consent());
    Ask {
        session_id: None,
        agent: agent.to_owned(),
        kind,
        questions,
        body: None,
        next_modes: Vec::new(),
        context: askd_core::Context::default(),
        tool: None,
        reject_modes: modes.to_vec(),
        deadline: None,
    }
}

pub(crate) fn item(question: String) -> Item {
    Item {
        question,
        header: None,
        options: Vec::new(),
        multiple: false,
        custom: false,
        secret: false,
        required: false,
        input: None,
        default: None,
        bounds: askd_core::question::Bounds::default(),
        url: None,
        key: None,
    }
}

pub(crate) fn choice(value: &str, label: &str) -> Choice {
    Choice { label: label.to_owned(), value: value.to_owned(), description: None, preview: None }
}

/// A result with a reason, in the place for results that have none of their own.
pub(crate) fn with_reason(mut result: Value, reason: Option<&str>) -> Value {
    if let (Some(reason), Some(result)) = (reason, result.as_object_mut()) {
        result.insert("_meta".to_owned(), json!({ "askd": { "reason": reason } }));
    }
    result
}

/// No label empty, and an option that is listed twice once. Two options with one value cannot be told apart
/// by an answer: the request is then shown as it came.
pub(crate) fn distinct(options: Vec<Choice>) -> Result<Vec<Choice>, String> {
    let mut kept: Vec<Choice> = Vec::with_capacity(options.len());
    for mut option in options {
        if option.label.trim().is_empty() {
            option.label =
                if option.value.trim().is_empty() { "(empty)".to_owned() } else { option.value.clone() };
        }
        match kept.iter().find(|known| known.value == option.value) {
            None => kept.push(option),
            Some(known) if known.label == option.label => {}
            Some(known) => {
                let (one, other) = (&known.label, &option.label);
                return Err(format!(
                    "its options {one:?} and {other:?} have the same value, {:?}",
                    option.value
                ));
            }
        }
    }
    Ok(kept)
}

/// The beginning of a text, of so many bytes at most.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(
            (beginning("a\u{f6}b", 2), beginning("a\u{f6}b", 3), beginning("ab", 9)),
            ("a", "a\u{f6}", "ab")
        );
    }
}
