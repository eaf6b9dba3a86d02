//! `elicitation/create`: forms and links, translated both ways.
//!
//! In: the parameters of the request. Out: an [`Ask`], and `accept` with content, `decline` or `cancel`,
//! which are three different things. Notes and reasons that the form has no field for travel in `_meta.askd`.
//! A mode that askd does not know is shown raw and can be accepted, declined or cancelled.

use std::time::Duration;

use askd_core::ask::OPENED;
use askd_core::question::{Body, BodyFormat, Choice, Input, Item};
use askd_core::{Answer, Ask, ItemAnswer, Kind, RejectMode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::companion::Companion;
use super::form::{self, Dialect, Field};
use super::value::Type;
use super::{draft, wire};
use crate::codec::{Settlement, Unspeakable};

pub(crate) const METHOD: &str = "elicitation/create";
pub(crate) const COMPLETE: &str = "elicitation/complete";

const MODES: [RejectMode; 3] = [RejectMode::Decline, RejectMode::Cancel, RejectMode::Interrupt];
/// The pick that accepts a form without fields, or an unknown mode.
const ACCEPT: &str = "accept";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params {
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    requested_schema: Option<Value>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default, rename = "_meta")]
    meta: Option<Value>,
}

impl Params {
    /// True if the agent continues while this is open.
    pub(crate) fn is_async(&self) -> bool {
        self.codex("delivery").and_then(Value::as_str) == Some("async")
    }

    /// After how long the agent answers itself.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.codex("autoResolutionMs").and_then(Value::as_u64).map(Duration::from_millis)
    }

    /// The reason why its fields cannot be trusted to be complete, if there is one.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.is_form() { form::check(self.requested_schema.as_ref()) } else { Ok(()) }
    }

    /// The reason why its offers are ambiguous, if there is one.
    pub(crate) fn check_offers(&self) -> Result<(), String> {
        if self.is_form() { form::check_offers(self.requested_schema.as_ref()) } else { Ok(()) }
    }

    fn is_form(&self) -> bool {
        self.mode.as_deref().is_none_or(|mode| mode == "form")
    }

    fn codex(&self, key: &str) -> Option<&Value> {
        self.meta.as_ref().and_then(|meta| meta.get("codex")).and_then(|meta| meta.get(key))
    }

    fn message(&self) -> &str {
        self.message.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or("The agent asks for input.")
    }

    fn fields(&self) -> Vec<Field> {
        form::fields(self.requested_schema.as_ref(), self.message())
    }

    /// The text above the fields: the message unless a field shows it, and the schema's title and
    /// description.
    fn preface(&self, fields: &[Field]) -> Option<Body> {
        let message = self.message();
        let shown = fields.iter().any(|field| field.item.question == message);
        let schema = self.requested_schema.as_ref();
        let of_schema = |key: &str| schema.and_then(|schema| schema.get(key)).and_then(Value::as_str);
        let parts = [(!shown).then_some(message), of_schema("title"), of_schema("description")];
        let text: Vec<&str> = parts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
        (!text.is_empty()).then(|| Body { format: BodyFormat::Text, text: text.join("\n\n") })
    }
}

/// The id with which the agent later reports completion.
pub(crate) fn id_of(params: Option<&RawValue>) -> Option<String> {
    wire::text_at(params, &["elicitationId"])
}

pub(crate) fn ask(agent: &str, params: &Params, raw: &RawValue) -> Ask {
    match params.mode.as_deref() {
        Some("form") | None => ask_form(agent, params),
        Some("url") => {
            let mut item = consent_item(params, draft::choice(OPENED, "I opened it"));
            item.input = Some(Input::Url);
            item.url.clone_from(&params.url);
            draft::ask(agent, Kind::Form, vec![item], &MODES)
        }
        Some(other) => {
            let label = format!("Accept (mode {other:?}, unknown to askd)");
            let item = consent_item(params, draft::choice(ACCEPT, &label));
            let mut ask = draft::ask(agent, Kind::Form, vec![item], &MODES);
            ask.body = Some(Body { format: BodyFormat::Text, text: raw.get().to_owned() });
            ask
        }
    }
}

/// The item of a request with consent as the only answer: it needs a pick, because a skip is no consent.
fn consent_item(params: &Params, consent: Choice) -> Item {
    let mut item = draft::item(params.message().to_owned());
    item.options = vec![consent];
    item.required = true;
    item
}

