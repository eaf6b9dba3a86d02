//! Real Claude Code: a scripted model makes it ask, and what counts is what that model received.

use std::fmt::Write as _;

use askd_testkit::programs::AgentEnv as _;
use serde_json::{Value, json};

use super::cast::{Cast, FLOOD};
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

/// Bytes of a message of the model: beyond the longest line that is heard, within what the model's server takes back.
const OVERSIZED: usize = 17 << 20;

/// Stands between the numbered lines, so that they are more than what the pipes hold.
const FILLER: &str = "and more";

pub struct ClaudeCast {
    claude: Claude,
    scene: String,
}

/// What the model says in a scene.
fn turns(scene: &str) -> Value {
    let several = item("Which of these?", &["Logging", "Metrics", "Alerts"], true);
    let ask = |items: &[Value]| json!([{ "calls": [asks(items)] }, { "text": "Done." }]);
    let ask_after =
        |text: String| json!([{ "text": text, "calls": [asks(&[single_item()])] }, { "text": "Done." }]);
    match scene {
        "multi-select" => ask(&[several]),
        "several-items" => ask(&[single_item(), several]),
        "two-open-at-once" | "withdrawn" => {
            let other = item("Which name?", &["x", "y"], false);
            json!([{ "calls": [asks(&[single_item()]), asks(&[other])] }, { "text": "Done." }])
        }
        "plan" | "plan-edits" => plan(),
        "permission" => json!([{ "calls": [bash()] }, { "text": "Done." }]),
        "form" | "cancel" => json!([{ "calls": [{ "name": "mcp__elic__ask" }] }, { "text": "Done." }]),
        "oversized" => ask_after("x".repeat(OVERSIZED)),
        "slow-reader" => ask_after((0..FLOOD).fold(String::new(), |mut text, n| {
            writeln!(text, "flood {n}\n{FILLER:250}").unwrap();
            text
        })),
        _ => ask(&[single_item()]),
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

    /// It takes a question back when its turn is interrupted by the answer to another one.
    fn act(&self, stage: &Stage, session: &str) {
        if self.scene == "withdrawn" {
            let first = stage.open_questions(session, 2).remove(0);
            stage.reject(&first, &json!({ "mode": "interrupt" }));
        }
    }
}
