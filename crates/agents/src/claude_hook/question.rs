//! The two tools by which Claude Code asks its human, and what they ask.
//!
//! In: a tool's name and its input as hooks and transcripts show it. Out: an [`Ask`], and a likeness by which
//! two sightings of one question are recognised. Unknown members are passed over: the schema grows with the
//! versions.

use askd_core::Ask;
use askd_core::question::{Context, ToolRef};
use serde_json::Value;

use crate::claude::{plan, question};

/// The name of this agent everywhere in askd.
pub const AGENT: &str = "claude";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    AskUserQuestion,
    ExitPlanMode,
}

impl Tool {
    pub const ALL: [Self; 2] = [Self::AskUserQuestion, Self::ExitPlanMode];

    pub fn name(self) -> &'static str {
        match self {
            Self::AskUserQuestion => question::TOOL,
            Self::ExitPlanMode => plan::TOOL,
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

/// The facts about the call beside its input.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub call_id: Option<String>,
    pub message_id: Option<String>,
    pub cwd: Option<String>,
    /// The agent's text just before the question.
    pub excerpt: Option<String>,
}

/// The question of a call; `None` if nothing can be asked with this input.
pub fn ask(tool: Tool, input: &Value, seen: Seen) -> Option<Ask> {
    let mut ask = match tool {
        Tool::AskUserQuestion => question::ask(AGENT, input).ok()?,
        Tool::ExitPlanMode => plan::ask(AGENT, input),
    };
    // A hook's decision has no place for the mode to go on in.
    ask.next_modes.clear();
    ask.tool = (seen.call_id.is_some() || seen.message_id.is_some())
        .then_some(ToolRef { message_id: seen.message_id, call_id: seen.call_id });
    let title = seen.cwd.as_deref().and_then(|cwd| cwd.rsplit('/').find(|part| !part.is_empty()));
    ask.context =
        Context { title: title.map(str::to_owned), cwd: seen.cwd, excerpt: seen.excerpt, host: None };
    Some(ask)
}

/// The same for every sighting of one call: answers that a hook added and the order of members do not count.
pub fn likeness(tool: Tool, input: &Value) -> String {
    let asked = match tool {
        Tool::AskUserQuestion => input.get("questions").map(canonical).unwrap_or_default(),
        // The plan is injected by the program on some roads and not on others; a session has one plan at a
        // time.
        Tool::ExitPlanMode => String::new(),
    };
    format!("{}:{asked}", tool.name())
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            let members = members.iter().map(|(key, value)| format!("{key:?}:{}", canonical(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_of_a_call_is_in_the_question() {
        let input = json!({"questions":[
            {"question":"Which?","header":"Auth","multiSelect":true,"options":[
                {"label":"A, b","description":"first","preview":"fn a()"},{"label":"C","description":"","markdown":"x"}]},
            {"question":"And?","header":"H","options":[{"label":"1"},{"label":"2"}],"kind":"choice"}]});
        let seen =
            Seen { call_id: Some("toolu_1".into()), cwd: Some("/home/dev/app".into()), ..Seen::default() };
        let asked = ask(Tool::AskUserQuestion, &input, seen).unwrap();
        asked.check().unwrap();
        assert_eq!(asked.questions.len(), 2);
        assert!(asked.questions[0].multiple && asked.questions[0].custom && !asked.questions[1].multiple);
        assert_eq!(asked.questions[0].options[0].preview.as_deref(), Some("fn a()"));
        assert_eq!(asked.questions[0].options[1].preview.as_deref(), Some("x"));
        assert_eq!(asked.context.title.as_deref(), Some("app"));
        assert_eq!(asked.call_id(), Some("toolu_1"));
    }

    #[test]
    fn what_is_no_question_is_none() {
        for input in [
            json!({}),
            json!({"questions":[]}),
            json!({"questions":[{}]}),
            json!({"questions":7}),
            json!(null),
        ] {
            assert!(ask(Tool::AskUserQuestion, &input, Seen::default()).is_none(), "{input}");
        }
        let plan = ask(Tool::ExitPlanMode, &json!({}), Seen::default()).unwrap();
        assert!(plan.body.is_none() && plan.check().is_ok());
    }

    #[test]
    fn sightings_are_alike_whatever_the_order_and_the_answers() {
        let one = json!({"questions":[{"question":"Q","header":"H","options":[]}]});
        let other = json!({"answers":{"Q":"x"},"questions":[{"header":"H","options":[],"question":"Q"}]});
        assert_eq!(likeness(Tool::AskUserQuestion, &one), likeness(Tool::AskUserQuestion, &other));
        let third = json!({"questions":[{"question":"Q2","header":"H","options":[]}]});
        assert_ne!(likeness(Tool::AskUserQuestion, &one), likeness(Tool::AskUserQuestion, &third));
    }
}
