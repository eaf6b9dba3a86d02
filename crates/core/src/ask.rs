//! Turns an asker's input into the question to store: fills in defaults, finds limits exceeded and
//! contradictions.
//!
//! In: [`AskInput`], lenient (each item needs only its text, and an option may be a plain string). Out:
//! [`Ask`], complete and valid, or errors that name the field. Adapters build an `Ask` themselves and call
//! [`Ask::check`].

use std::collections::HashSet;
use std::fmt;

use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::field::{Collector, FieldErrors};
use crate::limits::{MAX_ITEMS, MAX_NAME_BYTES, MAX_NEXT_MODES, MAX_OPTIONS, MAX_PICKS, MAX_TEXT_BYTES};
use crate::meetable::unmeetable;
use crate::question::{Body, BodyFormat, Bounds, Choice, Context, Input, Item, Kind, ToolRef, is_less};
use crate::unseen::is_blank;
use crate::{RejectMode, SessionId, Timestamp};

/// The option value that approves a plan.
pub const APPROVE: &str = "approve";
/// The option value of a `url` item after its link was opened.
pub const OPENED: &str = "opened";

/// The key of an item whose answer is the agent's native result as JSON, because no form can show the
/// request.
pub const RAW_RESULT: &str = "$result";

/// A complete question. It never changes after it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// The conversation that asked; absent when a program asked through the API.
    pub session_id: Option<SessionId>,
    pub agent: String,
    pub kind: Kind,
    pub questions: Vec<Item>,
    /// The plan, command or diff to decide about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// The modes in which the agent can go on after a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_modes: Vec<String>,
    pub context: Context,
    pub tool: Option<ToolRef>,
    /// The reject modes of this agent.
    pub reject_modes: Vec<RejectMode>,
    /// The time at which the asker gives up. Only the asker sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

impl Ask {
    /// The indexes of the secret items.
    pub fn secret_items(&self) -> Vec<usize> {
        self.questions.iter().enumerate().filter(|(_, item)| item.secret).map(|(i, _)| i).collect()
    }

    /// True if item `i` needs an answer. In a plan or a permission the first item always needs one, and so
    /// does each item with options: some agent would read a skip as consent.
    pub fn must_answer(&self, i: usize) -> bool {
        self.questions
            .get(i)
            .is_some_and(|item| item.required || decides(self.kind, i, item.options.is_empty()))
    }

    /// The question in one line, for lists: a form's introduction, or else the text of the first item.
    pub fn headline(&self) -> &str {
        let Some(first) = self.questions.first() else { return "" };
        let is_field = first.key.as_deref().is_some_and(|key| key != RAW_RESULT);
        let above = self.body.as_ref().filter(|body| body.format == BodyFormat::Text);
        let above = above.filter(|_| is_field && self.kind == Kind::Form);
        let line = above.and_then(|body| body.text.lines().find(|line| !line.trim().is_empty()));
        line.unwrap_or(&first.question)
    }

    /// The id of the tool call that asked.
    pub fn call_id(&self) -> Option<&str> {
        self.tool.as_ref().and_then(|tool| tool.call_id.as_deref())
    }

    /// Finds everything that makes the question unanswerable, ambiguous or too large.
    pub fn check(&self) -> Result<(), FieldErrors> {
        let mut errors = Collector::default();
        if !is_name(&self.agent) {
            errors.add("agent", "invalid_name", "must be 1 to 256 letters, digits, '.', '_' or '-'");
        }
        if self.questions.is_empty() {
            errors.add("questions", "empty", "must have at least one question");
        }
        if self.questions.len() > MAX_ITEMS {
            let count = self.questions.len();
            errors.add(
                "questions",
                "too_many",
                format!("has {count} questions, at most {MAX_ITEMS} are allowed"),
            );
        }
        for (i, item) in self.questions.iter().enumerate().take(MAX_ITEMS) {
            check_item(i, item, self.must_answer(i), &mut errors);
        }
        if let Some(body) = &self.body {
            errors.bounded("body.text", &body.text, MAX_TEXT_BYTES);
        }
        for (name, text) in [
            ("cwd", &self.context.cwd),
            ("title", &self.context.title),
            ("excerpt", &self.context.excerpt),
            ("host", &self.context.host),
        ] {
            errors.bounded(format_args!("context.{name}"), text.as_deref().unwrap_or(""), MAX_TEXT_BYTES);
        }
        if let Some(tool) = &self.tool {
            errors.bounded("tool.callId", tool.call_id.as_deref().unwrap_or(""), MAX_NAME_BYTES);
            errors.bounded("tool.messageId", tool.message_id.as_deref().unwrap_or(""), MAX_NAME_BYTES);
        }
        if self.next_modes.len() > MAX_NEXT_MODES
            || self.next_modes.iter().any(|mode| mode.len() > MAX_NAME_BYTES)
        {
            errors.add("nextModes", "too_many", format!("at most {MAX_NEXT_MODES} short names are allowed"));
        }
        if self.reject_modes.len() > 3 {
            errors.add("rejectModes", "too_many", "name each mode once");
        }
        errors.finish(())
    }
}

