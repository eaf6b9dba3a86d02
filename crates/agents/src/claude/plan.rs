//! `ExitPlanMode`: a plan to approve, to approve changed, or to send back.
//!
//! In: the tool's input with the plan that the CLI read from its plan file, by whichever road it was seen.
//! Out: an [`Ask`], and a decision. Without a word about the mode the CLI goes back to the one that was on
//! before. A changed plan is written back to the file by the CLI itself where the request names that file;
//! 2.0.76, which does not name it, approves the old plan instead, so the changed one is said as a message.

use askd_core::ask::APPROVE;
use askd_core::question::{Body, BodyFormat};
use askd_core::{Answer, Ask, Kind};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::question::MODES;
use super::wire::{self, Request};
use crate::acp::draft;
use crate::codec::Unspeakable;

pub(crate) const TOOL: &str = "ExitPlanMode";

/// The modes to go on in: each edit asked for, or edits taken as read.
const NEXT_MODES: [&str; 2] = ["default", "acceptEdits"];

const CHANGED: &str =
    "I changed the plan before I approved it (in the askd inbox). Follow this plan, not the one before:";

fn plan_of(input: &Value) -> Option<&str> {
    input.get("plan").and_then(Value::as_str).filter(|plan| !plan.trim().is_empty())
}

/// Since 2.1.76 the request names the file, and the CLI takes changes.
pub(crate) fn takes_edits(input: &Value) -> bool {
    plan_of(input).is_some() && input.get("planFilePath").is_some()
}

pub(crate) fn ask(agent: &str, input: &Value) -> Ask {
    let mut item = draft::item("Claude has written a plan. Shall it go on with it?".to_owned());
    item.header = Some("Plan".to_owned());
    item.options = vec![draft::choice(APPROVE, "Approve")];
    let body = plan_of(input).map(|plan| Body { format: BodyFormat::Markdown, text: plan.to_owned() });
    if body.is_none() {
        item.question = "Claude wants to leave plan mode, without a plan. May it?".to_owned();
    }
    let mut ask = draft::ask(agent, Kind::Plan, vec![item], &MODES);
    ask.next_modes = NEXT_MODES.map(str::to_owned).to_vec();
    ask.body = body;
    ask
}

/// Accepts only the approving pick; no skip, note, mode or own words, even if an earlier askd stored them.
pub(crate) fn needs_approval(answer: &Answer) -> Result<(), Unspeakable> {
    let approves = matches!(answer.answers.as_slice(), [only] if only.only_pick() == Some(APPROVE));
    let empty = answer.edited_plan.as_ref().is_some_and(|plan| plan.trim().is_empty());
    match (approves, empty) {
        (false, _) => Err(Unspeakable::Misfit("only the pick \"approve\" approves a plan".to_owned())),
        (true, true) => Err(Unspeakable::Misfit("the edited plan is empty".to_owned())),
        (true, false) => Ok(()),
    }
}

/// The input for an approved tool call; `None` if this version would ignore the changes.
pub(crate) fn updated(input: &Value, answer: &Answer) -> Option<Value> {
    let mut input = input.clone();
    if let Some(edited) = &answer.edited_plan {
        if !takes_edits(&input) {
            return None;
        }
        input["plan"] = Value::from(edited.as_str());
    }
    Some(input)
}

pub(super) fn outcome(request: &Request<'_>, id: &str, answer: &Answer) -> Result<Vec<u8>, Unspeakable> {
    needs_approval(answer)?;
    let input = request.input().map_err(Unspeakable::Unreadable)?;
    let mut bytes = Vec::new();
    let updated = updated(&input, answer).unwrap_or_else(|| {
        bytes = wire::user(&format!("{CHANGED}\n\n{}", answer.edited_plan.as_deref().unwrap_or_default()));
        input
    });
    let mode = answer.next_mode.as_ref().map(|mode| {
        let wanted = json!({ "type": "setMode", "mode": mode, "destination": "session" });
        to_raw_value(&wanted).map_err(|error| Unspeakable::Misfit(error.to_string()))
    });
    let mode = mode.transpose()?;
    bytes.extend(wire::response(id, &wire::allow(updated, mode.as_deref().into_iter().collect())));
    Ok(bytes)
}

pub(crate) fn declined(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => {
            format!("The user sent the plan back (from the askd inbox) and said:\n{reason}")
        }
        None => "The user did not approve the plan (in the askd inbox) and gave no reason. Stay in plan mode; ask what \
                 should be different, or improve the plan."
            .to_owned(),
    }
}

/// True if the agent reports another plan than the changed one.
pub(crate) fn ignored_edits(input: &Value, answer: &Answer, result: Option<&Value>) -> bool {
    let taken = result.and_then(|result| result.get("plan")).and_then(Value::as_str);
    let (Some(edited), Some(taken)) = (&answer.edited_plan, taken) else { return false };
    takes_edits(input) && taken.trim() != edited.trim()
}

#[cfg(test)]
mod tests {
    use askd_core::{ItemAnswer, Settlement};

    use super::*;
    use crate::claude::{ClaudeCodec, Takes};
    use crate::claude_hook::{Tool, decision};
    use crate::claude_keys::{Goal, Untypable};
    use crate::codec::Codec as _;

    #[test]
    fn only_the_pick_that_approves_approves_a_plan_on_every_road() {
        let input = json!({ "plan": "# A", "planFilePath": "/p" });
        let request = json!({ "type": "control_request", "request_id": "r",
            "request": { "subtype": "can_use_tool", "tool_name": TOOL, "input": input } });
        let native = serde_json::value::to_raw_value(&request).unwrap();
        let ask = ask("claude", &input);
        let allowed = |picks: &[&str], edited_plan: Option<&str>, next_mode: Option<&str>| {
            let settled = Settlement::Answered(Answer {
                answers: vec![ItemAnswer::of_values(
                    picks.iter().map(|pick| (*pick).to_owned()),
                    &ask.questions[0],
                )],
                notes: vec![None],
                edited_plan: edited_plan.map(str::to_owned),
                next_mode: next_mode.map(str::to_owned),
            });
            let takes = Takes { notes: true, nothing: true };
            [
                ClaudeCodec::new("claude").speak(&native, &ask, &settled).is_ok(),
                decision(Tool::ExitPlanMode, &input, takes, &settled).is_ok(),
                Goal::of(&ask, &settled) != Err(Untypable::NotApproved),
            ]
        };
        assert_eq!(allowed(&[APPROVE], None, None), [true; 3]);
        assert_eq!(allowed(&[APPROVE], Some("# B"), None), [true; 3]);
        for picks in [&[][..], &["no"], &[APPROVE, "no"]] {
            assert_eq!(allowed(picks, None, None), [false; 3], "{picks:?}");
            assert_eq!(allowed(picks, Some("# B"), Some("default")), [false; 3], "{picks:?}");
        }
        assert_eq!(allowed(&[APPROVE], Some(" \n"), None), [false; 3]);
    }
}
