//! The conformance suite at the live level: a real hub, a real holder, a real agent process, and the same
//! scenes for all of them.
//!
//! In: the descriptors of the registry, the scenes (`scenes.rs`, `faults.rs`) and the agents that can be put
//! on the stage (`cast.rs`). Out: one test per agent and scenario. What is claimed as proven must pass. What
//! is said not to work must be refused where the agent can try it, so that a gap that is closed does not stay
//! a gap in the documents (`AGENT::gap::SCENARIO`). A live claim that nobody plays fails a test too.
//! `table.rs` makes the tables of docs/agents.md of all that, and of the scripts of the codec level.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test ends where something is missing")]

mod cast;
mod claude;
mod faults;
#[expect(dead_code, reason = "the stage is shared, and not every test needs all of it")]
#[path = "../live/mod.rs"]
mod live;
#[expect(dead_code, reason = "of Claude Code's own tests only the program and its model are needed")]
#[path = "../live_claude/mod.rs"]
mod live_claude;
#[path = "../managed_opencode/mod.rs"]
mod managed_opencode;
mod mock;
mod opencode;
mod scenes;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use askd_agents::{Capability, ClaimState, Level, Registry};
use askd_testkit::programs::live::Live;
use cast::{CASTS, Casting, casting};
use live::Stage;
use scenes::{SCENES, Scene, refusal};

fn main() -> ExitCode {
    let mut suite = Live::new()
        .test("every_live_claim_is_played", &[], || async { every_live_claim_is_played() })
        .test("every_scene_and_every_excuse_is_one_of_a_scenario", &[], || async { every_name_is_known() })
        .test("the_agents_document_shows_the_table", &[], || async { table::the_document_shows_it() });
    for casting in CASTS {
        for &scene in SCENES {
            suite = match part(casting, scene.0) {
                Part::Plays => suite.test(
                    &format!("{}::{}", casting.agent, scene.0),
                    casting.needs,
                    move || async move {
                        play(casting, scene);
                        Ok(())
                    },
                ),
                Part::MustFail => {
                    let name = format!("{}::gap::{}", casting.agent, scene.0);
                    suite.test(&name, casting.needs, move || async move { fails(casting, scene) })
                }
                Part::None => suite,
            };
        }
    }
    suite.run()
}

/// What an agent has to do with a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Plays,
    MustFail,
    None,
}

fn part(casting: &Casting, scenario: &str) -> Part {
    let has_scene = SCENES.iter().any(|(scene, _)| *scene == scenario);
    if !has_scene || !casting.can_try(scenario) {
        return Part::None;
    }
    match state(casting.agent, scenario) {
        ClaimState::Proven => Part::Plays,
        ClaimState::No => Part::MustFail,
        ClaimState::Declared => Part::None,
    }
}

fn state(agent: &str, scenario: &str) -> ClaimState {
    let registry = Registry::built_in();
    let descriptor = registry.get(agent).expect("an agent of the registry").descriptor();
    descriptor
        .capabilities
        .iter()
        .find(|claim| claim.scenario == scenario)
        .map_or(ClaimState::No, |claim| claim.state)
}

fn play(casting: &Casting, (scenario, scene): Scene) {
    let cast = (casting.ready)(scenario);
    scene(&mut Stage::new(), cast.as_ref());
}

/// Plays what is said not to work, up to the refusal that says so.
fn fails(casting: &Casting, scene: Scene) -> anyhow::Result<()> {
    let refusal = refusal(scene.0).with_context(|| format!("say in `refusal` how {} is refused", scene.0))?;
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| play(casting, scene))) else {
        bail!("{} is said not to work with {}, and it does: claim it", scene.0, casting.agent);
    };
    let said = panic.downcast_ref::<String>().map_or("", String::as_str);
    ensure!(said.contains(refusal), "it failed without {refusal:?}: {said}");
    Ok(())
}

fn every_live_claim_is_played() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for adapter in Registry::built_in().iter() {
        let descriptor = adapter.descriptor();
        let agent = descriptor.name.as_str();
        let claims = descriptor.capabilities.iter();
        let proven = claims.filter(|claim| claim.level == Level::Live && claim.state == ClaimState::Proven);
        let unplayed =
            |scenario: &str| !casting(agent).is_some_and(|casting| part(casting, scenario) == Part::Plays);
        let unplayed: Vec<&str> =
            proven.map(|claim| claim.scenario).filter(|scenario| unplayed(scenario)).collect();
        if !unplayed.is_empty() {
            wrong.push(format!("{agent} claims {unplayed:?} at the live level, and nobody plays it"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn every_name_is_known() -> anyhow::Result<()> {
    let known = |scenario: &str| Capability::ALL.iter().any(|capability| capability.scenario() == scenario);
    let excuses = CASTS.iter().flat_map(|casting| casting.cannot).map(|(scenario, _)| *scenario);
    let names = SCENES.iter().map(|(scenario, _)| *scenario).chain(excuses);
    let unknown: Vec<&str> = names.filter(|scenario| !known(scenario)).collect();
    ensure!(unknown.is_empty(), "no capability has these scenarios: {unknown:?}");
    Ok(())
}
