//! Real OpenCode, its server started by askd: a scripted model makes it ask, and what counts is what that
//! model received.

use reqwest::Method;
use serde_json::{Value, json};

use super::cast::{Asking, Cast};
use super::live::Stage;
use super::managed_opencode::{Opencode, asks, bash, item, single_item};

const HAS_NONE: &str = "its protocol has no such thing to ask for";
const WELL_BEHAVED: &str = "nothing makes the real program send such events; the scripts do";

pub const CANNOT: &[(&str, &str)] = &[
    ("secret", HAS_NONE),
    ("form", HAS_NONE),
    ("link", HAS_NONE),
    ("plan", HAS_NONE),
    ("plan-edits", HAS_NONE),
    ("duplicate-input", WELL_BEHAVED),
    ("malformed", WELL_BEHAVED),
    ("unknown-messages", WELL_BEHAVED),
];

const ASKING: Asking = Asking { call: asks, item, single: single_item, filler: String::new };

pub struct OpencodeCast {
    opencode: Opencode,
    scene: String,
}

/// What the model says in a scene.
fn turns(scene: &str) -> Value {
    match scene {
        // It tells a decline from the end of the turn only for permissions.
        "permission" | "decline" => ASKING.calls(&[bash("touch made")]),
        "withdrawn" => ASKING.calls(&[bash("touch made"), bash("ls /")]),
        _ => ASKING.turns(scene),
    }
}

impl OpencodeCast {
    pub fn new(scene: &str) -> Self {
        let opencode = Opencode::playing(json!({ "scenarios": { scene: turns(scene) } }));
        Self { opencode, scene: scene.to_owned() }
    }

    /// Another client of the same server answers.
    fn answer_there(&self, stage: &Stage, session: &str) {
        stage.open_question(session);
        let pid = &stage.session(session)["pid"];
        let open = self.opencode.call(pid, Method::GET, "/question", None);
        let path = format!("/question/{}/reply", open[0]["id"].as_str().unwrap());
        self.opencode.call(pid, Method::POST, &path, Some(json!({ "answers": [["Green"]] })));
    }
}

impl Cast for OpencodeCast {
    fn session(&self) -> Value {
        self.opencode.request(&self.scene)
    }

    fn saw(&self, _stage: &Stage, _session: &str) -> String {
        self.opencode.received()
    }

    fn refused(&self, mode: &str) -> Option<&str> {
        (mode == "decline").then_some("not today")
    }

    fn did(&self, _stage: &Stage, _session: &str) -> bool {
        self.opencode.env.directory().join("made").exists()
    }

    fn act(&self, stage: &Stage, session: &str) {
        match self.scene.as_str() {
            // The rejection of one permission takes back every other one of the session.
            "withdrawn" => {
                let first = stage.open_questions(session, 2).remove(0);
                stage.reject(&first, &json!({ "mode": "interrupt" }));
            }
            "answered-elsewhere" => self.answer_there(stage, session),
            _ => {}
        }
    }
}
