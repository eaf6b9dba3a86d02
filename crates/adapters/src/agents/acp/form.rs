//! The schema of an elicitation form, read into fields: each becomes one item, and each knows how its answer is written back.
//!
//! In: `requestedSchema` as JSON. Out: [`Field`]s in the order of the schema. Companion fields (`question_0_custom` of
//! claude-agent-acp, `<id>_note` with `_meta.codex` of codex-acp) are folded into the field that they accompany, so that a
//! person sees one question with "own words" and a note, and they are unfolded again in the answer.

use askd_core::question::{Choice, Input, Item};
use serde_json::{Map, Value};

use super::draft;
use super::value::{Type, text_of};

/// Which agent's habits a field follows. They use `title` and `description` the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Plain,
    Claude,
    Codex,
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) item: Item,
    /// The type of its value; of each of them, if it takes several.
    pub(crate) value_type: Type,
    pub(crate) dialect: Dialect,
    /// Whether the content must have the key. Of a list that may be empty that is no duty of the human.
    pub(crate) needed: bool,
    /// The key of the field that takes own words and notes.
    pub(crate) companion: Option<String>,
    /// The option that stands for "see the note" (codex-acp); it is shown as own words, not as an option.
    pub(crate) none_of_these: Option<String>,
    /// What askd cannot do for whoever answers.
    remark: Option<String>,
}

impl Field {
    /// Whether an empty list is an answer.
    pub(crate) fn takes_none(&self) -> bool {
        self.item.multiple && self.item.bounds.min_items.is_none_or(|min| min == 0)
    }

    /// Whether an empty text fits the schema; to a human that is a field that he left out.
    pub(crate) fn takes_blank(&self) -> bool {
        let bounds = &self.item.bounds;
        self.item.input == Some(Input::Text)
            && bounds.pattern.is_none()
            && bounds.min_length.is_none_or(|min| min == 0)
    }

    /// The item as people see it.
    pub(crate) fn into_item(self) -> Item {
        let mut item = self.item;
        if let Some(remark) = self.remark {
            item.question = format!("{} ({remark})", item.question);
        }
        item
    }
}

const NONE_OF_THE_ABOVE: &str = "None of the above";
const CLAUDE_OPTION_META: &str = "_claude/askUserQuestionOption";

/// The fields of a form; an absent or empty schema has none.
pub(crate) fn fields(schema: Option<&Value>, message: &str) -> Vec<Field> {
    let empty = Map::new();
    let properties =
        schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = schema
        .and_then(|schema| schema.get("required"))
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let companions: Vec<(&str, &str)> =
        properties.iter().filter_map(|(key, schema)| companion_of(key, schema, properties)).collect();
    let shown: Vec<(&String, &Value)> =
        properties.iter().filter(|(key, _)| companions.iter().all(|(own, _)| own != key)).collect();
    let alone = shown.len() == 1;
    shown
        .into_iter()
        .map(|(key, schema)| {
            let companion = companions.iter().find(|(_, base)| base == key).map(|(own, _)| (*own).to_owned());
            let mut field = field(key, schema, companion, alone.then_some(message));
            field.needed = required.contains(&key.as_str());
            field.item.required = field.needed && !field.takes_none();
            field
        })
        .collect()
}

/// The field that `key` accompanies.
fn companion_of<'a>(
    key: &'a str,
    schema: &'a Value,
    properties: &'a Map<String, Value>,
) -> Option<(&'a str, &'a str)> {
    if schema.get("type").and_then(Value::as_str) != Some("string") || has_options(schema) {
        return None;
    }
    let codex = schema.pointer("/_meta/codex");
    let base = match codex.and_then(|meta| meta.get("role")).and_then(Value::as_str) {
        Some("user_note") => codex.and_then(|meta| meta.get("questionId")).and_then(Value::as_str)?,
        _ => key.strip_suffix("_custom").filter(|base| is_claude_key(base))?,
    };
    (base != key && properties.contains_key(base)).then_some((key, base))
}

