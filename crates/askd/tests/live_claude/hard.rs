//! As many questions and options as one call may have, with all that text can do.

use serde_json::{Value, json};

/// Right-to-left text, quotes, commas, line feeds and emoji, in headers of sixty characters.
pub fn four() -> Vec<Value> {
    let item = |number: usize| {
        let options: Vec<Value> = ["עברית, \"ציטוט\"", "line\nfeed", "🦀, 🐙", "plain"]
            .iter()
            .enumerate()
            .map(|(i, text)| json!({ "label": format!("{i} {text}"), "description": "d" }))
            .collect();
        let question = format!("שאלה {number}?");
        let header = "h".repeat(60);
        json!({ "question": question, "header": header, "options": options, "multiSelect": number % 3 == 1 })
    };
    (1..=4).map(item).collect()
}
