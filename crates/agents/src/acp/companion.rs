//! Companion fields: fields of a form that take own words and notes for the field beside them.
//!
//! In: the properties of a form's schema. Out: the pairs. A field is a companion by the mark of codex-acp
//! (`_meta.codex.role`), or if both fields have exactly the form that claude-agent-acp gives them. A required
//! field is a field of its own, and so is every field that would otherwise be invisible.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::{Map, Value};

use super::form::{has_options, size, text, type_of};

/// claude-agent-acp's title for the field of own words.
const CLAUDE_OTHER: &str = "Other";

#[derive(Debug, Clone)]
pub(crate) struct Companion {
    pub(crate) key: String,
    pub(crate) max_length: Option<usize>,
}

impl Companion {
    pub(crate) fn takes(&self, words: &str) -> bool {
        self.max_length.is_none_or(|max| words.chars().count() <= max)
    }
}

/// The companions of a form by their base field, one for each.
pub(super) fn companions<'a>(
    properties: &'a Map<String, Value>,
    required: &[&str],
) -> HashMap<&'a str, Companion> {
    let optional = properties.iter().filter(|(key, _)| !required.contains(&key.as_str()));
    let pairs: HashMap<&str, &str> =
        optional.filter_map(|(key, schema)| Some((key.as_str(), base(key, schema, properties)?))).collect();
    let mut companions = HashMap::new();
    for (key, schema) in properties {
        let base = pairs.get(key.as_str()).filter(|base| !pairs.contains_key(**base));
        if let Some(Entry::Vacant(place)) = base.map(|base| companions.entry(*base)) {
            place.insert(Companion { key: key.clone(), max_length: size(schema, "maxLength") });
        }
    }
    companions
}

/// The base field of `key`.
fn base<'a>(key: &'a str, schema: &'a Value, properties: &'a Map<String, Value>) -> Option<&'a str> {
    if type_of(schema) != Some("string") || has_options(schema) {
        return None;
    }
    let codex = |member: &str| schema.pointer("/_meta/codex")?.get(member)?.as_str();
    if codex("role") == Some("user_note") {
        return codex("questionId").filter(|base| properties.contains_key(*base));
    }
    let base = key.strip_suffix("_custom").filter(|base| is_claude_key(base))?;
    let question = properties.get(base).filter(|question| is_claude_question(question));
    question.filter(|_| text(schema, "title") == Some(CLAUDE_OTHER)).map(|_| base)
}

pub(super) fn is_claude_key(key: &str) -> bool {
    key.strip_prefix("question_").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn is_claude_question(schema: &Value) -> bool {
    let offered = match type_of(schema) {
        Some("string") => schema.get("oneOf"),
        Some("array") => schema.pointer("/items/anyOf"),
        _ => None,
    };
    offered.is_some_and(Value::is_array)
}