fn is_claude_key(key: &str) -> bool {
    key.strip_prefix("question_").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn has_options(schema: &Value) -> bool {
    ["oneOf", "anyOf", "enum"].iter().any(|key| schema.get(key).is_some())
}

fn text<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn field(key: &str, schema: &Value, companion: Option<String>, message: Option<&str>) -> Field {
    let dialect = if schema.pointer("/_meta/codex").is_some() {
        Dialect::Codex
    } else if companion.is_some() && is_claude_key(key) {
        Dialect::Claude
    } else {
        Dialect::Plain
    };
    let (title, description) = (text(schema, "title"), text(schema, "description"));
    let message = message.filter(|message| !message.trim().is_empty());
    let (question, header) = match dialect {
        Dialect::Codex => (title.or(description).unwrap_or(key), title.and(description)),
        Dialect::Claude | Dialect::Plain => match (description, message, title) {
            (Some(description), _, title) => (description, title),
            (None, Some(message), title) => {
                (message, title.or(Some(key).filter(|_| dialect == Dialect::Plain)))
            }
            (None, None, title) => (title.unwrap_or(key), None),
        },
    };
    let mut item = draft::item(question.to_owned());
    item.header = header.map(str::to_owned);
    item.key = Some(key.to_owned());
    item.default = schema.get("default").and_then(default_picks);
    item.secret = schema.pointer("/_meta/codex/isSecret").and_then(Value::as_bool).unwrap_or(false);
    let value_type = shape(schema, &mut item);
    let remark = remark(schema, &item);
    let none_of_these = (dialect == Dialect::Codex && companion.is_some())
        .then(|| item.options.iter().position(|option| option.value == NONE_OF_THE_ABOVE))
        .flatten()
        .map(|at| item.options.remove(at).value);
    let own_words = match dialect {
        // The note of codex-acp answers only together with the option that stands for it.
        Dialect::Codex => none_of_these.is_some(),
        Dialect::Claude | Dialect::Plain => companion.is_some(),
    };
    item.custom = item.options.is_empty() || own_words;
    Field { key: key.to_owned(), item, value_type, dialect, needed: false, companion, none_of_these, remark }
}

/// Fills in options, input and bounds, and says how the answer is written.
fn shape(schema: &Value, item: &mut Item) -> Type {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let size =
        |key: &str| schema.get(key).and_then(Value::as_u64).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    item.bounds.minimum = number("minimum");
    item.bounds.maximum = number("maximum");
    item.bounds.min_length = size("minLength");
    item.bounds.max_length = size("maxLength");
    item.bounds.min_items = size("minItems");
    item.bounds.max_items = size("maxItems");
    item.bounds.pattern = text(schema, "pattern").map(str::to_owned);
    item.multiple = type_of(schema) == Some("array");
    let one = if item.multiple { schema.get("items").unwrap_or(&Value::Null) } else { schema };
    item.options = options(one);
    let value_type = match type_of(one) {
        Some("string") => Type::Text,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        None if (item.multiple || has_options(one))
            && constants(one).iter().all(|value| value.is_string()) =>
        {
            Type::Text
        }
        _ => Type::Any,
    };
    // What the type forbids could not be the answer, whoever offers it.
    item.options.retain(|option| value_type.value(&option.value).is_some());
    if !item.options.is_empty() {
        return value_type;
    }
    if item.multiple {
        // No input asks for a list of numbers, so nobody is kept from typing other words.
        return if value_type == Type::Text { Type::Text } else { Type::Any };
    }
    item.input = match value_type {
        Type::Text => Some(input(schema)),
        Type::Integer => Some(Input::Integer),
        Type::Number => Some(Input::Number),
        Type::Boolean => Some(Input::Boolean),
        Type::Any => None,
    };
    value_type
}

fn type_of(schema: &Value) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

fn input(schema: &Value) -> Input {
    match schema.get("format").and_then(Value::as_str) {
        Some("email") => Input::Email,
        Some("uri") => Input::Uri,
        Some("date") => Input::Date,
        Some("date-time") => Input::Datetime,
        _ => Input::Text,
    }
}

/// What whoever answers has to know, because askd cannot help with it.
fn remark(schema: &Value, item: &Item) -> Option<String> {
    match type_of(schema) {
        Some("string") if item.options.is_empty() && !item.bounds.checks_pattern() => {
            Some("askd cannot check the pattern of this field".to_owned())
        }
        Some("string" | "integer" | "number" | "boolean" | "array") => None,
        None if has_options(schema) => None,
        other => {
            let name = other.unwrap_or("no type");
            Some(format!("a field of a kind that askd does not know: {name}"))
        }
    }
}

/// The values that a schema offers.
fn constants(schema: &Value) -> Vec<&Value> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    match list("oneOf").or_else(|| list("anyOf")) {
        Some(titled) => titled.iter().filter_map(|option| option.get("const")).collect(),
        None => list("enum").into_iter().flatten().collect(),
    }
}

fn options(schema: &Value) -> Vec<Choice> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let titled = list("oneOf").or_else(|| list("anyOf"));
    let options = match (titled, list("enum")) {
        (Some(titled), _) => titled.iter().filter_map(titled_option).collect(),
        (None, Some(values)) => {
            let names = list("enumNames");
            let name = |i: usize| names.and_then(|names| names.get(i)).and_then(Value::as_str);
            let plain = |(i, value): (usize, &Value)| {
                let value = text_of(value);
                draft::choice(&value, name(i).unwrap_or(&value))
            };
            values.iter().enumerate().map(plain).collect()
        }
        (None, None) => Vec::new(),
    };
    draft::distinct(options)
}

fn titled_option(option: &Value) -> Option<Choice> {
    let value = text_of(option.get("const")?);
    let preview = option.get("_meta").and_then(|meta| meta.get(CLAUDE_OPTION_META));
    let preview = preview.and_then(|meta| text(meta, "preview"));
    Some(Choice {
        label: text(option, "title").unwrap_or(&value).to_owned(),
        value,
        description: text(option, "description").map(str::to_owned),
        preview: preview.map(str::to_owned),
    })
}

fn default_picks(default: &Value) -> Option<Vec<String>> {
    match default {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Array(values) => Some(values.iter().map(text_of).collect()),
        value => Some(vec![text_of(value)]),
    }
}
