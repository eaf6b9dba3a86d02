//! Real Claude Code: a scripted model makes it ask, and what counts is what that model received.

use askd_testkit::programs::AgentEnv as _;
use serde_json::{Value, json};

use super::cast::{Asking, Cast};
use super::live::Stage;
use super::live_claude::{Claude, asks, bash, item, plan, single_item};

const NO_SECRETS: &str = "it has no way to ask for a secret";
const WELL_BEHAVED: &str = "nothing makes the real program write such lines; the scripts do";

pub const CANNOT: &[(&str, &str)] = &[
    ("secret", NO_SECRETS),
    ("duplicate-input", WELL_BEHAVED),
    ("malformed", WELL_BEHAVED),
    ("unknown-messages", WELL_BEHAVED),
];

const ASKING: Asking =
    Asking { call: asks, item, single: single_item, filler: || format!("{:250}\n", "and more") };

pub struct ClaudeCast {
    claude: Claude,
    scene: String,
}

/// What the model says in a scene.
fn turns(scene: &str) -> Value {
    match scene {
        "withdrawn" => ASKING.turns("two-open-at-once"),
        "plan" | "plan-edits" => plan(),
        "permission" => ASKING.calls(&[bash()]),
        "form" | "cancel" => ASKING.calls(&[json!({ "name": "mcp__elic__ask" })]),
        _ => ASKING.turns(scene),
    }
}

impl ClaudeCast {
    pub fn new(scene: &str) -> Self {
        let claude = Claude::playing("claude", json!({ "scenarios": { scene: turns(scene) } }));
        Self { claude, scene: scene.to_owned() }
    }

    /// A hook of the user's own that answers, a while after the question was shown.
    fn hook(&self) -> Value {
        let input = json!({ "questions": [single_item()], "answers": { "Which auth?": "Session cookies" } });
        let decision = json!({ "behavior": "allow", "updatedInput": input });
        let output =
            json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
        let hook =
            self.claude.env.place().seed("hook", &format!("sleep 3\ncat <<'E'\n{output}\nE\n")).unwrap();
        let command =
            json!({ "type": "command", "command": format!("sh {}", hook.display()), "timeout": 60 });
        json!({ "hooks": { "PermissionRequest": [{ "matcher": "AskUserQuestion", "hooks": [command] }] } })
    }
}

impl Cast for ClaudeCast {
    fn session(&self) -> Value {
        match self.scene.as_str() {
            "form" | "cancel" => self.claude.request_with_mcp(&self.scene),
            "answered-elsewhere" => {
                let mut request = self.claude.request(&self.scene);
                request["args"] = json!(["--settings", self.hook().to_string()]);
                request
            }
            scene => self.claude.request(scene),
        }
    }

    fn saw(&self, _stage: &Stage, _session: &str) -> String {
        self.claude.model.tool_results().into_iter().map(|result| result.text).collect()
    }

    fn refused(&self, mode: &str) -> Option<&str> {
        match mode {
            "decline" => Some("not today"),
            "cancel" => Some(r#"given: {"action":"cancel"}"#),
            _ => None,
        }
    }

    fn did(&self, _stage: &Stage, _session: &str) -> bool {
        self.claude.env.cwd().join("made-by-claude").exists()
    }

    /// It takes a question back when its turn is interrupted by the answer to another one.
    fn act(&self, stage: &Stage, session: &str) {
        if self.scene == "withdrawn" {
            let first = stage.open_questions(session, 2).remove(0);
            stage.reject(&first, &json!({ "mode": "interrupt" }));
        }
    }
}