fn ask_form(agent: &str, params: &Params) -> Ask {
    let fields = params.fields();
    let preface = params.preface(&fields);
    if fields.is_empty() {
        let item = consent_item(params, draft::choice(ACCEPT, "Accept"));
        return draft::ask(agent, Kind::Form, vec![item], &MODES);
    }
    let choices = fields.iter().all(|field| field.dialect != Dialect::Plain);
    let kind = if choices { Kind::Choice } else { Kind::Form };
    let mut ask = draft::ask(agent, kind, fields.into_iter().map(Field::into_item).collect(), &MODES);
    ask.body = preface;
    ask
}

/// The result for an outcome.
pub(crate) fn outcome(params: &Params, settled: &Settlement) -> Result<Value, Unspeakable> {
    let (mut result, meta) = match settled {
        Settlement::Rejected { mode, reason } => return Ok(rejected(*mode, reason.as_deref())),
        Settlement::Answered(answer) => match params.mode.as_deref() {
            Some("form") | None => {
                let (content, left) = content(&params.fields(), answer)?;
                (json!({ "action": "accept", "content": content }), left)
            }
            Some(_) => {
                needs_consent(answer, if params.mode.as_deref() == Some("url") { OPENED } else { ACCEPT })?;
                (json!({ "action": "accept" }), notes_meta(&answer.notes))
            }
        },
    };
    if let (Some(meta), Some(result)) = (meta, result.as_object_mut()) {
        result.insert("_meta".to_owned(), json!({ "askd": meta }));
    }
    Ok(result)
}

pub(crate) fn rejected(mode: RejectMode, reason: Option<&str>) -> Value {
    let action = if mode == RejectMode::Decline { "decline" } else { "cancel" };
    draft::with_reason(json!({ "action": action }), reason)
}

/// Refuses a skip as consent, even for an item that an earlier askd stored as optional.
fn needs_consent(answer: &Answer, consent: &str) -> Result<(), Unspeakable> {
    let given = matches!(answer.answers.as_slice(), [only] if only.only_pick() == Some(consent));
    given.then_some(()).ok_or(Unspeakable::CannotCarry("anything but consent or a rejection here"))
}

fn notes_meta(notes: &[Option<String>]) -> Option<Value> {
    notes.iter().any(Option::is_some).then(|| json!({ "notes": notes }))
}

/// The content of an accepted form, and the notes without a field.
fn content(fields: &[Field], answer: &Answer) -> Result<(Map<String, Value>, Option<Value>), Unspeakable> {
    let mut content = Map::new();
    let mut left = answer.notes.clone();
    if fields.is_empty() {
        needs_consent(answer, ACCEPT)?;
        return Ok((content, notes_meta(&left)));
    }
    if answer.answers.len() != fields.len() {
        let (given, wanted) = (answer.answers.len(), fields.len());
        return Err(Unspeakable::Misfit(format!("{given} answers for {wanted} fields")));
    }
    for (i, (field, given)) in fields.iter().zip(&answer.answers).enumerate() {
        let (chosen, own) = told_apart(field, given);
        let own_value = match chosen.as_slice() {
            [] => field.nothing().filter(|_| field.needed),
            chosen => Some(value(field, chosen)?),
        };
        content.extend(own_value.map(|value| (field.key.clone(), value)));
        let Some(companion) = &field.companion else { continue };
        let mut words = own.join(", ");
        if !companion.takes(&words) {
            return Err(Unspeakable::CannotCarry("own words that are longer together than the form allows"));
        }
        // A note without room in the form stays beside it.
        if let Some(note) = left.get_mut(i) {
            let with =
                |note: &String| if words.is_empty() { note.clone() } else { format!("{words}\n{note}") };
            if let Some(both) = note.as_ref().map(with).filter(|both| companion.takes(both)) {
                words = both;
                *note = None;
            }
        }
        if !words.is_empty() {
            content.insert(companion.key.clone(), Value::String(words));
        }
    }
    Ok((content, notes_meta(&left)))
}

