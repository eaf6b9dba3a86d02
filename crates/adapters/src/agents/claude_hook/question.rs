//! The two tools by which Claude Code asks its human, and what they ask.
//!
//! In: a tool's name and its input as hooks and transcripts show it. Out: an [`Ask`], and a likeness by which two sightings of
//! one question are recognised. Unknown members are passed over: the schema grows with the versions.

use askd_core::ask::APPROVE;
use askd_core::question::{Body, BodyFormat, Bounds, Choice, Context, Item, Kind, ToolRef};
use askd_core::{Ask, RejectMode};
use serde_json::Value;

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
            Self::AskUserQuestion => "AskUserQuestion",
            Self::ExitPlanMode => "ExitPlanMode",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

/// What is known about the call beside its input.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub call_id: Option<String>,
    pub message_id: Option<String>,
    pub cwd: Option<String>,
    /// What the agent said just before.
    pub excerpt: Option<String>,
}

/// The question of a call; `None` if nothing can be asked with this input.
pub fn ask(tool: Tool, input: &Value, seen: Seen) -> Option<Ask> {
    let (kind, questions, body) = match tool {
        Tool::AskUserQuestion => (Kind::Choice, items(input)?, None),
        Tool::ExitPlanMode => (Kind::Plan, vec![plan_item()], plan(input)),
    };
    let tool = (seen.call_id.is_some() || seen.message_id.is_some())
        .then_some(ToolRef { message_id: seen.message_id, call_id: seen.call_id });
    let title = seen.cwd.as_deref().and_then(|cwd| cwd.rsplit('/').find(|part| !part.is_empty()));
    Some(Ask {
        session_id: None,
        agent: AGENT.to_owned(),
        kind,
        questions,
        body,
        next_modes: Vec::new(),
        context: Context {
            title: title.map(str::to_owned),
            cwd: seen.cwd,
            excerpt: seen.excerpt,
            host: None,
        },
        tool,
        reject_modes: vec![RejectMode::Decline, RejectMode::Interrupt],
        deadline: None,
    })
}

fn items(input: &Value) -> Option<Vec<Item>> {
    let questions = input.get("questions")?.as_array()?;
    let items: Option<Vec<Item>> = questions.iter().map(item).collect();
    items.filter(|items| !items.is_empty())
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn item(value: &Value) -> Option<Item> {
    let options = value.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let options: Option<Vec<Choice>> = options.iter().map(option).collect();
    Some(Item {
        question: text(value, "question")?,
        header: text(value, "header"),
        options: options?,
        multiple: value.get("multiSelect").and_then(Value::as_bool).unwrap_or(false),
        custom: true,
        secret: false,
        required: false,
        input: None,
        default: None,
        bounds: Bounds::default(),
        url: None,
        key: None,
    })
}

fn option(value: &Value) -> Option<Choice> {
    let label = text(value, "label")?;
    Some(Choice {
        value: label.clone(),
        label,
        description: text(value, "description"),
        // Called `markdown` in 2.1.45 to 2.1.68.
        preview: text(value, "preview").or_else(|| text(value, "markdown")),
    })
}

fn plan_item() -> Item {
    Item {
        question: "Is this plan right?".to_owned(),
        header: Some("Plan".to_owned()),
        options: vec![Choice {
            label: "Approve".to_owned(),
            value: APPROVE.to_owned(),
            description: None,
            preview: None,
        }],
        multiple: false,
        custom: false,
        secret: false,
        required: true,
        input: None,
        default: None,
        bounds: Bounds::default(),
        url: None,
        key: None,
    }
}

fn plan(input: &Value) -> Option<Body> {
    text(input, "plan").map(|text| Body { format: BodyFormat::Markdown, text })
}

/// The same for every sighting of one call: answers that a hook added and the order of members do not count.
pub fn likeness(tool: Tool, input: &Value) -> String {
    let asked = match tool {
        Tool::AskUserQuestion => input.get("questions").map(canonical).unwrap_or_default(),
        // The plan is injected by the program on some roads and not on others; a session has one plan at a time.
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
