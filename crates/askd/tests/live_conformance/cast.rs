//! Who can be put on the stage. One line per agent in [`CASTS`], one file per agent that says how it is made
//! to play.

use serde_json::{Value, json};

use super::claude::ClaudeCast;
use super::live::Stage;
use super::mock::MockCast;
use super::opencode::OpencodeCast;

/// How many numbered lines (`flood 0`, `flood 1`, ..) an agent says for a reader that is slow: more than the
/// pipes between hold.
pub const FLOOD: usize = 20_000;

/// Bytes of a message of the model: beyond the longest line or event that is heard, within what the model's
/// server takes back.
const OVERSIZED: usize = 17 << 20;

/// How a model makes a real agent ask, for the scenes in which the agents differ only in the names of their
/// tools.
pub struct Asking {
    /// A call with these items.
    pub call: fn(&[Value]) -> Value,
    pub item: fn(&str, &[&str], bool) -> Value,
    pub single: fn() -> Value,
    /// Stands after each numbered line of a flood, so that it is more than what the pipes hold.
    pub filler: fn() -> String,
}

impl Asking {
    /// What the model says in a scene.
    pub fn turns(&self, scene: &str) -> Value {
        let single = (self.single)();
        let several = (self.item)("Which of these?", &["Logging", "Metrics", "Alerts"], true);
        let said =
            |text: String, calls: &[Value]| json!([{ "text": text, "calls": calls }, { "text": "Done." }]);
        let ask = |items: &[Value]| self.calls(&[(self.call)(items)]);
        match scene {
            "multi-select" => ask(&[several]),
            "several-items" => ask(&[single, several]),
            "two-open-at-once" => {
                let other = (self.item)("Which name?", &["x", "y"], false);
                self.calls(&[(self.call)(&[single]), (self.call)(&[other])])
            }
            "oversized" => said("x".repeat(OVERSIZED), &[(self.call)(&[single])]),
            "slow-reader" => {
                let filler = (self.filler)();
                let flood: String = (0..FLOOD).map(|n| format!("flood {n}\n{filler}")).collect();
                said(flood, &[(self.call)(&[single])])
            }
            _ => ask(&[single]),
        }
    }

    /// A model that makes these calls at once, and is done.
    pub fn calls(&self, calls: &[Value]) -> Value {
        json!([{ "calls": calls }, { "text": "Done." }])
    }
}

/// An agent that is ready to play one scene.
pub trait Cast {
    /// The body of `POST /v1/sessions` that makes it ask as the scene wants.
    fn session(&self) -> Value;

    /// What it, or its model, received so far.
    fn saw(&self, stage: &Stage, session: &str) -> String;

    /// How it, or its model, is told that a question has this answer.
    fn told(&self, question: &str, pick: &str) -> String {
        format!("\"{question}\"=\"{pick}\"")
    }

    /// What it, or its model, is told of a rejection; nothing where its turn ends without a word.
    fn refused(&self, mode: &str) -> Option<&str>;

    /// Whether it has done what it wanted a permission for.
    fn did(&self, stage: &Stage, session: &str) -> bool;

    /// Its own part in a scene where not the inbox acts: it takes its question back, or its own screen
    /// answers. Nothing where that comes by itself.
    fn act(&self, _stage: &Stage, _session: &str) {}
}

pub struct Casting {
    /// Its name in the registry.
    pub agent: &'static str,
    /// The programs that it needs.
    pub needs: &'static [&'static str],
    /// Scenes that it cannot even try, and why.
    pub cannot: &'static [(&'static str, &'static str)],
    /// Gets it ready for the scene of this scenario.
    pub ready: fn(&str) -> Box<dyn Cast>,
}

/// A new agent that askd can start gets its line here.
pub const CASTS: &[Casting] = &[
    Casting { agent: "mock", needs: &[], cannot: &[], ready: |scene| Box::new(MockCast::new(scene)) },
    Casting {
        agent: "claude",
        needs: &["claude", "node"],
        cannot: super::claude::CANNOT,
        ready: |scene| Box::new(ClaudeCast::new(scene)),
    },
    Casting {
        agent: "opencode",
        needs: &["opencode"],
        cannot: super::opencode::CANNOT,
        ready: |scene| Box::new(OpencodeCast::new(scene)),
    },
];

pub fn casting(agent: &str) -> Option<&'static Casting> {
    CASTS.iter().find(|casting| casting.agent == agent)
}

impl Casting {
    pub fn can_try(&self, scenario: &str) -> bool {
        self.cannot.iter().all(|(scene, _)| *scene != scenario)
    }
}
