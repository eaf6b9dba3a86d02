//! The schema of an elicitation form, read into fields: each becomes one item, and each knows how its answer
//! is written back.
//!
//! In: `requestedSchema` as JSON. Out: [`Field`]s in the order of the schema. A companion (see `companion`)
//! is folded into the field that it accompanies, so that a person sees one question with "own words" and a
//! note, and is unfolded again in the answer.

use std::collections::HashSet;

use askd_core::question::{Bounds, Choice, Input, Item};
use serde_json::{Map, Number, Value};

use super::companion::{Companion, companions, is_claude_key};
use super::draft;
use super::value::{EXACT, Type, text_of};

/// The agent with the conventions of a field: they use `title` and `description` in opposite ways.
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
    /// The offered values, as the schema has them.
    constants: Vec<Value>,
    pub(crate) dialect: Dialect,
    /// True if the content must have the key. If the value may be empty, the human need not fill it.
    pub(crate) needed: bool,
    pub(crate) companion: Option<Companion>,
    /// The option that stands for "see the note" (codex-acp); it is shown as own words, not as an option.
    pub(crate) none_of_these: Option<String>,
    /// True if the empty text is its default.
    blank_by_default: bool,
    /// A remark for the person about what askd cannot check.
    remark: Option<String>,
}

impl Field {
    /// True if it takes only its offers, so that own words belong to its companion.
    pub(crate) fn offers(&self) -> bool {
        !self.item.options.is_empty() || self.none_of_these.is_some()
    }

    /// The value of an answer; if the type leaves it open, exactly the schema's.
    pub(crate) fn value(&self, text: &str) -> Option<Value> {
        let offered = self.constants.iter().find(|value| text_of(value) == text);
        match self.value_type {
            Type::Any => offered.cloned().or_else(|| Type::Any.value(text)),
            known => known.value(text),
        }
    }

    /// The answer for a value.
    pub(crate) fn pick(&self, value: &Value) -> Option<String> {
        let text = self.value_type.pick(value)?;
        let differs = |offered: &&Value| text_of(offered) == text && offered.is_string() != value.is_string();
        self.constants.iter().find(differs).is_none().then_some(text)
    }

    /// The longest own words; those of the option that stands for them always fit.
    fn longest_words(&self) -> Option<usize> {
        let max = self.companion.as_ref().and_then(|companion| companion.max_length)?;
        Some(max.max(self.none_of_these.as_ref().map_or(0, |none| none.chars().count())))
    }

    /// True if an empty list is an answer.
    pub(crate) fn takes_none(&self) -> bool {
        self.item.multiple && self.item.bounds.min_items.is_none_or(|min| min == 0)
    }

    /// The form's own empty value for "no answer", if it has one.
    pub(crate) fn nothing(&self) -> Option<Value> {
        if self.takes_none() {
            return Some(Value::Array(Vec::new()));
        }
        (self.blank_by_default && self.takes_blank()).then(|| Value::from(""))
    }

    /// True if an empty text fits the schema; for a human that is an omitted field.
    pub(crate) fn takes_blank(&self) -> bool {
        let bounds = &self.item.bounds;
        self.item.input == Some(Input::Text)
            && !self.item.multiple
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

/// The reason why a schema's fields are not everything that it asks for, if there is one.
pub(crate) fn check(schema: Option<&Value>) -> Result<(), String> {
    let Some(schema) = schema.filter(|schema| !schema.is_null()) else { return Ok(()) };
    let schema = schema.as_object().ok_or("its schema is no object")?;
    let properties = match schema.get("properties") {
        None => None,
        Some(properties) => Some(properties.as_object().ok_or("the properties of its schema are no object")?),
    };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let has_field = |name: &&str| properties.is_some_and(|properties| properties.contains_key(*name));
    if let Some(name) = required.filter_map(Value::as_str).find(|name| !has_field(name)) {
        return Err(format!("{name:?} is required and is no field"));
    }
    for (key, schema) in properties.into_iter().flatten() {
        if let Some(rule) = unkept(schema) {
            return Err(format!("askd cannot keep to {rule:?} of the field {key:?}"));
        }
    }
    Ok(())
}

/// A rule of a field that no item can enforce: an answer that breaks it would be sent.
fn unkept(schema: &Value) -> Option<&'static str> {
    let schema = but_null(schema);
    let is_list = type_of(schema) == Some("array");
    let one = but_null(if is_list { schema.get("items").unwrap_or(&Value::Null) } else { schema });
    let has = |key: &str| one.get(key).is_some_and(|value| !value.is_null());
    // Picks are distinct by themselves.
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) && options(one).is_empty() {
        return Some("uniqueItems");
    }
    if has("not") {
        return Some("not");
    }
    if has("multipleOf") {
        let any_integer = type_of(one) == Some("integer") && one.get("multipleOf") == Some(&Value::from(1));
        return (!any_integer).then_some("multipleOf");
    }
    let bounds = ["exclusiveMinimum", "exclusiveMaximum"];
    bounds.into_iter().find(|key| {
        has(key) && (type_of(one) != Some("integer") || one.get(*key).and_then(Value::as_i64).is_none())
    })
}