fn decides(kind: Kind, i: usize, is_open: bool) -> bool {
    kind.is_consent() && (i == 0 || !is_open)
}

fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// The path of a field of an item. It is formatted only when the field has an error.
struct At {
    item: usize,
    option: Option<usize>,
    field: &'static str,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, option, field } = self;
        match option {
            Some(option) => write!(f, "questions[{item}].options[{option}].{field}"),
            None => write!(f, "questions[{item}].{field}"),
        }
    }
}

fn check_item(i: usize, item: &Item, must_answer: bool, errors: &mut Collector) {
    let at = |field| At { item: i, option: None, field };
    if is_blank(&item.question) {
        errors.add_item(i, at("question"), "empty", "must have something that can be seen");
    }
    errors.bounded(at("question"), &item.question, MAX_TEXT_BYTES);
    for (name, text) in [
        ("header", &item.header),
        ("url", &item.url),
        ("key", &item.key),
        ("bounds.pattern", &item.bounds.pattern),
    ] {
        errors.bounded(at(name), text.as_deref().unwrap_or(""), MAX_TEXT_BYTES);
    }
    let defaults = item.default.as_deref().unwrap_or_default();
    if defaults.len() > MAX_PICKS {
        let count = defaults.len();
        errors.add_item(
            i,
            at("default"),
            "too_many",
            format!("has {count} values, at most {MAX_PICKS} are allowed"),
        );
    }
    for value in defaults.iter().take(MAX_PICKS) {
        errors.bounded(at("default"), value, MAX_TEXT_BYTES);
    }
    if item.options.len() > MAX_OPTIONS {
        let count = item.options.len();
        errors.add_item(
            i,
            at("options"),
            "too_many",
            format!("has {count} options, at most {MAX_OPTIONS} are allowed"),
        );
    }
    let mut values = HashSet::new();
    for (j, option) in item.options.iter().enumerate().take(MAX_OPTIONS) {
        let at = |field| At { item: i, option: Some(j), field };
        if is_blank(&option.label) {
            errors.add_item(i, at("label"), "empty", "must have something that can be seen");
        }
        if !values.insert(option.value.as_str()) {
            errors.add_item(
                i,
                at("value"),
                "duplicate",
                format!("{:?} stands for another option already", option.value),
            );
        }
        for (name, text) in [
            ("label", Some(option.label.as_str())),
            ("value", Some(option.value.as_str())),
            ("description", option.description.as_deref()),
            ("preview", option.preview.as_deref()),
        ] {
            errors.bounded(at(name), text.unwrap_or(""), MAX_TEXT_BYTES);
        }
    }
    if item.options.is_empty() && !item.custom {
        errors.add_item(
            i,
            at("custom"),
            "unanswerable",
            "a question without options must allow own words (custom: true)",
        );
    }
    let bounds = &item.bounds;
    let crossed = |low: Option<usize>, high: Option<usize>| matches!((low, high), (Some(low), Some(high)) if low > high);
    if bounds.minimum.as_ref().zip(bounds.maximum.as_ref()).is_some_and(|(low, high)| is_less(high, low))
        || crossed(bounds.min_length, bounds.max_length)
        || crossed(bounds.min_items, bounds.max_items)
    {
        errors.add_item(i, at("bounds"), "contradiction", "the lower bound is above the upper one");
    }
    if let Some(why) = unmeetable(item).filter(|_| must_answer) {
        errors.add_item(i, at("bounds"), "unanswerable", why);
    }
    if item.input == Some(Input::Url) && item.url.is_none() {
        errors.add_item(i, at("url"), "missing", "input url needs the link in url");
    }
}