/// Splits an answer into the field's part and the own words for its companion.
fn told_apart<'a>(field: &Field, given: &'a ItemAnswer) -> (Vec<String>, Vec<&'a str>) {
    if field.companion.is_none() || !field.offers() {
        return (given.to_texts(), Vec::new());
    }
    let mut chosen = given.picks.clone();
    let mut own: Vec<&str> = given.words.iter().map(String::as_str).collect();
    if let Some(none) = field.none_of_these.as_ref().filter(|_| chosen.is_empty() && !own.is_empty()) {
        chosen.push(none.clone());
        // A person may type the label of the option that stands for own words.
        if own == [none.as_str()] {
            own.clear();
        }
    }
    (chosen, own)
}

/// Answers and notes of one response, one per item.
type Given = (Vec<ItemAnswer>, Option<Vec<Option<String>>>);

/// The other way round: what a client's content answers, companion fields folded into own words and notes.
pub(crate) fn answers(params: &Params, mut content: Map<String, Value>) -> Result<Given, String> {
    let one = |pick: &str| Ok((vec![ItemAnswer::picks([pick])], None));
    match params.mode.as_deref() {
        Some("form") | None => {}
        Some("url") => return one(OPENED),
        Some(_) => return one(ACCEPT),
    }
    let fields = params.fields();
    if fields.is_empty() {
        return one(ACCEPT);
    }
    let mut answers = Vec::with_capacity(fields.len());
    let mut notes = vec![None; fields.len()];
    for (field, note) in fields.iter().zip(&mut notes) {
        let mut picks = match content.remove(&field.key) {
            None if field.needed => return Err(format!("the field {:?} is required", field.key)),
            None => Vec::new(),
            Some(value) => picks(field, value)?,
        };
        // Own words have a field of their own; this one takes its offers.
        let offered = |pick: &&String| {
            field.none_of_these.as_ref() == Some(*pick)
                || field.item.options.iter().any(|option| option.value == **pick)
        };
        if field.companion.is_some()
            && field.offers()
            && let Some(other) = picks.iter().find(|pick| !offered(pick))
        {
            return Err(format!("{other:?} is not offered by the field {:?}", field.key));
        }
        let words = match &field.companion {
            Some(companion) => own_words(companion, &mut content)?,
            None => None,
        };
        let mut own = None;
        if let Some(words) = words {
            if field.none_of_these.is_some() && picks.first() == field.none_of_these.as_ref() {
                picks.clear();
            }
            if field.offers() && field.item.custom && (picks.is_empty() || field.item.multiple) {
                own = Some(words);
            } else {
                *note = Some(words);
            }
        }
        let mut answer = ItemAnswer::of_values(picks, &field.item);
        answer.words.extend(own);
        answers.push(answer);
    }
    let notes = notes.iter().any(Option::is_some).then_some(notes);
    Ok((answers, notes))
}

/// The own words in a companion field of a client's content.
fn own_words(companion: &Companion, content: &mut Map<String, Value>) -> Result<Option<String>, String> {
    match content.remove(&companion.key) {
        None => Ok(None),
        Some(Value::String(words)) if companion.takes(&words) => {
            Ok(Some(words).filter(|words| !words.trim().is_empty()))
        }
        Some(Value::String(_)) => {
            let max = companion.max_length.unwrap_or_default();
            Err(format!("the field {:?} takes at most {max} characters", companion.key))
        }
        Some(other) => Err(format!("{other} does not fit the field {:?}", companion.key)),
    }
}

fn picks(field: &Field, value: Value) -> Result<Vec<String>, String> {
    let misfit = |value: &Value| format!("{value} does not fit the field {:?}", field.key);
    let pick = |value: &Value| field.pick(value).ok_or_else(|| misfit(value));
    match value {
        Value::Array(values) if field.item.multiple => {
            if values.is_empty() && !field.takes_none() {
                return Err(format!("the field {:?} takes no empty list", field.key));
            }
            values.iter().map(pick).collect()
        }
        value if field.item.multiple => Err(misfit(&value)),
        Value::String(text)
            if field.value_type == Type::Text && text.trim().is_empty() && field.takes_blank() =>
        {
            Ok(Vec::new())
        }
        value => Ok(vec![pick(&value)?]),
    }
}

fn value(field: &Field, picks: &[String]) -> Result<Value, Unspeakable> {
    let one = |pick: &String| {
        let misfit = || Unspeakable::Misfit(format!("{pick:?} for {:?}", field.key));
        field.value(pick).ok_or_else(misfit)
    };
    if field.item.multiple {
        return picks.iter().map(one).collect();
    }
    picks.first().map_or(Ok(Value::Null), one)
}
