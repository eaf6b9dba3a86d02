//! `session/request_permission`: a permission, or a plan where the tool call switches the mode and carries
//! one.
//!
//! In: the tool call and the agent's options. Out: an [`Ask`], and `selected` with an option or `cancelled`.
//! Declining picks the agent's own `reject_once` option and exists only where there is one; a lasting
//! rejection is never picked for a human.

use askd_core::ask::APPROVE;
use askd_core::question::{Body, BodyFormat, Choice};
use askd_core::{Ask, ItemAnswer, Kind, RejectMode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::tool_content::{body_of, whole_body_of};
use super::{draft, wire};
use crate::codec::{Settlement, Unspeakable};
use crate::outside::or_default;

pub(crate) const METHOD: &str = "session/request_permission";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params {
    #[serde(default)]
    tool_call: ToolCall,
    #[serde(default, deserialize_with = "or_default")]
    options: Vec<AskedOption>,
    /// Second version of the protocol.
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct ToolCall {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    content: Option<Vec<Value>>,
    #[serde(default)]
    raw_input: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedOption {
    option_id: String,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    kind: String,
}

impl AskedOption {
    fn allows(&self) -> bool {
        self.kind.starts_with("allow")
    }

    fn choice(&self) -> Choice {
        draft::choice(&self.option_id, &self.name)
    }

    /// The meaning of its kind, for options that their names cannot tell apart.
    fn reach(&self) -> Option<String> {
        let reach = if self.kind.ends_with("_always") { "from now on" } else { "this time" };
        (!self.kind.is_empty()).then(|| reach.to_owned())
    }
}

impl Params {
    fn declining(&self) -> Option<&AskedOption> {
        self.options.iter().find(|option| option.kind == "reject_once")
    }

    /// The option for `approve`: the agent's own of that name, else the one that allows least.
    fn approving(&self) -> Option<&AskedOption> {
        let allowing = || self.options.iter().filter(|option| option.allows());
        allowing()
            .find(|option| option.option_id == APPROVE)
            .or_else(|| allowing().find(|option| option.kind == "allow_once"))
            .or_else(|| allowing().next())
    }

    fn plan(&self) -> Option<String> {
        let call = &self.tool_call;
        let raw = || call.raw_input.as_ref().and_then(|input| input.get("plan")).and_then(Value::as_str);
        if call.kind.as_deref() != Some("switch_mode") || self.approving().is_none() {
            return None;
        }
        let shown = whole_body_of(call.content.as_deref().unwrap_or_default(), None, None);
        shown
            .map(|body| body.text)
            .or_else(|| raw().map(str::to_owned))
            .filter(|plan| !plan.trim().is_empty())
    }

    fn choices<'a>(&self, options: impl Iterator<Item = &'a AskedOption>) -> Vec<Choice> {
        let is_double = |name: &str| self.options.iter().filter(|option| option.name == name).count() > 1;
        let choice = |option: &AskedOption| Choice {
            description: option.reach().filter(|_| is_double(&option.name)),
            ..option.choice()
        };
        options.map(choice).collect()
    }

    fn reject_modes(&self) -> Vec<RejectMode> {
        let decline = self.declining().map(|_| RejectMode::Decline);
        decline.into_iter().chain([RejectMode::Cancel, RejectMode::Interrupt]).collect()
    }
}

/// Refuses an id that two options share: it would select an unknown one of them.
fn check_ids(options: &[AskedOption]) -> Result<(), String> {
    let same = |(i, option): (usize, &AskedOption)| {
        options[..i].iter().any(|other| {
            other.option_id == option.option_id && (other.name != option.name || other.kind != option.kind)
        })
    };
    match options.iter().enumerate().find(|at| same(*at)) {
        Some((_, option)) => Err(format!("two of its options have the id {:?}", option.option_id)),
        None => Ok(()),
    }
}

/// `known_title` is the agent's title for the announced tool call.
pub(crate) fn ask(agent: &str, params: &Params, known_title: Option<&str>) -> Result<Ask, String> {
    if params.options.is_empty() {
        return Err("a permission request without options".to_owned());
    }
    check_ids(&params.options)?;
    let call = &params.tool_call;
    let title = params.title.as_deref().or(call.title.as_deref()).or(known_title);
    let title = title.filter(|title| !title.trim().is_empty());
    let mut item = draft::item(title.unwrap_or("May the agent do this?").to_owned());
    item.required = true;
    let modes = params.reject_modes();
    if let (Some(plan), Some(approving)) = (params.plan(), params.approving()) {
        let others = params.options.iter().filter(|o| o.allows() && o.option_id != approving.option_id);
        item.options = vec![Choice { value: APPROVE.to_owned(), ..approving.choice() }];
        item.options.extend(params.choices(others));
        item.options = draft::distinct(item.options)?;
        let mut ask = draft::ask(agent, Kind::Plan, vec![item], &modes);
        let allowing = params.options.iter().filter(|option| option.allows());
        ask.next_modes = allowing.map(|option| option.option_id.clone()).collect();
        ask.body = Some(Body { format: BodyFormat::Markdown, text: plan });
        return Ok(ask);
    }
    item.options = draft::distinct(params.choices(params.options.iter()))?;
    item.header = call.kind.clone();
    let mut ask = draft::ask(agent, Kind::Permission, vec![item], &modes);
    let (content, input) = (call.content.as_deref().unwrap_or_default(), call.raw_input.as_ref());
    ask.body = body_of(content, input, params.description.as_deref());
    Ok(ask)
}

pub(crate) fn outcome(params: &Params, ask: &Ask, settled: &Settlement) -> Result<Value, Unspeakable> {
    let selected = |id: &str| json!({ "outcome": { "outcome": "selected", "optionId": id } });
    let (mut result, meta) = match settled {
        Settlement::Answered(answer) => {
            if answer.edited_plan.is_some() {
                return Err(Unspeakable::CannotCarry("an edited plan"));
            }
            // A mode alone is no consent.
            let Some(pick) = answer.answers.first().and_then(ItemAnswer::only_pick) else {
                return Err(Unspeakable::Misfit("a permission needs one pick".to_owned()));
            };
            let pick = match &answer.next_mode {
                Some(mode) if ask.kind == Kind::Plan && (pick == APPROVE || pick == mode) => mode.as_str(),
                Some(mode) => {
                    let why = format!("the pick {pick:?} and the mode {mode:?} are two different options");
                    return Err(Unspeakable::Misfit(why));
                }
                None => pick,
            };
            let option = match params.approving() {
                Some(approving) if ask.kind == Kind::Plan && pick == APPROVE => Some(approving),
                _ => params.options.iter().find(|option| option.option_id == pick),
            };
            let Some(option) = option else {
                return Err(Unspeakable::Misfit(format!("{pick:?} is none of the agent's options")));
            };
            let note = answer.notes.first().and_then(Option::as_ref);
            (selected(&option.option_id), note.map(|note| json!({ "notes": [note] })))
        }
        Settlement::Rejected { mode, reason } => {
            let result = match (mode, params.declining()) {
                (RejectMode::Decline, Some(option)) => selected(&option.option_id),
                (RejectMode::Decline, None) => {
                    return Err(Unspeakable::CannotCarry("a decline of this permission"));
                }
                (RejectMode::Cancel | RejectMode::Interrupt, _) => cancelled(),
            };
            (result, reason.as_ref().map(|reason| json!({ "reason": reason })))
        }
    };
    if let (Some(meta), Some(result)) = (meta, result.as_object_mut()) {
        result.insert("_meta".to_owned(), json!({ "askd": meta }));
    }
    Ok(result)
}

/// The answer for an option of the agent; `None` if it declines a plan. Only the agent's own ids count.
pub(crate) fn picked(params: &Params, ask: &Ask, option_id: &str) -> Result<Option<String>, String> {
    let Some(option) = params.options.iter().find(|option| option.option_id == option_id) else {
        let ids: Vec<&str> = params.options.iter().map(|option| option.option_id.as_str()).collect();
        return Err(format!("the optionId {option_id:?} is not one of: {}", ids.join(", ")));
    };
    if ask.kind != Kind::Plan {
        return Ok(Some(option_id.to_owned()));
    }
    let approves = params.approving().is_some_and(|approving| approving.option_id == option_id);
    let value = if approves { APPROVE } else { option_id };
    Ok(option.allows().then(|| value.to_owned()))
}

/// Checks that the parameters offer an option, as far as they can be read.
pub(crate) fn check_offered(params: Option<&RawValue>, option_id: &str) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Options {
        options: Vec<Offered>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Offered {
        option_id: String,
    }
    match wire::params::<Options>(params) {
        Ok(Options { options })
            if !options.is_empty() && !options.iter().any(|option| option.option_id == option_id) =>
        {
            Err(format!("{option_id:?} is none of the agent's options"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}