/// Exclusive bounds of an integer, as the next inclusive ones.
fn inner_bounds(schema: &Value, bounds: &mut Bounds) {
    if type_of(schema) != Some("integer") {
        return;
    }
    let whole = |key: &str| schema.get(key).and_then(Value::as_i64);
    if let Some(least) = whole("exclusiveMinimum").and_then(|bound| bound.checked_add(1)) {
        let known = bounds.minimum.as_ref().and_then(Number::as_f64);
        if known.is_none_or(|known| known < least as f64) {
            bounds.minimum = Some(least.into());
        }
    }
    if let Some(most) = whole("exclusiveMaximum").and_then(|bound| bound.checked_sub(1)) {
        let known = bounds.maximum.as_ref().and_then(Number::as_f64);
        if known.is_none_or(|known| known > most as f64) {
            bounds.maximum = Some(most.into());
        }
    }
}

/// The reason why a form's offers are ambiguous, if there is one: two values that answers cannot tell apart
/// (`1` and `"1"`), one value with two titles, or a number that askd cannot repeat to the last digit.
pub(crate) fn check_offers(schema: Option<&Value>) -> Result<(), String> {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    for (key, schema) in properties.into_iter().flatten() {
        let one = offering(schema);
        let mut seen: Vec<&Value> = Vec::new();
        for value in constants(one) {
            if value.as_f64().is_some_and(|n| value.is_f64() && n.abs() >= EXACT) {
                return Err(format!(
                    "the field {key:?} offers a number that is too large to be repeated: {value}"
                ));
            }
            let alike = seen.iter().find(|other| text_of(other) == text_of(value));
            if let Some(other) = alike.filter(|other| other.is_string() != value.is_string()) {
                return Err(format!("the field {key:?} offers {other} and {value}, which look alike"));
            }
            seen.push(value);
        }
        draft::distinct(offers(one)).map_err(|why| format!("the field {key:?} cannot be shown: {why}"))?;
    }
    Ok(())
}

/// The part of a field's schema with the offers.
fn offering(schema: &Value) -> &Value {
    let schema = but_null(schema);
    match type_of(schema) {
        Some("array") => but_null(schema.get("items").unwrap_or(&Value::Null)),
        _ => schema,
    }
}

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
    let companions = companions(properties, &required);
    let folded: HashSet<&str> = companions.values().map(|companion| companion.key.as_str()).collect();
    let shown: Vec<(&String, &Value)> =
        properties.iter().filter(|(key, _)| !folded.contains(key.as_str())).collect();
    let alone = shown.len() == 1;
    shown
        .into_iter()
        .map(|(key, schema)| {
            let companion = companions.get(key.as_str()).cloned();
            let mut field = field(key, schema, companion, alone.then_some(message));
            field.needed = required.contains(&key.as_str());
            field.item.required = field.needed && field.nothing().is_none();
            if field.item.required && field.offers() && field.none_of_these.is_none() {
                // Own words alone would leave it out.
                field.item.custom = false;
            }
            field
        })
        .collect()
}

pub(super) fn has_options(schema: &Value) -> bool {
    ["oneOf", "anyOf", "enum"].iter().any(|key| schema.get(key).is_some())
}

pub(super) fn text<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

pub(super) fn size(schema: &Value, key: &str) -> Option<usize> {
    schema.get(key).and_then(Value::as_u64).map(|n| usize::try_from(n).unwrap_or(usize::MAX))
}

fn field(key: &str, schema: &Value, companion: Option<Companion>, message: Option<&str>) -> Field {
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
    let is_password = text(but_null(schema), "format") == Some("password");
    item.secret =
        is_password || schema.pointer("/_meta/codex/isSecret").and_then(Value::as_bool).unwrap_or(false);
    let value_type = shape(schema, &mut item);
    let remark = remark(schema, &item);
    let none_of_these = (dialect == Dialect::Codex && companion.is_some())
        .then(|| item.options.iter().position(|option| option.value == NONE_OF_THE_ABOVE))
        .flatten()
        .map(|at| item.options.remove(at).value);
    let own_words = match dialect {
        // codex-acp's note is an answer only together with the option that stands for it.
        Dialect::Codex => none_of_these.is_some(),
        Dialect::Claude | Dialect::Plain => companion.is_some(),
    };
    item.custom = item.options.is_empty() || own_words;
    let key = key.to_owned();
    let blank_by_default = schema.get("default").and_then(Value::as_str) == Some("");
    let mut field = Field {
        key,
        item,
        value_type,
        constants: constants(offering(schema)).into_iter().cloned().collect(),
        dialect,
        needed: false,
        companion,
        none_of_these,
        blank_by_default,
        remark,
    };
    if field.companion.is_some() && field.offers() {
        let Bounds { min_items, max_items, .. } = field.item.bounds;
        field.item.bounds =
            Bounds { min_items, max_items, max_length: field.longest_words(), ..Bounds::default() };
    }
    field
}

