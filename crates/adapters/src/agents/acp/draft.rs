//! What the three ways of asking have in common when an [`Ask`] is made of them.

use askd_core::question::{Choice, Item};
use askd_core::{Ask, Kind, RejectMode};

pub(crate) fn ask(agent: &str, kind: Kind, questions: Vec<Item>, modes: &[RejectMode]) -> Ask {
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

/// Each value once, and no label empty: an option that is listed twice is one option.
pub(crate) fn distinct(options: Vec<Choice>) -> Vec<Choice> {
    let mut kept: Vec<Choice> = Vec::with_capacity(options.len());
    let mut values = std::collections::HashSet::new();
    for mut option in options {
        if option.label.trim().is_empty() {
            option.label =
                if option.value.trim().is_empty() { "(empty)".to_owned() } else { option.value.clone() };
        }
        if values.insert(option.value.clone()) {
            kept.push(option);
        }
    }
    kept
}