/// The body with which any program asks.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskInput {
    #[schema(min_items = 1, max_items = 64)]
    pub questions: Vec<ItemInput>,
    #[serde(default)]
    pub kind: Kind,
    /// The asker's name, as the inbox shows it; `api` unless given.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9._-]{1,256}$")]
    pub agent: Option<String>,
    #[serde(default)]
    pub body: Option<Body>,
    #[serde(default)]
    #[schema(max_items = 16)]
    pub next_modes: Vec<String>,
    #[serde(default)]
    pub context: Context,
    #[serde(default)]
    pub tool: Option<ToolRef>,
    #[serde(default)]
    #[schema(max_items = 3)]
    pub reject_modes: Option<Vec<RejectMode>>,
    /// The time at which the question ends as `expired`. Without it there is no limit.
    #[serde(default)]
    pub deadline: Option<Timestamp>,
}

/// One item of [`AskInput`].
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ItemInput {
    #[schema(min_length = 1)]
    pub question: String,
    #[serde(default)]
    pub header: Option<String>,
    #[serde(default)]
    #[schema(max_items = 512)]
    pub options: Vec<ChoiceInput>,
    #[serde(default)]
    pub multiple: bool,
    /// Own words are allowed. Unless given: true, except in a plan or a permission.
    #[serde(default)]
    pub custom: Option<bool>,
    #[serde(default)]
    pub secret: bool,
    /// The item needs an answer. The deciding item of a plan or a permission always does.
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub input: Option<Input>,
    #[serde(default)]
    #[schema(max_items = 1024)]
    pub default: Option<Vec<String>>,
    #[serde(default)]
    pub bounds: Bounds,
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default)]
    pub key: Option<String>,
}

/// An option as an asker writes it: an object, or only its label.
#[derive(Debug, Clone, utoipa::ToSchema)]
#[schema(value_type = ChoiceForm)]
pub struct ChoiceInput(ChoiceFields);

/// The two forms, for the API document.
#[derive(utoipa::ToSchema)]
#[schema(as = ChoiceInput)]
#[serde(untagged)]
pub enum ChoiceForm {
    #[schema(title = "Label")]
    Label(String),
    Fields(ChoiceFields),
}

/// An option as an object.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChoiceFields {
    #[schema(min_length = 1)]
    label: String,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    preview: Option<String>,
}

impl<'de> Deserialize<'de> for ChoiceInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelOrFields;

        impl<'de> Visitor<'de> for LabelOrFields {
            type Value = ChoiceInput;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a label or an object with a label")
            }

            fn visit_str<E: serde::de::Error>(self, label: &str) -> Result<ChoiceInput, E> {
                Ok(ChoiceInput(ChoiceFields {
                    label: label.to_owned(),
                    value: None,
                    description: None,
                    preview: None,
                }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ChoiceInput, A::Error> {
                ChoiceFields::deserialize(MapAccessDeserializer::new(map)).map(ChoiceInput)
            }
        }

        deserializer.deserialize_any(LabelOrFields)
    }
}

impl From<ChoiceInput> for Choice {
    fn from(ChoiceInput(given): ChoiceInput) -> Self {
        let value = given.value.unwrap_or_else(|| given.label.clone());
        Self { label: given.label, value, description: given.description, preview: given.preview }
    }
}

