//! The soak: real conversations of Claude Code, several at once, in terminals with and without hooks and
//! managed by askd. They are started, resumed, cleared, killed and answered at random, in the terminal, in
//! the inbox or in both at one moment, and the hub is killed too. At the end each model's record of what it
//! was told is compared with what the inbox says of each question: no difference is allowed.
//!
//! It runs only where it is asked for: `ASKD_SOAK_MINUTES=30 cargo nextest run -p askd --test truth_soak
//! --run-ignored only`. `ASKD_SOAK_SEED=N` repeats the choices of an earlier run; the machine's own timing
//! differs.

#[path = "truth_soak/actor.rs"]
mod actor;
#[path = "truth_soak/compare.rs"]
mod compare;
#[path = "truth_soak/conversation.rs"]
mod conversation;
#[path = "crash/random.rs"]
mod random;
#[path = "truth_soak/world.rs"]
mod world;

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow, ensure};
use askd_testkit::programs::live::Live;

use actor::Actor;
use world::World;

/// Conversations at one time: two processors have enough to do with them.
const ACTORS: usize = 4;

fn main() -> ExitCode {
    Live::new()
        .test("the_comparison_finds_every_kind_of_difference", &[], || async { compare::finds_differences() })
        .on_request("what_models_were_told_is_what_the_inbox_says", &world::VERSIONS, soak)
        .run()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn soak() -> Result<()> {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let seed = number("ASKD_SOAK_SEED").unwrap_or(clock.subsec_nanos().into());
    let length = Duration::from_secs(60 * number("ASKD_SOAK_MINUTES").unwrap_or(30));
    eprintln!("ASKD_SOAK_SEED={seed}, {} minutes, {ACTORS} conversations at a time", length.as_secs() / 60);
    let world = World::new(ACTORS)?;
    let end = Instant::now() + length;
    let ended: Vec<Result<()>> = std::thread::scope(|scope| {
        let run = |number| {
            let world = &world;
            scope.spawn(move || Actor::new(world, number, seed).run(end))
        };
        let actors: Vec<_> = (0..ACTORS).map(run).collect();
        let join = |actor: std::thread::ScopedJoinHandle<'_, Result<()>>| {
            actor.join().unwrap_or_else(|_| Err(anyhow!("an actor panicked")))
        };
        actors.into_iter().map(join).collect()
    });
    for end in ended {
        end?;
    }
    world.all_arrived();
    let compared = compare::compare(&world)?;
    eprintln!("{}", compared.table);
    let mut differences = world.troubles();
    differences.extend(compared.differences);
    for (number, difference) in differences.iter().enumerate() {
        eprintln!("difference {number}: {difference}\n");
    }
    ensure!(differences.is_empty(), "{} differences; ASKD_SOAK_SEED={seed}", differences.len());
    Ok(())
}