/// Fills in options, input and bounds, and says how the answer is written.
fn shape(schema: &Value, item: &mut Item) -> Type {
    let schema = but_null(schema);
    item.multiple = type_of(schema) == Some("array");
    let one = but_null(if item.multiple { schema.get("items").unwrap_or(&Value::Null) } else { schema });
    let number = |key: &str| one.get(key).and_then(Value::as_number).cloned();
    item.bounds = Bounds {
        minimum: number("minimum"),
        maximum: number("maximum"),
        min_length: size(one, "minLength"),
        max_length: size(one, "maxLength"),
        min_items: size(schema, "minItems"),
        max_items: size(schema, "maxItems"),
        pattern: text(one, "pattern").map(str::to_owned),
    };
    inner_bounds(one, &mut item.bounds);
    item.options = options(one);
    let value_type = match type_of(one) {
        Some("string") => Type::Text,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        None if !has_options(one) && item.multiple => Type::Text,
        None if offers_only_texts(one) => Type::Text,
        _ => Type::Any,
    };
    // The type rules over the offers.
    item.options.retain(|option| value_type.value(&option.value).is_some());
    if !item.options.is_empty() {
        return value_type;
    }
    item.input = match value_type {
        Type::Text => Some(input(one)),
        Type::Integer => Some(Input::Integer),
        Type::Number => Some(Input::Number),
        Type::Boolean => Some(Input::Boolean),
        Type::Any => None,
    };
    value_type
}

/// The schema without its null alternative, if that is the only one.
fn but_null(schema: &Value) -> &Value {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let others = list("anyOf").or_else(|| list("oneOf")).into_iter().flatten();
    let mut others = others.filter(|other| type_of(other) != Some("null"));
    match (others.next(), others.next()) {
        (Some(other), None) if other.get("const").is_none() => other,
        _ => schema,
    }
}

fn offers_only_texts(schema: &Value) -> bool {
    let offered = constants(schema);
    !offered.is_empty() && offered.iter().all(|value| value.is_string())
}

/// The type without its null alternative, if that is the only one.
pub(super) fn type_of(schema: &Value) -> Option<&str> {
    let types = match schema.get("type")? {
        Value::Array(types) => types.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut others =
        types.iter().filter_map(Value::as_str).filter(|name| types.len() == 1 || *name != "null");
    others.next().filter(|_| others.next().is_none())
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

/// The remark for the person about what askd cannot check.
fn remark(schema: &Value, item: &Item) -> Option<String> {
    let schema = but_null(schema);
    match type_of(schema) {
        Some("string" | "array") if item.options.is_empty() && !item.bounds.checks_pattern() => {
            Some("askd cannot check the pattern of this field".to_owned())
        }
        Some("string" | "array") if item.options.is_empty() => unknown_format(schema)
            .map(|format| format!("the agent wants the format {format}, which askd does not check")),
        Some("string" | "integer" | "number" | "boolean" | "array") => None,
        None if !constants(schema).is_empty() => None,
        other => {
            let name = other.unwrap_or("no type");
            Some(format!("a field of a kind that askd does not know: {name}"))
        }
    }
}

/// A required format of text that askd does not know. `password` is known: such a text is not shown.
fn unknown_format(schema: &Value) -> Option<&str> {
    let one = offering(schema);
    let format = text(one, "format").filter(|_| type_of(one) == Some("string"))?;
    (input(one) == Input::Text && format != "password").then_some(format)
}

/// The only allowed value, if there is one.
fn constant(schema: &Value) -> Option<&Value> {
    schema.get("const").filter(|value| !value.is_null())
}

/// The offered values of a schema.
fn constants(schema: &Value) -> Vec<&Value> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    match list("oneOf").or_else(|| list("anyOf")) {
        Some(titled) => titled.iter().filter_map(|option| option.get("const")).collect(),
        None => list("enum")
            .map_or_else(|| constant(schema).into_iter().collect(), |values| values.iter().collect()),
    }
}

fn options(schema: &Value) -> Vec<Choice> {
    let options = offers(schema);
    // Duplicates are one option; `check` has refused values that only look alike.
    let mut kept = Vec::with_capacity(options.len());
    for option in options {
        kept.extend(draft::distinct(vec![option]).unwrap_or_default());
    }
    let mut values = HashSet::new();
    kept.retain(|option: &Choice| values.insert(option.value.clone()));
    kept
}

/// Each as it is listed.
fn offers(schema: &Value) -> Vec<Choice> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let titled = list("oneOf").or_else(|| list("anyOf"));
    match (titled, list("enum")) {
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
        (None, None) => constant(schema)
            .map(|value| draft::choice(&text_of(value), &text_of(value)))
            .into_iter()
            .collect(),
    }
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
