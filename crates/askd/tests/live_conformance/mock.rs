//! The mock does what a word of its prompt says, and repeats what it received.

use serde_json::{Value, json};

use super::cast::{Cast, FLOOD};
use super::live::Stage;

pub struct MockCast {
    prompt: String,
}

impl MockCast {
    pub fn new(scene: &str) -> Self {
        let prompt = match scene {
            "multi-select" => "multi",
            "several-items" => "two",
            "free-text" => "text",
            "secret" | "form" | "link" | "plan" | "permission" => scene,
            "plan-edits" => "plan",
            "withdrawn" => "withdraw",
            "answered-elsewhere" => "link-done",
            "two-open-at-once" => "both",
            "duplicate-input" => "twice",
            "malformed" | "unknown-messages" => "garbage question",
            "oversized" => "huge=20000000 question",
            "slow-reader" => &format!("slow=500 flood={FLOOD} question"),
            _ => "question",
        };
        Self { prompt: prompt.to_owned() }
    }
}

impl Cast for MockCast {
    fn session(&self) -> Value {
        json!({ "agent": "mock", "prompt": self.prompt })
    }

    fn saw(&self, stage: &Stage, session: &str) -> String {
        stage.transcript(session)
    }

    fn told(&self, _question: &str, pick: &str) -> String {
        format!("\"answers\":[[\"{pick}\"]]")
    }

    fn refused(&self, mode: &str) -> Option<&str> {
        match mode {
            "decline" => Some(r#"{"status":"rejected","reason":"not today"}"#),
            "cancel" => Some(r#"{"status":"rejected","mode":"cancel","reason":"not today"}"#),
            _ => None,
        }
    }

    fn did(&self, stage: &Stage, session: &str) -> bool {
        self.saw(stage, session).contains(r#""optionId":"allow-once""#)
    }
}