impl ItemInput {
    fn complete(self, i: usize, kind: Kind) -> Item {
        let mut options: Vec<Choice> = self.options.into_iter().map(Choice::from).collect();
        let fixed = |value: &str, label: &str| Choice {
            label: label.to_owned(),
            value: value.to_owned(),
            description: None,
            preview: None,
        };
        let mut custom = self.custom;
        if options.is_empty() && kind == Kind::Plan && i == 0 {
            options.push(fixed(APPROVE, "Approve"));
            custom = custom.or(Some(false));
        }
        if options.is_empty() && self.input == Some(Input::Url) {
            options.push(fixed(OPENED, "I opened it"));
            custom = custom.or(Some(false));
        }
        let is_open = options.is_empty();
        Item {
            question: self.question,
            header: self.header,
            options,
            multiple: self.multiple,
            custom: custom.unwrap_or(!kind.is_consent() || (i > 0 && is_open)),
            secret: self.secret,
            required: self.required || decides(kind, i, is_open),
            input: self.input,
            default: self.default,
            bounds: self.bounds,
            url: self.url,
            key: self.key,
        }
    }
}

impl AskInput {
    /// Fills in the defaults and checks the whole.
    pub fn complete(self) -> Result<Ask, FieldErrors> {
        let kind = self.kind;
        if self.reject_modes.as_ref().is_some_and(Vec::is_empty) {
            let mut errors = Collector::default();
            errors.add("rejectModes", "empty", "name at least one way to reject, or leave it out");
            errors.finish(())?;
        }
        let ask = Ask {
            session_id: None,
            agent: self.agent.unwrap_or_else(|| "api".to_owned()),
            kind,
            questions: self
                .questions
                .into_iter()
                .enumerate()
                .map(|(i, item)| item.complete(i, kind))
                .collect(),
            body: self.body,
            next_modes: self.next_modes,
            context: self.context,
            tool: self.tool,
            reject_modes: self.reject_modes.unwrap_or_else(|| vec![RejectMode::Decline]),
            deadline: self.deadline,
        };
        ask.check()?;
        Ok(ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(json: &str) -> Result<Ask, String> {
        let input: AskInput = serde_json::from_str(json).map_err(|e| e.to_string())?;
        input.complete().map_err(|e| e.to_string())
    }

    #[test]
    fn only_the_text_of_a_question_is_needed() {
        let ask =
            complete(r#"{"questions":[{"question":"Which?","options":["A",{"label":"B","value":"b"}]}]}"#)
                .unwrap();
        let item = &ask.questions[0];
        assert_eq!(item.options[0].value, "A");
        assert_eq!(item.options[1].value, "b");
        assert!(item.custom && !item.multiple && !item.required);
        assert_eq!(ask.agent, "api");
        assert_eq!(ask.reject_modes, [RejectMode::Decline]);
    }

    #[test]
    fn a_plan_can_be_approved_without_naming_options() {
        let ask = complete(
            r##"{"kind":"plan","questions":[{"question":"Right?"}],"body":{"format":"markdown","text":"# Plan"}}"##,
        );
        let ask = ask.unwrap();
        assert_eq!(ask.questions[0].options[0].value, APPROVE);
        assert!(!ask.questions[0].custom);
    }

    #[test]
    fn what_cannot_be_answered_is_refused_with_the_field() {
        for (json, wanted) in [
            (r#"{"questions":[]}"#, "questions: must have at least one"),
            (
                r#"{"questions":[{"question":" "}]}"#,
                "questions[0].question: must have something that can be seen",
            ),
            (r#"{"questions":[{"question":"x","custom":false}]}"#, "questions[0].custom: "),
            (r#"{"questions":[{"question":"x","options":["a","a"]}]}"#, "questions[0].options[1].value: "),
            (r#"{"questions":[{"question":"x"}],"agent":"a b"}"#, "agent: "),
            (
                r#"{"questions":[{"question":"x","bounds":{"minimum":3,"maximum":1}}]}"#,
                "questions[0].bounds: ",
            ),
            (r#"{"questions":[{"question":"x"}],"rejectModes":[]}"#, "rejectModes: name at least one"),
            (
                r#"{"questions":[{"question":"x","required":true,"options":["a","b"],"bounds":{"minItems":2}}]}"#,
                "questions[0].bounds: asks for at least 2 picks, and at most 1 can be given",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"multiple":true,"custom":false,"options":["a","b"],"bounds":{"minItems":3}}]}"#,
                "questions[0].bounds: asks for at least 3 picks, and at most 2 can be given",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"multiple":true,"bounds":{"maxItems":0}}]}"#,
                "questions[0].bounds: must be answered, and allows no pick",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"bounds":{"maxLength":0}}]}"#,
                "questions[0].bounds: must be answered, and allows no character",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"input":"integer","bounds":{"minimum":1.2,"maximum":1.8}}]}"#,
                "questions[0].bounds: there is no whole number",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"bounds":{"minLength":2000000}}]}"#,
                "questions[0].bounds: asks for at least 2000000 characters, and at most 1048576 can be given",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"input":"date","bounds":{"maxLength":3}}]}"#,
                "questions[0].bounds: allows 3 characters, and its answers have at least 10",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"input":"date","bounds":{"minLength":11}}]}"#,
                "questions[0].bounds: asks for at least 11 characters, and at most 10 can be given",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"input":"datetime","bounds":{"maxLength":19}}]}"#,
                "questions[0].bounds: allows 19 characters, and its answers have at least 20",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"input":"boolean","bounds":{"maxLength":3}}]}"#,
                "questions[0].bounds: neither true nor false fits",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"input":"boolean","bounds":{"pattern":"^yes$"}}]}"#,
                "questions[0].bounds: neither true nor false fits",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"input":"integer","bounds":{"minimum":1e30}}]}"#,
                "questions[0].bounds: whole numbers go from",
            ),
            (
                r#"{"questions":[{"question":"x","required":true,"input":"integer","bounds":{"maximum":-1e30}}]}"#,
                "questions[0].bounds: whole numbers go from",
            ),
            ("{\"questions\":[{\"question\":\"\u{200b}\"}]}", "questions[0].question: must have something"),
            (
                "{\"questions\":[{\"question\":\"x\",\"options\":[\"a\",\"\u{2060}\u{202e}\"]}]}",
                "questions[0].options[1].label: must have something",
            ),
            (r#"{"questions":[{"question":"x","colour":1}]}"#, "unknown field `colour`"),
            (r#"{"questions":[{"question":"x","options":[7]}]}"#, "a label or an object with a label"),
        ] {
            let error = complete(json).unwrap_err();
            assert!(error.contains(wanted), "{json} gave {error}");
        }
    }

    #[test]
    fn bounds_that_an_answer_can_meet_are_taken() {
        for item in [
            r#"{"question":"x","bounds":{"minLength":2000000}}"#,
            r#"{"question":"x","required":true,"bounds":{"minLength":1048576}}"#,
            r#"{"question":"x","required":true,"input":"date","bounds":{"minLength":10,"maxLength":10}}"#,
            r#"{"question":"x","required":true,"input":"datetime","bounds":{"maxLength":20}}"#,
            r#"{"question":"x","required":true,"input":"boolean","bounds":{"pattern":"^true$"}}"#,
            r#"{"question":"x","required":true,"input":"integer","bounds":{"minimum":18446744073709551615}}"#,
            r#"{"question":"x","required":true,"input":"integer","bounds":{"minLength":2000000}}"#,
            r#"{"question":"x","required":true,"options":["a"],"bounds":{"maxLength":0}}"#,
        ] {
            assert_eq!(complete(&format!(r#"{{"questions":[{item}]}}"#)).err(), None, "{item}");
        }
    }

    #[test]
    fn every_text_and_list_of_an_item_has_its_bound() {
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        let many = serde_json::json!(vec!["x"; MAX_PICKS + 1]);
        for (field, value) in [
            ("question", serde_json::json!(long)),
            ("header", serde_json::json!(long)),
            ("url", serde_json::json!(long)),
            ("key", serde_json::json!(long)),
            ("bounds", serde_json::json!({ "pattern": long })),
            ("default", serde_json::json!([long])),
            ("default", many),
        ] {
            let mut item = serde_json::json!({ "question": "x", "multiple": true });
            item[field] = value;
            let error = complete(&serde_json::json!({ "questions": [item] }).to_string()).unwrap_err();
            assert!(error.contains(&format!("questions[0].{field}")), "{field} gave {error}");
        }
    }
}
