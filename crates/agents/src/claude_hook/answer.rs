//! Turns an outcome into the decision of a `PermissionRequest` hook.
//!
//! In: the tool's input, the version's abilities, and the outcome. Out:
//! `{"behavior":"allow","updatedInput":...}`, or a deny whose message the model reads word for word.

use askd_core::{RejectMode, Settlement};
use serde_json::{Value, json};

use super::question::Tool;
use crate::claude::{Takes, plan, question};
use crate::codec::Unspeakable;

/// The decision of the hook.
pub fn decision(
    tool: Tool,
    input: &Value,
    takes: Takes,
    settlement: &Settlement,
) -> Result<Value, Unspeakable> {
    match (tool, settlement) {
        (Tool::AskUserQuestion, Settlement::Answered(answer)) => question::outcome(input, takes, answer),
        (Tool::ExitPlanMode, Settlement::Answered(answer)) => {
            plan::needs_approval(answer)?;
            let ignored = "a changed plan; this version of Claude Code would go on with the old one (send it back with a reason)";
            let updated = plan::updated(input, answer).ok_or(Unspeakable::CannotCarry(ignored))?;
            Ok(json!({ "behavior": "allow", "updatedInput": updated }))
        }
        (_, Settlement::Rejected { mode, reason }) => {
            let message = match tool {
                Tool::AskUserQuestion => question::declined(reason.as_deref()),
                Tool::ExitPlanMode => plan::declined(reason.as_deref()),
            };
            let interrupt = *mode == RejectMode::Interrupt;
            Ok(json!({ "behavior": "deny", "message": message, "interrupt": interrupt }))
        }
    }
}
